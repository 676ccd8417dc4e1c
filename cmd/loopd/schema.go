package main

import (
	"strings"

	"github.com/spf13/cobra"

	"loopd/harness"
)

const schemaHelp = `  loopd schema scenario
  loopd schema checker > checker.schema.json

Prints the JSON Schema of a file of a suite: scenario for the front matter of
scenarios/ID.md, checker for checker.yaml, launch for launch.yaml, gold for
gold.yaml. Of files that loopd eval reads: trace for cases of diagnosis traces,
repostate for the spec of a repository task. An editor that is given it
completes keys and says what each is for. loopd checks the files against the
same text.`

// schemaNames lists the kinds for a message.
func schemaNames() string {
	var all []string
	for _, k := range harness.SchemaKinds() {
		all = append(all, string(k))
	}
	return strings.Join(all[:len(all)-1], ", ") + " or " + all[len(all)-1]
}

func newSchema(e env) *cobra.Command {
	return &cobra.Command{
		Use: "schema KIND", Short: "the JSON Schema of a file that measures, for editors", Long: schemaHelp,
		Args: oneArg("kind: " + schemaNames()),
		RunE: func(_ *cobra.Command, args []string) error {
			text, err := harness.Schema(harness.SchemaKind(args[0]))
			if err != nil {
				return usageError("loopd schema scenario", "%w: %s", err, schemaNames())
			}
			_, err = e.stdout.Write(text)
			return err
		},
	}
}
