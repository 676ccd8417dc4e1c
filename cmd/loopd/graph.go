package main

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"loopd/harness/codegraph"
	"loopd/internal/hint"
)

func newGraph(e env) *cobra.Command {
	cmd := &cobra.Command{
		Use: "graph", Short: "build or check the code graph of a fixture", Args: noArgs,
		Long: "  loopd graph build\n  loopd graph check graph.json --from lib/a.rb --to lib/b.rb\n\nScenarios with graph: true run in a project that has its code graph. It comes\nfrom the real graphify; without one they are not run.",
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newGraphBuild(e), newGraphCheck(e))
	return cmd
}

func newGraphCheck(e env) *cobra.Command {
	var from, to string
	var asJSON bool
	cmd := &cobra.Command{
		Use: "check FILE", Short: "count the hops between two files of a graph.json", Args: oneArg("file"),
		Long: "  loopd graph check graph.json --from lib/relay/reports.rb --to lib/relay/delivery.rb\n\nExit code 0 when there is a way from one to the other, 3 when there is none.",
		RunE: func(cmd *cobra.Command, args []string) error {
			if from == "" || to == "" {
				return hint.Usagef(cmd.CommandPath()+" --help", "check graph: --from and --to are needed")
			}
			return runGraphCheck(e, args[0], from, to, asJSON)
		},
	}
	cmd.Flags().StringVar(&from, "from", "", "a file of the graph")
	cmd.Flags().StringVar(&to, "to", "", "the other file")
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

func wayBetween(g codegraph.Graph, from, to string) graphWay {
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
		return hint.New(hint.Usage, fmt.Errorf("check graph: %w", err), "loopd graph build")
	}
	g, err := codegraph.Parse(data)
	if err != nil {
		return hint.New(hint.Usage, fmt.Errorf("check graph %s: %w", file, err), "loopd graph build")
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
