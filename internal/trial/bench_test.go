package trial_test

import (
	"context"
	"io/fs"
	"net/url"
	"os"
	"os/signal"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/fstest"
	"time"

	"loopd/fixtures"
	"loopd/frozen"
	"loopd/harness"
	"loopd/internal/agent"
	"loopd/internal/fake"
	"loopd/internal/gateway"
	"loopd/internal/isolate"
	"loopd/internal/redact"
	"loopd/internal/testenv"
	"loopd/internal/trial"
	"loopd/scenarios"
)

// TestMain lets the test binary be the agent: under the name claude it is the
// stand-in. Within walls it is the helper that starts the agent too.
func TestMain(m *testing.M) {
	if isolate.IsHelper(os.Args) {
		syscall.Exit(isolate.HelperMain(os.Args, os.Environ()))
	}
	if len(os.Args) == 2 && os.Args[0] == apartName {
		if err := apartMain(context.Background(), os.Args[1], os.Stdin, os.Stdout); err != nil {
			panic(err)
		}
		syscall.Exit(0)
	}
	if filepath.Base(os.Args[0]) != "claude" {
		os.Exit(m.Run())
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	dir, err := os.Getwd()
	if err != nil {
		panic(err)
	}
	// Not os.Exit: under the race detector that waits a second each time.
	syscall.Exit(fake.AgentMain(ctx, os.Args[1:], os.Environ(), dir, os.Stdin, os.Stdout, os.Stderr))
}

// wording is the commit every trial of a bench names.
const wording = "0123456789abcdef0123456789abcdef01234567"

// bench is everything a trial needs, on the bundled suite, with a simulated
// model behind the gateway.
type bench struct {
	t     *testing.T
	dir   string // of the sealed suite
	model *fake.ModelServer
	o     trial.Options
	plays map[string]play // by trial id

	mu   sync.Mutex
	keys map[string]string // dummy key by trial id
}

// play is what the simulated model does in one trial, and what is done to the
// sandbox before it.
type play struct {
	nop   bool
	steps []harness.Step // instead of the scenario's own
	fault fake.Fault
	lay   func(box *isolate.Box) error
}

var _ trial.FaultInjector = (*bench)(nil)

func newBench(t *testing.T) *bench {
	t.Helper()
	b := &bench{t: t, dir: filepath.Join(t.TempDir(), "suite"), plays: make(map[string]play), keys: make(map[string]string)}
	suite := b.seal()
	base := make(map[harness.Cell]float64)
	for _, sc := range suite.Scenarios {
		for _, tier := range suite.Launch.Tiers {
			base[harness.Cell{Scenario: sc.ID, Tier: tier.Name}] = .5
		}
	}
	b.start(base)
	exe, err := os.Executable()
	testenv.Must(t, err)
	plugin := bundledPlugin(t)
	b.o.Suite, b.o.Agent = suite, agent.Binary{Path: exe, Version: fake.AgentVersion}
	b.o.Wording = func(string) (trial.Wording, error) { return wordingOf(t, plugin), nil }
	b.o.Store, b.o.Sandboxes = filepath.Join(t.TempDir(), "trials"), t.TempDir()
	b.o.Faults, b.o.Redactor, b.o.Instrument, b.o.Now = b, redact.New(), "instrument", time.Now
	return b
}

// seal lays the bundled suite out, seals it and reads it back.
func (b *bench) seal() harness.Suite {
	b.t.Helper()
	files := make(fstest.MapFS)
	add := func(fsys fs.FS, place func(string) string) {
		err := fs.WalkDir(fsys, ".", func(name string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			data, err := fs.ReadFile(fsys, name)
			files[place(name)] = &fstest.MapFile{Data: data, Mode: 0o644}
			return err
		})
		testenv.Must(b.t, err)
	}
	bundled, err := fs.Sub(scenarios.FS(), "os-adr")
	testenv.Must(b.t, err)
	add(bundled, func(name string) string {
		if path.Ext(name) == ".md" && name != "rubric.md" {
			return "scenarios/" + name
		}
		return name
	})
	add(fixtures.FS(), func(name string) string { return "fixtures/" + name })
	testenv.Must(b.t, frozen.Materialise(files, nil, b.dir))
	if _, err := frozen.Seal(b.t.Context(), b.dir); err != nil {
		b.t.Fatal(err)
	}
	sealed, err := frozen.Load(b.dir)
	testenv.Must(b.t, err)
	b.o.Seal = func(ctx context.Context) (*frozen.Drift, error) { return frozen.Verify(ctx, b.dir, sealed.Manifest()) }
	suite, err := harness.ParseSuite(sealed.FS())
	testenv.Must(b.t, err)
	return suite
}

// start starts the simulated model and the gateway before it.
func (b *bench) start(base map[harness.Cell]float64) {
	b.t.Helper()
	model, err := fake.StartModel(b.t.Context(), fake.Wording{Base: base})
	testenv.Must(b.t, err)
	b.t.Cleanup(func() { model.Close() })
	upstream, err := url.Parse(model.URL())
	testenv.Must(b.t, err)
	gate, err := gateway.Start(b.t.Context(), upstream, gateway.Credential{Header: gateway.HeaderKey})
	testenv.Must(b.t, err)
	b.t.Cleanup(func() { gate.Close() })
	b.model, b.o.Gateway = model, gate
}

func bundledPlugin(t *testing.T) harness.Tree {
	t.Helper()
	sub, err := fs.Sub(fixtures.Plugins(), "os-adr")
	testenv.Must(t, err)
	tree, err := harness.ReadTree(sub)
	testenv.Must(t, err)
	for name, f := range tree {
		f.Mode = fixtures.PluginMode(name)
		tree[name] = f
	}
	return tree
}

// Register names the session to the model.
func (b *bench) Register(spec harness.Spec, key string) (func(), error) {
	p := b.plays[spec.TrialID()]
	sc, _ := b.o.Suite.Scenario(spec.Slot.Cell.Scenario)
	if p.steps != nil {
		sc.Oracle = p.steps
	}
	s := fake.ModelSession{Scenario: sc, Cell: spec.Slot.Cell, Fault: p.fault}
	if p.nop {
		s.Draw = .75
	}
	b.mu.Lock()
	b.keys[spec.TrialID()] = key
	b.mu.Unlock()
	return func() { b.model.Forget(key) }, b.model.Register(key, s)
}

// Lay does the damage that is planted.
func (b *bench) Lay(spec harness.Spec, box *isolate.Box) error {
	if lay := b.plays[spec.TrialID()].lay; lay != nil {
		return lay(box)
	}
	return nil
}

// spec plants a play at the rep-th repetition of a cell.
func (b *bench) spec(scenario, tier string, rep int, p play) harness.Spec {
	s := harness.Spec{
		Campaign: "t", Attempt: 1,
		Slot: harness.Slot{Wording: wording, Cell: harness.Cell{Scenario: scenario, Tier: tier}, Rep: rep},
	}
	b.plays[s.TrialID()] = p
	return s
}

// executor prepares the named scenarios, or all: each costs a few processes.
func (b *bench) executor(ids ...string) *trial.Executor {
	b.t.Helper()
	o := b.o
	if len(ids) > 0 {
		o.Suite.Scenarios = slices.DeleteFunc(slices.Clone(o.Suite.Scenarios), func(sc harness.Scenario) bool { return !slices.Contains(ids, sc.ID) })
	}
	e, err := trial.New(b.t.Context(), o)
	testenv.Must(b.t, err)
	return e
}

// one runs a single play of a cell on the haiku tier.
func (b *bench) one(scenario string, p play) harness.Trial {
	b.t.Helper()
	spec := b.spec(scenario, "haiku", 1, p)
	got, err := b.executor(scenario).Run(b.t.Context(), spec)
	testenv.Must(b.t, err)
	return got
}

// kept returns the files of a kept attempt by name; none is a failure.
func (b *bench) kept(id string) map[string][]byte {
	b.t.Helper()
	entries, err := os.ReadDir(filepath.Join(b.o.Store, id))
	if err != nil || len(entries) == 0 {
		b.t.Fatalf("attempt %s keeps nothing: %v", id, err)
	}
	out := make(map[string][]byte)
	for _, e := range entries {
		data, err := os.ReadFile(filepath.Join(b.o.Store, id, e.Name()))
		testenv.Must(b.t, err)
		out[e.Name()] = data
	}
	return out
}

// wantClean checks that no sandbox and no process of the trial is left.
func (b *bench) wantClean(t harness.Trial) {
	b.t.Helper()
	left, err := os.ReadDir(b.o.Sandboxes)
	if err != nil || len(left) > 0 {
		b.t.Errorf("sandboxes left: %v (%v)", left, err)
	}
	if t.Survivors != 0 {
		b.t.Errorf("survivors: got %d, want 0", t.Survivors)
	}
}

// wantInvalid checks that a trial is void with the class, and neither pass nor
// fail.
func (b *bench) wantInvalid(t harness.Trial, class harness.Class) {
	b.t.Helper()
	if t.Class != class || t.Why == "" {
		b.t.Errorf("class: got %s (%s), want %s with a reason", t.Class, t.Why, class)
	}
	if t.Result.Outcome != harness.Invalid || len(t.Result.Checks) != 0 || t.Passed() {
		b.t.Errorf("result: got %+v, want invalid without checks", t.Result)
	}
}

// wordingOf reads what a trial must deliver out of a plugin.
func wordingOf(t *testing.T, plugin harness.Tree) trial.Wording {
	t.Helper()
	w := trial.Wording{Plugin: plugin, Note: strings.TrimSuffix(string(plugin["hooks/session-start-note.md"].Data), "\n")}
	for _, name := range plugin.Paths() {
		if ok, _ := path.Match("skills/*/SKILL.md", name); !ok {
			continue
		}
		_, rest, found := strings.Cut(string(plugin[name].Data), "\ndescription: ")
		line, _, _ := strings.Cut(rest, "\n")
		if !found || line == "" {
			t.Fatalf("%s has no description", name)
		}
		w.Descriptions = append(w.Descriptions, strings.Trim(line, "\""))
	}
	if w.Note == "" || len(w.Descriptions) == 0 {
		t.Fatalf("the bundled plugin delivers nothing: %+v", w)
	}
	return w
}
