package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"loopd/frozen"
	"loopd/harness"
	"loopd/internal/app"
	"loopd/internal/atomicfile"
	"loopd/internal/hint"
	"loopd/internal/isolate"
	"loopd/internal/setup"
)

// What graphify is, how it is got, and what it writes that a session may see.
const (
	graphTool    = "graphify"
	graphInstall = "pip install graphifyy==0.8.28"
	graphDir     = "graphify-out"
	graphData    = "graph.json"
	graphText    = "GRAPH_REPORT.md"
)

// Bounds on the tool: the fixtures are small, so more is a fault.
const (
	graphTime  = 5 * time.Minute
	graphGrace = 2 * time.Second
	graphBytes = 64 << 20
)

func newGraphBuild(e env) *cobra.Command {
	var suite, out string
	var asJSON bool
	cmd := &cobra.Command{
		Use: "build", Short: "run graphify over the fixtures that need a code graph", Args: noArgs,
		Long: "  loopd freeze graph build\n  loopd freeze graph build --suite loopd-suite --out graphs\n\nRuns \"" + graphTool + " update .\" (syntax only, no model) in a copy of each fixture and\nkeeps " + graphData + " and " + graphText + " when every rule under graph: in checker.yaml holds.\nWhen a newer graphify breaks a rule, change the fixture's layout, not the rule.",
		RunE: func(cmd *cobra.Command, _ []string) error { return runGraphBuild(cmd.Context(), e, suite, out, asJSON) },
	}
	flagSuite(cmd, &suite, "suite directory, instead of the settings'")
	cmd.Flags().StringVar(&out, "out", "", "where to put the graphs, instead of the state directory's graph")
	flagJSON(cmd, &asJSON)
	return cmd
}

// builtGraph is a fixture's graph, and the JSON of one.
type builtGraph struct {
	Fixture string     `json:"fixture"`
	Dir     string     `json:"dir"`
	Files   int        `json:"files"`
	Rules   []graphWay `json:"rules"`

	data, text []byte
}

func runGraphBuild(ctx context.Context, e env, suiteDir, out string, asJSON bool) error {
	suite, out, err := graphPlaces(ctx, e, suiteDir, out)
	if err != nil {
		return err
	}
	names, err := graphFixtures(suite)
	if err != nil {
		return err
	}
	tool, err := findGraphify(e)
	if err != nil {
		return err
	}
	var built []builtGraph
	for _, name := range names {
		b, err := buildGraph(ctx, e, tool, suite, name)
		if err != nil {
			return err
		}
		b.Dir = filepath.Join(out, name)
		built = append(built, b)
	}
	// Nothing is written before all of them hold.
	for _, b := range built {
		if err := b.keep(); err != nil {
			return err
		}
	}
	return printGraphs(e, built, asJSON)
}

// graphPlaces finds the suite and where its graphs go.
func graphPlaces(ctx context.Context, e env, suiteDir, out string) (harness.Suite, string, error) {
	if out != "" && !filepath.IsAbs(out) {
		out = filepath.Join(e.Dir, out)
	}
	if suiteDir != "" && out != "" {
		s, err := readSuite(e, suiteDir)
		return s, out, err
	}
	l, err := loadConfig(e)
	if err != nil {
		return harness.Suite{}, "", err
	}
	home, err := app.HomeOf(e.Env, l.Config)
	if err != nil {
		return harness.Suite{}, "", err
	}
	if out == "" {
		out = home.Graph()
	}
	if suiteDir != "" {
		s, err := readSuite(e, suiteDir)
		return s, out, err
	}
	sealed, err := openSuite(ctx, home, l.Config)
	return sealed.Suite, out, err
}

// readSuite reads a suite that need not be sealed yet.
func readSuite(e env, dir string) (harness.Suite, error) {
	dir = e.Path(dir)
	loaded, err := frozen.Load(dir)
	if err != nil {
		return harness.Suite{}, hint.New(hint.Usage, err, "loopd init --own-suite")
	}
	s, err := harness.ParseSuite(loaded.FS())
	if err != nil {
		return s, hint.New(hint.Usage, fmt.Errorf("%s: %w", dir, err), "loopd freeze graph build --help")
	}
	return s, nil
}

// graphFixtures names the fixtures of the scenarios that want a graph. Each must
// have a rule: a graph of which nothing is asked would be kept whatever it is.
func graphFixtures(s harness.Suite) ([]string, error) {
	var names []string
	for _, sc := range s.Scenarios {
		if sc.Graph && !slices.Contains(names, sc.Fixture) {
			names = append(names, sc.Fixture)
		}
	}
	if len(names) == 0 {
		return nil, hint.Usagef("loopd freeze graph build --help", "build graph: no scenario has graph: true")
	}
	for _, name := range names {
		if !slices.ContainsFunc(s.Checker.Graph, func(r harness.GraphRule) bool { return r.Fixture == name }) {
			return nil, hint.Usagef("loopd freeze graph build --help", "build graph: checker.yaml: graph: no rule for fixture %s", name)
		}
	}
	return names, nil
}

// findGraphify looks the tool up on the PATH given.
func findGraphify(e env) (string, error) {
	for _, dir := range filepath.SplitList(e.Getenv("PATH")) {
		p := filepath.Join(dir, graphTool)
		if info, err := os.Stat(p); filepath.IsAbs(p) && err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
			return p, nil
		}
	}
	return "", hint.Usagef(graphInstall, "build graph: no %s on the PATH", graphTool)
}

