package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"loopd/internal/app"
	"loopd/internal/config"
)

func newConfig(e env) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "config", Short: "the settings in force and where each came from", Args: noArgs,
		Long: "  loopd config\n\nPrints every setting of loopd.yaml as it is in force.",
		RunE: func(*cobra.Command, []string) error { return runConfig(e, asJSON) },
	}
	flagJSON(cmd, &asJSON)
	cmd.AddCommand(newSchema(e))
	return cmd
}

// inForce is the JSON of the verb.
type inForce struct {
	File           string           `json:"file"`
	StateDirectory string           `json:"state_directory"`
	Settings       []config.Setting `json:"settings"`
}

func runConfig(e env, asJSON bool) error {
	l, err := loadConfig(e)
	if err != nil {
		return err
	}
	home, err := app.HomeOf(e.Env, l.Config)
	if err != nil {
		return err
	}
	if asJSON {
		return printJSON(e.stdout, inForce{l.File, home.Dir, l.Settings})
	}
	w := e.table()
	for _, s := range l.Settings {
		fmt.Fprintf(w, "%s\t%v\t%s\n", s.Key, s.Value, s.Origin)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	_, err = fmt.Fprintf(e.stdout, "\nfile             %s\nstate directory  %s\n", l.File, home.Dir)
	return err
}
