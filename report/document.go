package report

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode"

	"loopd/harness"
)

// Document is a report as it was handed in: its bytes, and a name for messages.
type Document struct {
	Name string
	Data []byte
}

// head is what every report of this program begins with.
type head struct {
	Schema     string            `json:"schema"`
	Harness    harness.Kind      `json:"harness"`
	Instrument string            `json:"instrument"`
	Parts      map[string]string `json:"parts"`
}

// head reads schema and kind and refuses what it does not know.
func (d Document) head() (head, error) {
	var h head
	if err := d.decode(&h); err != nil {
		return head{}, err
	}
	if !slices.Contains([]harness.Kind{harness.Unprompted, harness.Trace, harness.RepoState}, h.Harness) {
		return head{}, d.bad("its harness is %q, want one of unprompted, trace, repostate", h.Harness)
	}
	want := EvalSchema
	if h.Harness == harness.Unprompted {
		want = CampaignSchema
	}
	if h.Schema != want {
		return head{}, d.bad("its schema is %q, this program reads %s", plain(h.Schema), want)
	}
	return h, nil
}

// decode reads the document as one JSON object.
func (d Document) decode(into any) error {
	if len(bytes.TrimSpace(d.Data)) == 0 {
		return d.bad("it is empty")
	}
	if err := json.Unmarshal(d.Data, into); err != nil {
		return d.fault(err)
	}
	return nil
}

// fault says where a document stops being the JSON of a report.
func (d Document) fault(err error) error {
	if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		field := wrong.Field
		if field == "" {
			field = "the document"
		}
		return d.bad("%s is a %s, which it cannot be", field, wrong.Value)
	}
	return d.bad("%s", harness.JSONFault(err))
}

// bad says what is wrong with the document.
func (d Document) bad(format string, args ...any) error {
	return &IncomparableError{"read report " + d.Name + ": " + fmt.Sprintf(format, args...)}
}

// campaign reads the document as a campaign report whose numbers make sense.
func (d Document) campaign() (Campaign, error) {
	var c Campaign
	if err := d.decode(&c); err != nil {
		return Campaign{}, err
	}
	if c.ID == "" || c.Phase == "" || c.Instrument == "" {
		return Campaign{}, d.bad("no report of a campaign: it lacks campaign, phase or instrument")
	}
	if c.Sessions < 0 || c.Cost.Unreported < 0 || c.Cost.Unreported > c.Sessions {
		return Campaign{}, d.bad("it counts %d sessions, of which %d reported no cost", c.Sessions, c.Cost.Unreported)
	}
	for _, rates := range [][]Rate{championRates(c), startRates(c), c.Guards, c.Controls, detourRates(c)} {
		if why := senseless(rates); why != "" {
			return Campaign{}, d.bad("%s", why)
		}
	}
	return c, nil
}

// senseless says what is wrong with a list of rates, if anything.
func senseless(rates []Rate) string {
	const most = 1_000_000 // trials of a cell that are believed
	seen := make(map[string]bool)
	for _, r := range rates {
		name := plain(r.Name)
		switch {
		case name == "":
			return "a rate has no name"
		case seen[r.Name]:
			return fmt.Sprintf("%s is there twice", name)
		case r.K < 0 || r.K > r.N || r.N > most:
			return fmt.Sprintf("%s counts %d of %d", name, r.K, r.N)
		}
		seen[r.Name] = true
	}
	return ""
}

// eval reads the document as the report of an evaluator.
func (d Document) eval() (EvalDocument, error) {
	e := EvalDocument{}
	seen := make(map[[2]string]bool)
	var err error
	e.Eval, err = ReadEval(d.Name, bytes.NewReader(d.Data), func(r harness.Evaluated) error {
		e.Results = append(e.Results, r)
		key := [2]string{r.Case, document(r)}
		switch {
		case r.Case == "":
			return d.bad("a result names no case")
		case seen[key]:
			return d.bad("%s %s is there twice", plain(r.Case), plain(document(r)))
		}
		seen[key] = true
		return nil
	})
	for _, r := range e.Results {
		if err == nil && r.Kind != e.Harness {
			err = d.bad("the result of %s is of kind %q, the report of kind %s", plain(r.Case), plain(string(r.Kind)), e.Harness)
		}
	}
	return e, err
}

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
			return Eval{}, d.fault(err)
		}
		if key == json.Delim('}') {
			return d.evalOf(parts, listed)
		}
		if key == "results" {
			listed = true
			err = d.results(dec, each)
		} else {
			var value json.RawMessage
			if err = dec.Decode(&value); err != nil {
				err = d.fault(err)
			}
			parts[fmt.Sprint(key)] = value
		}
		if errors.Is(err, ErrEnough) {
			return d.evalOf(parts, listed)
		}
		if err != nil {
			return Eval{}, err
		}
	}
}

func (d Document) results(dec *json.Decoder, each func(harness.Evaluated) error) error {
	if t, err := dec.Token(); err != nil || t != json.Delim('[') {
		return d.bad("results is no list")
	}
	for dec.More() {
		var r harness.Evaluated
		if err := dec.Decode(&r); err != nil {
			return d.fault(err)
		}
		if err := each(r); err != nil {
			return err
		}
	}
	if _, err := dec.Token(); err != nil {
		return d.fault(err)
	}
	return nil
}

// evalOf makes the report of its parts.
func (d Document) evalOf(parts map[string]json.RawMessage, listed bool) (Eval, error) {
	var err error
	if d.Data, err = json.Marshal(parts); err != nil {
		return Eval{}, d.fault(err)
	}
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

// plain keeps a text from a document within its line, cut to a length that fits a
// table, and free of what moves a terminal.
func plain(text string) string {
	const longest = 60 // characters
	clean := []rune(strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return ' '
		}
		return r
	}, text))
	return string(clean[:min(len(clean), longest)])
}
