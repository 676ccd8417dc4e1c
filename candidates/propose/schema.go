package propose

import (
	"embed"
	"fmt"
)

//go:embed schema/*.schema.json
var schemas embed.FS

// SchemaKind names one of the documents that a proposer is given or gives.
type SchemaKind string

// The documents that have a schema.
const (
	BriefSchema  SchemaKind = "brief"
	AnswerSchema SchemaKind = "answer"
)

// SchemaKinds lists them, what is given first.
func SchemaKinds() []SchemaKind { return []SchemaKind{BriefSchema, AnswerSchema} }

// Schema returns the JSON Schema (draft 2020-12) of a document, as text.
func Schema(k SchemaKind) ([]byte, error) {
	data, err := schemas.ReadFile("schema/" + string(k) + ".schema.json")
	if err != nil {
		return nil, fmt.Errorf("show schema: no schema %q", k)
	}
	return data, nil
}
