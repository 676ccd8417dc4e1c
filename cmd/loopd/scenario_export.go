package main

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"loopd/frozen"
	"loopd/harness"
	"loopd/internal/app"
	"loopd/internal/config"
	"loopd/internal/exchange"
	"loopd/internal/hint"
)

const scenarioExportHelp = `  loopd scenario export --plugin-eval cases
  loopd scenario export --plugin-eval cases R1 R2

Writes scenarios of the suite as cases that "claude plugin eval" runs without
loopd: prompt.md, case.yaml with a script that lays the project out, and
graders. What a case cannot check is listed in README.md beside them.

The cases hold the tasks, which are held out from whoever writes wording: the
folder must lie outside the plugin.`

func newScenarioExport(e env) *cobra.Command {
	var dir string
	var asJSON bool
	cmd := &cobra.Command{
		Use: "export --plugin-eval DIR [SCENARIO...]", Short: "write scenarios as cases the agent CLI runs by itself", Long: scenarioExportHelp,
		RunE: func(cmd *cobra.Command, args []string) error {
			return runScenarioExport(cmd.Context(), e, dir, args, asJSON)
		},
	}
	cmd.Flags().StringVar(&dir, "plugin-eval", "", "write cases of claude plugin eval to this folder")
	flagJSON(cmd, &asJSON)
	return cmd
}

func runScenarioExport(_ context.Context, e env, dir string, ids []string, asJSON bool) error {
	if dir == "" {
		return hint.Usagef("loopd scenario export --plugin-eval DIR", "export scenarios: no folder to write to")
	}
	l, err := loadConfig(e)
	if err != nil {
		return err
	}
	if err := outsidePlugin(l.Config.Plugin, e.Path(dir)); err != nil {
		return err
	}
	suite, files, err := suiteFiles(e, l.Config)
	if err != nil {
		return hint.New(hint.Usage, err, "loopd scenario export --help")
	}
	if len(ids) == 0 {
		for _, sc := range suite.Scenarios {
			ids = append(ids, sc.ID)
		}
	}
	out, err := exchange.Export(e.Path(dir), suite, ids, files)
	if err != nil {
		return hint.New(hint.Usage, err, "loopd scenario export --help")
	}
	if asJSON {
		return printJSON(e.stdout, exportDocument(dir, out))
	}
	return printExport(e.stdout, dir, out)
}

// outsidePlugin refuses a folder that sessions and proposers would see.
func outsidePlugin(plugin, dir string) error {
	rel, err := filepath.Rel(plugin, dir)
	if err == nil && rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator)) {
		return hint.Usagef("loopd scenario export --plugin-eval ../cases", "export scenarios: %s lies in the plugin, and the cases hold the tasks", dir)
	}
	return nil
}

// suiteFiles reads the suite of the settings and its scenario files by id.
func suiteFiles(e env, cfg config.Config) (harness.Suite, map[string][]byte, error) {
	dir := cfg.Suite
	if dir == config.Bundled {
		home, err := app.HomeOf(e.Env, cfg)
		if err != nil {
			return harness.Suite{}, nil, err
		}
		if err := layBundled(home, cfg); err != nil {
			return harness.Suite{}, nil, err
		}
		dir = home.Suite()
	}
	loaded, err := frozen.Load(dir)
	if err != nil {
		return harness.Suite{}, nil, err
	}
	suite, err := harness.ParseSuite(loaded.FS())
	if err != nil {
		return harness.Suite{}, nil, err
	}
	files := make(map[string][]byte)
	for _, sc := range suite.Scenarios {
		if files[sc.ID], err = fs.ReadFile(loaded.FS(), "scenarios/"+sc.ID+".md"); err != nil {
			return harness.Suite{}, nil, err
		}
	}
	return suite, files, nil
}

type exportedCase struct {
	ID      string   `json:"id"`
	Graders int      `json:"graders"`
	Left    []string `json:"not_checked"`
}

type exportedDocument struct {
	Dir   string         `json:"dir"`
	Cases []exportedCase `json:"cases"`
}

func exportDocument(dir string, out []exchange.Exported) exportedDocument {
	doc := exportedDocument{Dir: dir, Cases: []exportedCase{}}
	for _, c := range out {
		doc.Cases = append(doc.Cases, exportedCase{c.ID, c.Graders, append([]string{}, c.Left...)})
	}
	return doc
}

func printExport(w io.Writer, dir string, out []exchange.Exported) error {
	var b strings.Builder
	written := 0
	for _, c := range out {
		if c.Graders == 0 {
			fmt.Fprintf(&b, "  %-14s  not written: a case needs a check\n", c.ID)
			continue
		}
		written++
		fmt.Fprintf(&b, "  %-14s  %-9s  %d not checked\n", c.ID, counted(c.Graders, "grader"), len(c.Left))
	}
	fmt.Fprintf(&b, "\n%s in %s; README.md there lists what is not checked.\n", counted(written, "case"), dir)
	b.WriteString(wrap("The cases hold the tasks: keep them out of the plugin's repository, and put them into evals/ of a copy of the plugin to run them.", ""))
	b.WriteString("\nNext: claude plugin eval COPY --scaffold --allow-tools Bash Write Edit\n")
	_, err := io.WriteString(w, b.String())
	return err
}
