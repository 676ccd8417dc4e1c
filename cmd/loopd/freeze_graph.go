package main

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"loopd/internal/hint"
	"loopd/internal/setup"
)

func newGraph(e env) *cobra.Command {
	cmd := &cobra.Command{
		Use: "graph", Short: "build or check the code graph of a fixture", Args: noArgs,
		Long: "  loopd freeze graph build\n  loopd freeze graph check graph.json lib/a.rb lib/b.rb\n\nScenarios with graph: true run in a project that has its code graph. It comes\nfrom the real graphify; without one they are not run.",
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newGraphBuild(e), newGraphCheck(e))
	return cmd
}

func newGraphCheck(e env) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "check FILE FROM TO", Short: "count the hops between two files of a graph.json",
		Long: "  loopd freeze graph check graph.json lib/relay/reports.rb lib/relay/delivery.rb\n\nExit code 0 when there is a way from one to the other, 3 when there is none.",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) != 3 {
				return hint.Usagef(cmd.CommandPath()+" --help", "check graph: want a graph.json and two of its files, got %d arguments", len(args))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			return runGraphCheck(e, args[0], args[1], args[2], asJSON)
		},
	}
	flagJSON(cmd, &asJSON)
	return cmd
}

// graphWay is the JSON of graph check, and of a rule in that of graph build.
type graphWay struct {
	From      string `json:"from"`
	To        string `json:"to"`
	Connected bool   `json:"connected"`
	Hops      *int   `json:"hops"` // null when there is no way
}

func wayBetween(g setup.Graph, from, to string) graphWay {
	w := graphWay{From: from, To: to}
	if hops, ok := g.Hops(from, to); ok {
		w.Connected, w.Hops = true, &hops
	}
	return w
}

// String says it in words.
func (w graphWay) String() string {
	switch {
	case !w.Connected:
		return fmt.Sprintf("%s to %s: not connected", w.From, w.To)
	case *w.Hops == 1:
		return fmt.Sprintf("%s to %s: 1 hop", w.From, w.To)
	}
	return fmt.Sprintf("%s to %s: %d hops", w.From, w.To, *w.Hops)
}

func runGraphCheck(e env, file, from, to string, asJSON bool) error {
	file = e.Path(file)
	data, err := os.ReadFile(file)
	if err != nil {
		return hint.New(hint.Usage, fmt.Errorf("check graph: %w", err), "loopd freeze graph build")
	}
	g, err := setup.ParseGraph(data)
	if err != nil {
		return hint.New(hint.Usage, fmt.Errorf("check graph %s: %w", file, err), "loopd freeze graph build")
	}
	way := wayBetween(g, from, to)
	if asJSON {
		err = printJSON(e.stdout, way)
	} else {
		_, err = fmt.Fprintln(e.stdout, way)
	}
	if err != nil || way.Connected {
		return err
	}
	for _, f := range []string{from, to} {
		if !g.Has(f) {
			return hint.New(hint.Measured, fmt.Errorf("check graph %s: no file %s", file, f), "")
		}
	}
	return hint.New(hint.Measured, fmt.Errorf("check graph %s: no way from %s to %s", file, from, to), "")
}
