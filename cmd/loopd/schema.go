package main

import (
	"slices"

	"github.com/spf13/cobra"

	"loopd/candidates/propose"
	"loopd/harness"
)

const schemaHelp = `  loopd schema scenario
  loopd schema checker > checker.schema.json

Prints the JSON Schema of a file of a suite: scenario for the front matter of
scenarios/ID.md, checker for checker.yaml, launch for launch.yaml, gold for
gold.yaml. An editor that is given it completes keys and says what each is for.
loopd checks the files against the same text. brief and answer are what a
command that proposes (proposer.command) reads and what it prints.`

// schemaKinds is what can be asked for, as text.
const schemaKinds = "scenario, checker, launch, gold, brief or answer"

// schemaOf returns a schema of a suite's file or of a proposer's.
func schemaOf(kind string) ([]byte, error) {
	if slices.Contains(propose.SchemaKinds(), propose.SchemaKind(kind)) {
		return propose.Schema(propose.SchemaKind(kind))
	}
	return harness.Schema(harness.SchemaKind(kind))
}

func newSchema(e env) *cobra.Command {
	return &cobra.Command{
		Use: "schema KIND", Short: "the JSON Schema of a file of a suite, or of what a proposer is told", Long: schemaHelp,
		Args: oneArg("kind: " + schemaKinds),
		RunE: func(_ *cobra.Command, args []string) error {
			text, err := schemaOf(args[0])
			if err != nil {
				return usageError("loopd schema scenario", "%w: "+schemaKinds, err)
			}
			_, err = e.stdout.Write(text)
			return err
		},
	}
}