// buildGraph runs the tool in a fresh copy of the fixture with one fixed commit
// and asks the rules of what it wrote.
func buildGraph(ctx context.Context, e env, tool string, s harness.Suite, fixture string) (b builtGraph, err error) {
	b = builtGraph{Fixture: fixture}
	defer func() {
		if err != nil {
			err = fmt.Errorf("build graph of %s: %w", fixture, err)
		}
	}()
	tree := s.Fixtures[fixture]
	git, err := isolate.NewGitTemplate(ctx, tree)
	if err != nil {
		return b, err
	}
	box, err := isolate.New(ctx, isolate.Options{Base: e.Getenv("TMPDIR"), Fixture: tree, PluginName: "none", Git: git})
	if err != nil {
		return b, err
	}
	defer func() { err = errors.Join(err, box.Remove()) }()
	if err := updateGraph(ctx, e, tool, box); err != nil {
		return b, err
	}
	if b.data, err = readBuilt(box.Work, graphData); err != nil {
		return b, err
	}
	if b.text, err = readBuilt(box.Work, graphText); err != nil {
		return b, err
	}
	return b, b.ask(s.Checker.Graph)
}

// graphEnv are the variables the tool gets. No key of a model is among them:
// the graph must come from the syntax alone.
var graphEnv = []string{
	"PATH", "HOME", "TMPDIR", "LANG", "LC_ALL", "VIRTUAL_ENV", "PYTHONPATH", "PYTHONUSERBASE", "LD_LIBRARY_PATH", "XDG_CACHE_HOME", "XDG_DATA_HOME",
}

func updateGraph(ctx context.Context, e env, tool string, box *isolate.Box) error {
	ctx, cancel := context.WithTimeout(ctx, graphTime)
	defer cancel()
	cmd := exec.CommandContext(ctx, tool, "update", ".")
	cmd.Dir = box.Work
	for _, name := range graphEnv {
		if v := e.Getenv(name); v != "" {
			cmd.Env = append(cmd.Env, name+"="+v)
		}
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = graphGrace
	out, err := cmd.CombinedOutput()
	if ctx.Err() != nil {
		return fmt.Errorf("%s update: %w", graphTool, ctx.Err())
	}
	if err != nil {
		return fmt.Errorf("%s update: %w: %s", graphTool, err, lastLine(out))
	}
	return nil
}

// lastLine is the line of a program's output that names its trouble.
func lastLine(out []byte) string {
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	return strings.TrimSpace(lines[len(lines)-1])
}

// readBuilt reads one of the two files that the tool must have left.
func readBuilt(work, name string) ([]byte, error) {
	root, err := os.OpenRoot(work)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	rel := path.Join(graphDir, name)
	info, err := root.Lstat(rel)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s update wrote no %s", graphTool, rel)
	}
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() || info.Size() > graphBytes {
		return nil, fmt.Errorf("%s is no file of at most %d bytes", rel, graphBytes)
	}
	return root.ReadFile(rel)
}

// ask parses the graph and holds it against the fixture's rules. Texts must not
// be in it: through their headings a session would be told what it should find.
func (b *builtGraph) ask(rules []harness.GraphRule) error {
	g, err := setup.ParseGraph(b.data)
	if err != nil {
		return err
	}
	files := g.Files()
	if i := slices.IndexFunc(files, func(f string) bool { return strings.EqualFold(path.Ext(f), ".md") }); i >= 0 {
		return hint.Usagef("printf '*.md\\n**/*.md\\n' >> fixtures/"+b.Fixture+"/.graphifyignore", "%s is in the graph, texts must be left out", files[i])
	}
	b.Files = len(files)
	for _, r := range rules {
		if r.Fixture != b.Fixture {
			continue
		}
		way := wayBetween(g, r.From, r.To)
		if !g.OneHop(r.From, r.To) {
			return hint.New(hint.Measured, fmt.Errorf("%s, want exactly 1 hop", way), "")
		}
		b.Rules = append(b.Rules, way)
	}
	return nil
}

// keep writes the two files a session will see, and nothing else of the tool's.
func (b *builtGraph) keep() error {
	if err := os.MkdirAll(b.Dir, 0o700); err != nil {
		return fmt.Errorf("keep graph: %w", err)
	}
	// The graph comes last: where it is, the text is too.
	for _, f := range []struct {
		name string
		data []byte
	}{{graphText, b.text}, {graphData, b.data}} {
		if err := atomicfile.WriteFile(filepath.Join(b.Dir, f.name), f.data, 0o600); err != nil {
			return fmt.Errorf("keep graph: %w", err)
		}
	}
	return nil
}

// builtGraphs is the JSON of the verb.
type builtGraphs struct {
	Graphs []builtGraph `json:"graphs"`
}

func printGraphs(e env, built []builtGraph, asJSON bool) error {
	if asJSON {
		return printJSON(e.stdout, builtGraphs{built})
	}
	for _, b := range built {
		if _, err := fmt.Fprintf(e.stdout, "%s: %d files, in %s\n", b.Fixture, b.Files, b.Dir); err != nil {
			return err
		}
		for _, way := range b.Rules {
			if _, err := fmt.Fprintf(e.stdout, "  %s\n", way); err != nil {
				return err
			}
		}
	}
	return nil
}
