package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"loopd/candidates/propose"
	"loopd/harness"
	"loopd/internal/hint"
)

const schemaHelp = `  loopd config schema
  loopd config schema scenario
  loopd config schema status > status.schema.json

Prints a JSON Schema; without KIND it lists the kinds. One kind of schema is of
files that loopd reads: an editor that is given it completes keys and says what
each is for, and loopd checks the files against the same text. The other is of
what loopd prints as JSON: such a document begins with its schema's name and
number, as in "schema": "loopd:status/1", and that may stand for KIND. A document
whose shape changes gets the next number.`

// described is a schema with its kind and what it is of.
type described struct {
	kind, of string
	text     []byte
}

// schemas are all there are: of what loopd or a proposer reads, and of what loopd
// prints.
func schemas() (inputs, printed []described, err error) {
	add := func(kind string, text []byte, err error) error {
		var head struct {
			Title string `json:"title"`
		}
		if err == nil {
			err = json.Unmarshal(text, &head)
		}
		inputs = append(inputs, described{kind, head.Title, text})
		return err
	}
	for _, k := range harness.SchemaKinds() {
		text, err := harness.Schema(k)
		if err := add(string(k), text, err); err != nil {
			return nil, nil, err
		}
	}
	for _, k := range propose.SchemaKinds() {
		text, err := propose.Schema(k)
		if err := add(string(k), text, err); err != nil {
			return nil, nil, err
		}
	}
	for _, o := range outputs {
		text, err := o.text()
		if err != nil {
			return nil, nil, err
		}
		printed = append(printed, described{strings.TrimPrefix(o.schema, "loopd:"), o.of(), text})
	}
	return inputs, printed, nil
}

func newSchema(e env) *cobra.Command {
	return &cobra.Command{
		Use: "schema [KIND]", Short: "the JSON Schema of what loopd reads or prints", Long: schemaHelp,
		Args: atMostOne("kind"),
		RunE: func(_ *cobra.Command, args []string) error {
			inputs, printed, err := schemas()
			if err != nil {
				return fmt.Errorf("show schema: %w", err)
			}
			if len(args) == 0 {
				return listSchemas(e, inputs, printed)
			}
			return showSchema(e, args[0], append(inputs, printed...))
		},
	}
}

// showSchema prints the schema of a kind, which may be said with its number.
func showSchema(e env, name string, all []described) error {
	var known []string
	for _, s := range all {
		kind, _, _ := strings.Cut(s.kind, "/")
		if name == kind || strings.TrimPrefix(name, "loopd:") == s.kind {
			_, err := e.stdout.Write(s.text)
			return err
		}
		known = append(known, kind)
	}
	command := "loopd config schema"
	if meant := nearest(name, known); meant != "" {
		command += " " + meant
	}
	return hint.Usagef(command, "show schema: no schema %q", name)
}

func listSchemas(e env, inputs, printed []described) error {
	w := tabwriter.NewWriter(e.stdout, 21, 4, 2, ' ', 0)
	fmt.Fprintln(w, "What loopd or a proposer reads:")
	for _, s := range inputs {
		fmt.Fprintf(w, "  %s\t%s\n", s.kind, s.of)
	}
	fmt.Fprintln(w, "\nWhat loopd prints with --json or keeps:")
	for _, s := range printed {
		fmt.Fprintf(w, "  %s\t%s\n", s.kind, s.of)
	}
	fmt.Fprintln(w, "\nNext: loopd config schema scenario")
	return w.Flush()
}
