package harness

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// deepest is how far brackets of a YAML file may be nested. Its reader takes
// minutes over a file that is nothing but brackets.
const deepest = 100

// Decode reads one YAML or JSON document into a value once the schema of its
// kind holds. What begins with a brace is JSON. The error names every fault by
// its place and repeats no text of the document.
func Decode(k SchemaKind, data []byte, into any) error {
	data = bytes.TrimSpace(bytes.TrimPrefix(data, []byte("\ufeff")))
	if bytes.HasPrefix(data, []byte("{")) {
		return decodeJSON(k, data, into)
	}
	depth := 0
	for _, c := range data {
		switch c {
		case '[', '{':
			depth++
		case ']', '}':
			depth--
		}
		if depth > deepest {
			return fmt.Errorf("brackets are nested more than %d deep", deepest)
		}
	}
	return decode(k, data, into)
}

func decodeJSON(k SchemaKind, data []byte, into any) error {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	var plain any
	if err := dec.Decode(&plain); err != nil {
		return JSONFault(err)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return errors.New("more than one JSON document")
	}
	err := compiled()[k].Validate(plain)
	if invalid, ok := errors.AsType[*jsonschema.ValidationError](err); ok {
		return faults(invalid)
	}
	if err != nil {
		return err
	}
	if err := json.Unmarshal(data, into); err != nil {
		return JSONFault(err)
	}
	return nil
}

// JSONFault says what is wrong with a document that does not parse, without
// its text.
func JSONFault(err error) error {
	if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return fmt.Errorf("%s: %s cannot be read into %s", wrong.Field, wrong.Value, wrong.Type)
	}
	if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
		return fmt.Errorf("not JSON: byte %d: %w", syntax.Offset, err)
	}
	if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
		return errors.New("not JSON: it ends in the middle")
	}
	return fmt.Errorf("not JSON: %w", err)
}
