package trial_test

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"loopd/harness"
	"loopd/internal/agent"
	"loopd/internal/fake"
	"loopd/internal/isolate"
	"loopd/internal/testenv"
	"loopd/internal/trial"
	"loopd/loop"
)

// The fault matrix: everything that can go wrong in a session, provoked with
// both agents, and the one class that is right for it. "make faults" prints it,
// and "make nightly" does the rest in full numbers.

// mode is one thing that goes wrong.
type mode struct {
	name string
	rows string // of the published cases it answers, such as "A1 B3"
	play play
	// process goes wrong with the stand-in whatever the model does; real provokes
	// the same with the real CLI.
	process fake.AgentFault
	real    *play
	// never says why the mode cannot exist with an agent.
	never map[string]string
	set   func(t *testing.T, b *bench, who string) // what else must be so
	// before is done ahead of the scenario's own steps, prose said at their end.
	before []harness.Step
	prose  string
	// twice runs the slot once more, and judges the second trial beside the first.
	twice bool
	want  harness.Class
	// reason is the result's, where the session counts: it fails for a limit.
	reason string
	// cli is the class of the real CLI, where its own words make it another.
	cli harness.Class
	// look wants more of what came of it.
	look func(t *testing.T, got harness.Trial)
}

const (
	standIn = "stand-in"
	realCLI = "real CLI"
)

// agents are who the matrix is run with.
func agents() []string { return []string{standIn, realCLI} }

// playFor is what is done with an agent; false where the mode cannot exist.
func (m mode) playFor(who string) (play, bool) {
	if _, no := m.never[who]; no {
		return play{}, false
	}
	p := m.play
	if who == realCLI && m.real != nil {
		p = *m.real
	}
	if who == standIn && m.process != "" {
		lay, fault := p.lay, m.process
		p.lay = func(box *isolate.Box) error {
			err := os.WriteFile(filepath.Join(box.Config, fake.AgentFaultFile), []byte(fault), 0o644)
			if lay != nil {
				err = errors.Join(err, lay(box))
			}
			return err
		}
	}
	return p, true
}

// stepsOf are the oracle's with what the mode puts before them and at their end;
// nil for the oracle's own.
func (m mode) stepsOf(b *bench) []harness.Step {
	if len(m.before) == 0 && m.prose == "" {
		return nil
	}
	sc, _ := b.o.Suite.Scenario("R3")
	steps := slices.Concat(m.before, sc.Oracle)
	steps[len(steps)-1].Text += m.prose
	return steps
}

// bed is a bench for one agent and one mode, with clocks short enough to wait
// for.
func bed(t *testing.T, who string, m mode, cli agent.Binary) *bench {
	t.Helper()
	b := newBench(t)
	clocks := &b.o.Suite.Launch.Clocks
	clocks.Idle, clocks.Startup, clocks.Grace, clocks.Total = 2*time.Minute, 2*time.Minute, 10*time.Second, 4*time.Minute
	b.o.Suite.Launch.MaxRetries = 2
	if who == realCLI {
		b.o.Agent, b.o.UID, b.o.GID, b.o.Sandboxes = cli, nobody(), nobody(), testenv.OpenDir(t)
	}
	if m.set != nil {
		m.set(t, b, who)
	}
	return b
}

// row is one line of the printed table.
type row struct{ mode, agent, expected, observed string }

func (r row) String() string {
	return fmt.Sprintf("%-34s %-9s %-28s %s", r.mode, r.agent, r.expected, r.observed)
}

// TestRun_FaultMatrix provokes every mode with every agent; every day one in five
// with the real CLI.
func TestRun_FaultMatrix(t *testing.T) {
	t.Parallel()
	wantEveryCase(t, modes())
	everyOther := testenv.Count(5, 1)
	if os.Getenv("LOOPD_FAULTS_TABLE") != "" {
		everyOther = 1
	}
	real := testenv.Claude(t) != ""
	var cli agent.Binary
	if real {
		cli = realAgent(t)
	}
	var rows []*row
	t.Run("each", func(t *testing.T) {
		for i, m := range modes() {
			for _, who := range agents() {
				if who == realCLI && (!real || i%everyOther != 0) {
					continue
				}
				r := new(row)
				rows = append(rows, r)
				t.Run(who+"/"+m.name, func(t *testing.T) {
					t.Parallel()
					*r = provokeOne(t, who, m, cli)
				})
			}
		}
	})
	out := fmt.Sprintln(row{"mode", "agent", "expected", "observed"})
	for _, r := range rows {
		out += fmt.Sprintln(*r)
	}
	say(t, "%s", out)
}

