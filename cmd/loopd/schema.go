package main

import (
	"github.com/spf13/cobra"

	"loopd/harness"
)

const schemaHelp = `  loopd schema scenario
  loopd schema checker > checker.schema.json

Prints the JSON Schema of a file of a suite: scenario for the front matter of
scenarios/ID.md, checker for checker.yaml, launch for launch.yaml, gold for
gold.yaml. An editor that is given it completes keys and says what each is for.
loopd checks the files against the same text.`

func newSchema(e env) *cobra.Command {
	return &cobra.Command{
		Use: "schema KIND", Short: "the JSON Schema of a file of a suite, for editors", Long: schemaHelp,
		Args: oneArg("kind: scenario, checker, launch or gold"),
		RunE: func(_ *cobra.Command, args []string) error {
			text, err := harness.Schema(harness.SchemaKind(args[0]))
			if err != nil {
				return usageError("loopd schema scenario", "%w: scenario, checker, launch or gold", err)
			}
			_, err = e.stdout.Write(text)
			return err
		},
	}
}
