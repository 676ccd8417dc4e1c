package report

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"loopd/harness"
)

// ErrEnough ends the reading of a report before its end, without an error.
var ErrEnough = errors.New("enough was read")

// ReadEval reads a report of an evaluator and hands each of its results on, so
// that their number does not matter. An error of each ends it; *IncomparableError
// says why what is read is no such report.
func ReadEval(name string, r io.Reader, each func(harness.Evaluated) error) (Eval, error) {
	d := Document{Name: name}
	dec := json.NewDecoder(r)
	if t, err := dec.Token(); err != nil || t != json.Delim('{') {
		return Eval{}, d.bad("it is no JSON object")
	}
	parts, listed := make(map[string]json.RawMessage), false
	for {
		key, err := dec.Token()
		if err != nil {
			return Eval{}, d.cut(err)
		}
		if key == json.Delim('}') {
			return d.evalOf(parts, listed)
		}
		if key != "results" {
			var value json.RawMessage
			if err := dec.Decode(&value); err != nil {
				return Eval{}, d.cut(err)
			}
			parts[fmt.Sprint(key)] = value
			continue
		}
		listed = true
		err = d.results(dec, each)
		if errors.Is(err, ErrEnough) {
			return d.evalOf(parts, listed)
		}
		if err != nil {
			return Eval{}, err
		}
	}
}

// evalOf makes the report of its parts.
func (d Document) evalOf(parts map[string]json.RawMessage, listed bool) (Eval, error) {
	data, err := json.Marshal(parts)
	if err != nil {
		return Eval{}, d.cut(err)
	}
	d.Data = data
	h, err := d.head()
	if err != nil {
		return Eval{}, err
	}
	if h.Harness == harness.Unprompted {
		return Eval{}, d.bad("it is of a campaign and not of an evaluator")
	}
	var e Eval
	if err := d.decode(&e); err != nil {
		return Eval{}, err
	}
	if e.Instrument == "" || !listed {
		return Eval{}, d.bad("it lacks instrument or results")
	}
	if why := senseless([]Rate{e.Summary.Rate}); why != "" {
		return Eval{}, d.bad("%s", why)
	}
	return e, nil
}

func (d Document) results(dec *json.Decoder, each func(harness.Evaluated) error) error {
	if t, err := dec.Token(); err != nil || t != json.Delim('[') {
		return d.bad("results is no list")
	}
	for dec.More() {
		var r harness.Evaluated
		if err := dec.Decode(&r); err != nil {
			return d.cut(err)
		}
		if err := each(r); err != nil {
			return err
		}
	}
	if _, err := dec.Token(); err != nil {
		return d.cut(err)
	}
	return nil
}

// cut says where a document stops being JSON.
func (d Document) cut(err error) error {
	if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return d.bad("%s is a %s, which it cannot be", orDocument(wrong.Field), wrong.Value)
	}
	return d.bad("%s", harness.JSONFault(err))
}
