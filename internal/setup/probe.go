package setup

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"

	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"

	"loopd/harness"
	"loopd/internal/agent"
	"loopd/internal/app"
	"loopd/internal/fake"
	"loopd/internal/gateway"
	"loopd/internal/isolate"
	"loopd/internal/trial"
)

// ProbeOptions say with what a probe's session runs: what a campaign would run
// with.
type ProbeOptions struct {
	Suite     harness.Suite
	Wording   trial.Wording
	Agent     agent.Binary
	Isolation app.Isolation
	Graphs    map[string]harness.Tree
	// Secrets are the user's own credentials: looked for, never printed.
	Secrets []string

	damage func(*isolate.Box, *poison) error // done to the sandbox, by tests
}

// Probe runs one session of the launch profile in poisoned surroundings and says,
// row by row, whether anything of them reached it and whether what should have
// reached it did. The model is simulated: nothing is spent, nobody is contacted.
//
// The variables of the process are poisoned meanwhile, so that nothing else may
// run beside a probe. An error means that the session could not be tried at all.
func Probe(ctx context.Context, o ProbeOptions) (rows []Row, err error) {
	dir, err := os.MkdirTemp("", "")
	if err != nil {
		return nil, fmt.Errorf("probe: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	p, err := newProbe(o, dir)
	if err != nil {
		return nil, fmt.Errorf("probe: %w", err)
	}
	refused := p.refusesBase(ctx)
	if err := p.run(ctx); err != nil {
		return nil, fmt.Errorf("probe: %w", err)
	}
	return p.rows(refused), nil
}

// probe is one session and all that was seen of it.
type probe struct {
	o       ProbeOptions
	poison  *poison
	witness *witness
	// key stands for the user's own. Its core is what the session would find of
	// it by the stem.
	key, core string
	model     *fake.Model
	spec      harness.Spec
	trial     harness.Trial
	kept      map[string]string // files of the attempt
}

var _ trial.FaultInjector = (*probe)(nil)

// probeID names the scenario of a probe, which is none of the suite's.
const probeID = "probe"

func newProbe(o ProbeOptions, dir string) (*probe, error) {
	p := &probe{o: o, poison: newPoison(dir)}
	p.core = p.poison.stem + "-key-" + rand.Text()
	p.key = "sk-ant-api03-" + p.core
	at, ok := spokenTo(o.Suite)
	if !ok || len(o.Suite.Launch.Tiers) == 0 {
		return nil, errors.New("the suite has no scenario whose project gets the hook's note, or no tier")
	}
	p.o.Suite.Scenarios = []harness.Scenario{{
		ID: probeID, Role: harness.Practice, Fixture: at.Fixture, Changes: at.Changes, Graph: at.Graph, Hook: at.Hook,
		PracticeTask: "Say in one sentence what this project is.",
		Oracle:       []harness.Step{{Bash: p.look()}, {Text: "It is a small project."}}, Nop: []harness.Step{{Text: "Nothing to say."}},
	}}
	p.spec = harness.Spec{Campaign: "doctor", Attempt: 1, Slot: harness.Slot{
		Wording: probeID, Cell: harness.Cell{Scenario: probeID, Tier: o.Suite.Launch.Tiers[0].Name}, Rep: 1,
	}}
	p.model = fake.NewModel(fake.Wording{Base: map[harness.Cell]float64{p.spec.Slot.Cell: 1}})
	p.witness = &witness{model: p.model, key: p.key}
	return p, p.poison.write()
}

// spokenTo is a scenario whose project the hook speaks to, or any where the
// plugin has no hook.
func spokenTo(s harness.Suite) (harness.Scenario, bool) {
	for _, sc := range s.Scenarios {
		if (sc.Hook == harness.HookNote || s.Launch.Note.Kind == harness.NoteNone) && !sc.Graph {
			return sc, true
		}
	}
	return harness.Scenario{}, false
}

// look is what the session does: it looks for canaries in its environment, in its
// home, in git's settings and in the directories above. The stem in the command
// is no canary.
func (p *probe) look() string {
	return `{ env; cat /proc/self/environ /proc/$PPID/environ | tr '\0' '\n'; git config --list; grep -rhs ` + p.poison.stem + ` "$HOME" "$CLAUDE_CONFIG_DIR" "$TMPDIR"
d=$PWD; while [ "$d" != / ]; do d=$(dirname "$d"); cat "$d/CLAUDE.md" "$d/AGENTS.md"; done; } 2>/dev/null | grep -o '` + p.poison.stem + `-[A-Za-z0-9-]*' | sort -u; echo looked`
}

// Register binds the session to the key the gateway shows for it.
func (p *probe) Register(spec harness.Spec, _ string) (func(), error) {
	s := fake.ModelSession{Scenario: p.o.Suite.Scenarios[0], Cell: spec.Slot.Cell}
	return func() { p.model.Forget(p.key) }, p.model.Register(p.key, s)
}

// Lay adds what depends on where the sandbox is.
func (p *probe) Lay(_ harness.Spec, box *isolate.Box) error {
	name, text := p.poison.memory(box.Work)
	files := map[string]string{name: text}
	if p.walled() {
		for name, text := range p.poison.above() {
			files[name] = text
		}
	}
	if err := p.poison.lay(files); err != nil {
		return err
	}
	if p.o.damage != nil {
		return p.o.damage(box, p.poison)
	}
	return nil
}

func (p *probe) walled() bool { return p.o.Isolation.Sandbox.Backend() != isolate.None }

// refusesBase says whether a sandbox below a directory with instructions is
// refused, as it must be on every rung.
func (p *probe) refusesBase(ctx context.Context) bool {
	tree := harness.Tree{"README.md": harness.File{Mode: 0o644, Data: []byte("Notes\n")}}
	git, err := isolate.NewGitTemplate(ctx, tree)
	if err != nil {
		return false
	}
	home := p.poison.home() // has a CLAUDE.md
	box, err := isolate.New(ctx, isolate.Options{Base: home, Fixture: tree, PluginName: "none", Git: git})
	if err == nil {
		_ = box.Remove() // what matters is that it was made
	}
	_, refused := errors.AsType[*isolate.BaseError](err)
	return refused
}

// run runs the session.
func (p *probe) run(ctx context.Context) error {
	api := httptest.NewServer(p.witness)
	defer api.Close()
	upstream, err := url.Parse(api.URL)
	if err != nil {
		return err
	}
	store := filepath.Join(p.poison.dir, "kept")
	restore, err := p.poison.drink()
	if err != nil {
		return err
	}
	defer restore()
	sessions, err := app.Connect(ctx, app.Parts{
		Suite: p.o.Suite, Wording: app.Fixed(p.o.Wording), Agent: p.o.Agent, Isolation: p.o.Isolation, Graphs: p.o.Graphs, Store: store,
		Sandboxes: p.poison.base(), Inject: p, Service: app.Service{URL: upstream, Credential: gateway.Credential{Header: gateway.HeaderKey, Value: p.key}},
	})
	if err != nil {
		return err
	}
	defer sessions.Close()
	sessions.Instrument = probeID
	executor, err := sessions.Executor(ctx)
	if err != nil {
		return err
	}
	if p.trial, err = executor.Run(ctx, p.spec); err != nil {
		return err
	}
	return p.read(filepath.Join(store, p.trial.ID))
}

// read takes up what is kept of the attempt.
func (p *probe) read(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	p.kept = make(map[string]string, len(entries))
	for _, e := range entries {
		data, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			return err
		}
		p.kept[e.Name()] = string(data)
	}
	return nil
}