// say writes what came of the faults to the test's log, and to the file that
// LOOPD_FAULTS_TABLE names.
func say(t *testing.T, format string, args ...any) {
	t.Helper()
	t.Logf(format, args...)
	name := os.Getenv("LOOPD_FAULTS_TABLE")
	if name == "" {
		return
	}
	f, err := os.OpenFile(name, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	testenv.Must(t, err)
	defer f.Close()
	if _, err := fmt.Fprintf(f, format+"\n", args...); err != nil {
		t.Fatal(err)
	}
}

// turns bounds how many sessions of the matrix run side by side.
var turns = make(chan struct{}, 4)

// provokeOne runs one mode with one agent and compares.
func provokeOne(t *testing.T, who string, m mode, cli agent.Binary) row {
	t.Helper()
	r := row{mode: m.name, agent: who, expected: m.expected(who)}
	p, ok := m.playFor(who)
	if !ok {
		r.expected, r.observed = "-", "cannot exist: "+m.never[who]
		return r
	}
	turns <- struct{}{}
	defer func() { <-turns }()
	b := bed(t, who, m, cli)
	p.steps = m.stepsOf(b)
	specs := []harness.Spec{b.spec("R3", "haiku", 1, p)}
	if m.twice {
		specs = append(specs, b.spec("R3", "haiku", 2, p))
	}
	e, ran := b.executor("R3"), make(map[string]string)
	var got harness.Trial
	for i, spec := range specs {
		var err error
		if got, err = e.Run(t.Context(), spec); err != nil {
			t.Fatal(err)
		}
		if m.twice && len(b.keys) != i+1 {
			t.Errorf("%d sessions were started, want %d: nothing is cached", len(b.keys), i+1)
		}
		got = loop.Distinct(ran, got)
		ran[got.Session] = got.ID
	}
	r.observed = observed(got)
	m.judge(t, who, got)
	if _, err := os.Stat(filepath.Join(b.o.Store, got.ID, trial.ChangesFile)); (err == nil) != (got.Class == harness.Valid) && got.Class != harness.Duplicate {
		t.Errorf("%s: an attempt is scored when it is valid, and then alone: %v", got.Class, err)
	}
	b.wantClean(got)
	return r
}

func (m mode) wanted(who string) harness.Class {
	if who == realCLI && m.cli != "" {
		return m.cli
	}
	return m.want
}

func (m mode) expected(who string) string {
	if want := m.wanted(who); want != harness.Valid {
		return string(want) + ", " + string(want.Fate())
	}
	return "valid, " + cmp.Or(m.reason, "pass")
}

func observed(t harness.Trial) string {
	if t.Class != harness.Valid {
		return fmt.Sprintf("%s, %s, outcome %s", t.Class, t.Class.Fate(), t.Result.Outcome)
	}
	return fmt.Sprintf("valid, %s", cmp.Or(limitOf(t), string(t.Result.Outcome)))
}

// limitOf is the limit a session failed for, empty for none.
func limitOf(t harness.Trial) string {
	for _, r := range t.Result.Reasons() {
		if strings.HasPrefix(r, "limit_") {
			return r
		}
	}
	return ""
}

// judge wants the mode's class, and that what is no evidence is neither a pass
// nor a fail.
func (m mode) judge(t *testing.T, who string, got harness.Trial) {
	t.Helper()
	if want := m.wanted(who); got.Class != want {
		t.Errorf("got %s (%s), want %s", got.Class, got.Why, want)
	}
	switch {
	case got.Class != harness.Valid && (got.Why == "" || got.Result.Outcome != harness.Invalid || len(got.Result.Checks) != 0 || got.Passed()):
		t.Errorf("no evidence, and yet: why %q, result %+v", got.Why, got.Result)
	case got.Class == harness.Valid && m.reason == "" && got.Result.Outcome != harness.Pass:
		t.Errorf("the session went on and should count: %+v", got.Result)
	case got.Class == harness.Valid && m.reason != "" && (got.Result.Outcome != harness.Fail || limitOf(got) != m.reason):
		t.Errorf("got %s for %q, want a fail for %s", got.Result.Outcome, limitOf(got), m.reason)
	}
	if m.look != nil {
		m.look(t, got)
	}
}

// cases are the rows of the published cases that the matrix answers for.
func cases() []string {
	return strings.Fields("A1 A2 A3 A4 A5 A6 A7 A8 A10 A12 A13 B1 B2 B3 B4 B6 B8 B9 B10 B12 B13 B14 B15 B17")
}

// wantEveryCase is fatal when a published case is in no mode.
func wantEveryCase(t *testing.T, all []mode) {
	t.Helper()
	named := make(map[string]bool)
	seen := make(map[string]bool)
	for _, m := range all {
		if seen[m.name] || m.want == "" {
			t.Fatalf("the mode %q is there twice or wants no class", m.name)
		}
		seen[m.name] = true
		for _, c := range strings.Fields(m.rows) {
			if !slices.Contains(cases(), c) {
				t.Fatalf("%s names %s, which is no case", m.name, c)
			}
			named[c] = true
		}
	}
	for _, c := range cases() {
		if !named[c] {
			t.Fatalf("no mode of the matrix answers for case %s", c)
		}
	}
}

// modes are all of them.
func modes() []mode {
	return slices.Concat(serviceModes(), streamModes(), processModes(), startModes(), hookModes())
}

// simple is a mode in which the model's side alone goes wrong.
func simple(name, rows string, f fake.Fault, want harness.Class) mode {
	return mode{name: name, rows: rows, play: play{fault: f}, want: want}
}
