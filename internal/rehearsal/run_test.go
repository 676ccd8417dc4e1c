package rehearsal

import (
	"bytes"
	"context"
	"encoding/json"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"loopd/harness"
	"loopd/internal/agent"
	"loopd/internal/campaign"
	"loopd/internal/store"
	"loopd/internal/testenv"
	"loopd/loop"
)

// small is a rehearsal with one candidate of each kind on five scenarios, and a
// budget that just does for it.
func small() Setup {
	return Setup{Seed: 4, Agent: StandIn, Profile: loop.Fast, Candidates: 7, Sessions: 155, Scenarios: []string{"W1", "R1", "R2", "R3", "N1"}}
}

// command is the rehearsal as a process of its own, with its own directory for
// temporary files.
func command(ctx context.Context, t *testing.T, s Setup, root string, resume bool) *exec.Cmd {
	t.Helper()
	described, err := json.Marshal(map[string]any{
		"seed": s.Seed, "profile": s.Profile, "agent": s.Agent, "candidates": s.Candidates, "sessions": s.Sessions, "scenarios": s.Scenarios, "Dir": filepath.Join(root, "work"), "Resume": resume,
	})
	testenv.Must(t, err)
	cmd := exec.CommandContext(ctx, "/proc/self/exe", string(described))
	cmd.Args[0] = asChild
	cmd.Env = append(os.Environ(), "TMPDIR="+filepath.Join(root, "tmp"))
	cmd.Stderr = &bytes.Buffer{}
	testenv.Must(t, os.MkdirAll(filepath.Join(root, "tmp"), 0o755))
	return cmd
}

// verdict is what must come out the same whenever the same rehearsal is run.
type verdict struct {
	ID       string
	Verdict  loop.Verdict
	Reason   loop.Reason
	Sessions int
	EValue   *float64
}

func verdictsOf(r Result) []verdict {
	var out []verdict
	for _, c := range r.Candidates {
		out = append(out, verdict{c.ID, c.Verdict, c.Reason, c.Sessions, c.EValue})
	}
	return out
}

// whole is one undisturbed rehearsal, looked at by several tests.
type whole struct {
	result Result
	state  *loop.State
	plan   Plan
	pauses []pause
	rows   map[string][]string
	same   campaign.Rescoring // scored again by its own rules
	other  campaign.Rescoring // by a rule that asks for what nobody says
	err    error
}

// undisturbed runs it once for all tests of the package.
var undisturbed = sync.OnceValue(func() whole {
	dir, err := os.MkdirTemp("", "rehearsal-test-")
	if err != nil {
		return whole{err: err}
	}
	defer os.RemoveAll(dir)
	work := filepath.Join(dir, "work")
	var w whole
	if w.result, w.err = Run(context.Background(), options(small(), work)); w.err != nil {
		return w
	}
	w.rows, w.err = rows(home(work).Results())
	if w.err != nil {
		return w
	}
	if w.same, w.other, w.err = again(home(work)); w.err != nil {
		return w
	}
	l, err := store.OpenReadOnly(home(work).Dir)
	if err != nil {
		return whole{err: err}
	}
	defer l.Close()
	states, err := campaign.Replay(context.Background(), l)
	if err != nil {
		return whole{err: err}
	}
	w.state = states[0]
	suite, err := campaign.ReadBundled(campaign.BundledSuite)
	if err != nil {
		return whole{err: err}
	}
	sown, err := ReadPlanting(suite)
	if err != nil {
		return whole{err: err}
	}
	if w.pauses, err = pausesOf(context.Background(), home(work).Dir); err != nil {
		return whole{err: err}
	}
	w.plan, w.err = NewPlan(sown, w.state.Started.Objective, w.state.Started.Guards, small().Candidates, loop.Fast, NoFault)
	return w
})

// rows reads results.tsv: what was run and what came of it, by trial id.
func rows(path string) (map[string][]string, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	out := make(map[string][]string)
	lines := strings.Split(strings.TrimSuffix(string(data), "\n"), "\n")
	for _, line := range lines[1:] {
		f := strings.Split(line, "\t")
		out[f[8]] = append(out[f[8]], strings.Join(f[:8], " "))
	}
	return out, nil
}

// measured lists the rows without their ids, in order.
func measured(rows map[string][]string) []string {
	return slices.Sorted(func(yield func(string) bool) {
		for _, same := range rows {
			for _, row := range same {
				if !yield(row) {
					return
				}
			}
		}
	})
}

func TestRehearsal(t *testing.T) {
	w := undisturbed()
	if w.err != nil {
		t.Fatal(w.err)
	}
	r := w.result
	if r.Mismatches != 0 || len(r.Candidates) != small().Candidates {
		t.Errorf("got %d mismatches in %d candidates, want none in %d: %+v", r.Mismatches, len(r.Candidates), small().Candidates, r.Candidates)
	}
	if !r.Simulated || r.Outcome == "" || r.Sessions < 60 || r.Sessions > small().Sessions {
		t.Errorf("got simulated %v, outcome %q, %d sessions", r.Simulated, r.Outcome, r.Sessions)
	}
	if r.VerifiedNotes != r.ExpectNote || r.ExpectNote != r.Valid || r.Exposed != r.Valid || r.Valid == 0 {
		t.Errorf("got %d notes verified and %d expected, %d exposed, in %d valid sessions; want all the same", r.VerifiedNotes, r.ExpectNote, r.Exposed, r.Valid)
	}
	if r.Orphans != 0 || !r.UserUntouched {
		t.Errorf("got %d orphans, user's repository untouched %v", r.Orphans, r.UserUntouched)
	}
	if len(w.rows) != r.Sessions {
		t.Errorf("got %d rows in results.tsv, want %d", len(w.rows), r.Sessions)
	}
	for id, same := range w.rows {
		if len(same) != 1 {
			t.Errorf("trial %s: got %d rows, want 1", id, len(same))
		}
	}
}

// TestPlantedFaults wants each fault to show as its class, once, and the slot
// to be run again.
func TestPlantedFaults(t *testing.T) {
	w := undisturbed()
	if w.err != nil {
		t.Fatal(w.err)
	}
	attempts := make(map[place][]harness.Class)
	for _, run := range w.state.Trials {
		if sl := run.Spec.Slot; w.state.CandidateOf(sl.Wording) == loop.SubjectStart {
			at := place{sl.Cell.String(), sl.Rep}
			attempts[at] = append(attempts[at], run.Class)
		}
	}
	invalid := 0
	for at, f := range w.plan.faults {
		want := []harness.Class{f.class}
		if f.class != harness.Valid {
			want = append(want, harness.Valid)
			invalid++
		}
		if got := attempts[at]; !slices.Equal(got, want) {
			t.Errorf("%s: got attempts %v, want %v", f.name, got, want)
		}
	}
	total := 0
	for _, n := range w.result.Invalid {
		total += n
	}
	if total != invalid || w.result.Sessions-w.result.Valid != invalid {
		t.Errorf("got %d invalid (%v), want the %d planted", total, w.result.Invalid, invalid)
	}
}

// TestCompareFindsDamage changes one verdict at a time.
func TestCompareFindsDamage(t *testing.T) {
	w := undisturbed()
	if w.err != nil {
		t.Fatal(w.err)
	}
	mismatches := func() int {
		var out Result
		out.compare(w.state, w.plan)
		return out.Mismatches
	}
	if got := mismatches(); got != 0 {
		t.Fatalf("got %d mismatches before any damage", got)
	}
	for _, p := range w.state.Progress {
		good := p.Decided
		damaged := []*loop.Decided{nil, {Candidate: good.Candidate, Verdict: loop.Broken, Reason: good.Reason}}
		if good.Verdict == loop.Keep {
			damaged = append(damaged, &loop.Decided{Verdict: loop.Reject, Reason: loop.ByFutility, Sessions: good.Sessions, EValue: good.EValue})
		} else {
			damaged = append(damaged, &loop.Decided{Verdict: loop.Keep, Sessions: good.Sessions, EValue: good.EValue})
		}
		for i, d := range damaged {
			p.Decided = d
			if got := mismatches(); got != 1 {
				t.Errorf("%s, damage %d: got %d mismatches, want 1", p.Candidate.ID, i, got)
			}
		}
		p.Decided = good
	}
}

// TestCompareFindsAWrongClass changes the class of one planted fault at a time.
func TestCompareFindsAWrongClass(t *testing.T) {
	w := undisturbed()
	if w.err != nil {
		t.Fatal(w.err)
	}
	if len(w.result.Faults) != len(w.plan.faults) {
		t.Errorf("%d faults shown, %d planted", len(w.result.Faults), len(w.plan.faults))
	}
	for at, f := range w.plan.faults {
		wrong := maps.Clone(w.plan.faults)
		f.class = harness.Duplicate
		wrong[at] = f
		var out Result
		if out.compareFaults(w.state, Plan{faults: wrong}, w.pauses); out.Mismatches != 1 {
			t.Errorf("%s: got %d mismatches, want 1", f.name, out.Mismatches)
		}
	}
}

// TestCompareFaults_Pauses takes one pause of the ledger away at a time, and then
// its end.
func TestCompareFaults_Pauses(t *testing.T) {
	w := undisturbed()
	if w.err != nil {
		t.Fatal(w.err)
	}
	if got := len(w.pauses); got != 3 {
		t.Fatalf("got %d pauses, want one for a limit, one for the disk and one for the battery: %+v", got, w.pauses)
	}
	for i, h := range w.pauses {
		open := slices.Clone(w.pauses)
		open[i].lifted = time.Time{}
		for name, pauses := range map[string][]pause{"no pause": slices.Delete(slices.Clone(w.pauses), i, i+1), "not lifted": open} {
			var out Result
			if out.compareFaults(w.state, w.plan, pauses); out.Mismatches != 1 {
				t.Errorf("%s, %s: got %d mismatches, want 1", h.p.Reason, name, out.Mismatches)
			}
		}
	}
}

func TestDrift(t *testing.T) {
	s := small()
	s.Fault = FrozenDrift
	dir := filepath.Join(testenv.OpenDir(t), "work")
	r, err := Run(t.Context(), options(s, dir))
	testenv.Must(t, err)
	if !strings.HasPrefix(r.HaltedBy, string(harness.DriftedSeal)) || r.Outcome != "" {
		t.Errorf("got halted by %q, outcome %q", r.HaltedBy, r.Outcome)
	}
	if len(r.Drift) != 1 || r.Drift[0].Path != "rubric.md" || r.Drift[0].Old == r.Drift[0].New || r.Drift[0].Old == "" || r.Drift[0].New == "" {
		t.Errorf("got drift %+v, want rubric.md with both digests", r.Drift)
	}
	if r.VerdictsAfterDrift == nil || *r.VerdictsAfterDrift != 0 {
		t.Errorf("got %v verdicts after the drift, want 0", r.VerdictsAfterDrift)
	}
	if r.Sessions > driftAfter+2*2 {
		t.Errorf("got %d sessions, want none begun after the drift at %d", r.Sessions, driftAfter)
	}
	if !r.UserUntouched || r.Orphans != 0 {
		t.Errorf("got %d orphans, user's repository untouched %v", r.Orphans, r.UserUntouched)
	}
	before := r
	o := options(s, dir)
	o.Resume = true
	if r, err = Run(t.Context(), o); err == nil {
		t.Errorf("a halted rehearsal went on over the broken seal: %+v, was %+v", r, before)
	}
}

// TestDrained wants an unfinished rehearsal to be a result, and to be
// continued.
func TestDrained(t *testing.T) {
	s := small()
	dir := filepath.Join(testenv.OpenDir(t), "work")
	o := options(s, dir)
	r := drainAfter(t, o, 6)
	if r.Outcome != "" || r.Mismatches != 0 || r.Sessions < 6 || r.Sessions > 6+o.Parallel {
		t.Fatalf("got outcome %q, %d mismatches, %d sessions; want an unfinished rehearsal", r.Outcome, r.Mismatches, r.Sessions)
	}
	o.Resume = true
	again := drainAfter(t, o, r.Sessions+2)
	if again.Sessions < r.Sessions+2 {
		t.Errorf("got %d sessions after going on, want %d or more", again.Sessions, r.Sessions+2)
	}
}

// drainAfter stops a rehearsal once n trials are recorded.
func drainAfter(t *testing.T, o Options, n int) Result {
	t.Helper()
	drain := make(chan struct{})
	stop := sync.OnceFunc(func() { close(drain) })
	o.Drain = drain
	o.Observe = func(s *loop.State, _ loop.Event) {
		if s.Sessions() >= n {
			stop()
		}
	}
	r, err := Run(t.Context(), o)
	testenv.Must(t, err)
	return r
}

// TestRealAgent runs the first sessions through the real agent CLI.
func TestRealAgent(t *testing.T) {
	path := testenv.NeedClaude(t)
	root := testenv.OpenDir(t)
	binary, err := agent.Pin(t.Context(), path, filepath.Join(root, "agent"))
	testenv.Must(t, err)
	s := small()
	s.Agent = Claude
	o := options(s, filepath.Join(root, "work"))
	o.Binary = binary
	r := drainAfter(t, o, 8)
	if r.Valid == 0 || r.VerifiedNotes != r.Valid || r.ExpectNote != r.Valid || r.Exposed != r.Valid {
		t.Errorf("got %d valid sessions, %d expect the note, %d verified, %d exposed; invalid %v", r.Valid, r.ExpectNote, r.VerifiedNotes, r.Exposed, r.Invalid)
	}
	planted := 0
	for _, n := range r.Invalid {
		planted += n
	}
	if planted > len(faultsByName()) {
		t.Errorf("got invalid sessions %v, want no more than the planted faults", r.Invalid)
	}
	if r.Orphans != 0 || !r.UserUntouched {
		t.Errorf("got %d orphans, user's repository untouched %v", r.Orphans, r.UserUntouched)
	}
}

func TestNotEmpty(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	testenv.Must(t, os.WriteFile(filepath.Join(dir, "mine.txt"), nil, 0o644))
	_, err := Run(t.Context(), options(small(), dir))
	if err == nil || !strings.Contains(err.Error(), dir+" is not empty") {
		t.Errorf("got %v, want a refusal that names the directory", err)
	}
	left, err := os.ReadDir(dir)
	if err != nil || len(left) != 1 {
		t.Errorf("got %v, %v; want the directory as it was", left, err)
	}
}

// TestUserState wants every change that loopd must not make to be seen, and its
// own branches and objects to be left out.
func TestUserState(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "os-adr")
	testenv.Must(t, makeUser(t.Context(), "os-adr", dir))
	before, err := userState(dir)
	testenv.Must(t, err)
	changed := func(name string, do func(path string) error) bool {
		path := filepath.Join(dir, name)
		old, readErr := os.ReadFile(path)
		testenv.Must(t, os.MkdirAll(filepath.Dir(path), 0o755))
		if err := do(path); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		now, err := userState(dir)
		testenv.Must(t, err)
		if readErr != nil {
			os.Remove(path)
		} else if err := os.WriteFile(path, old, 0o644); err != nil {
			t.Fatal(err)
		}
		return now != before
	}
	grow := func(path string) error {
		f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
		if err != nil {
			return err
		}
		_, err = f.WriteString("\n")
		f.Close()
		return err
	}
	for _, name := range []string{"hooks/hooks.json", "NOTES.md", "scratch.txt", ".git/index", ".git/HEAD", ".git/config", ".git/logs/HEAD", ".git/refs/heads/main", ".git/refs/heads/other"} {
		if !changed(name, grow) {
			t.Errorf("%s: a change is not seen", name)
		}
	}
	if !changed("bin/adr-find", func(p string) error { return os.Chmod(p, 0o600) }) {
		t.Error("a change of mode is not seen")
	}
	testenv.Must(t, os.Chmod(filepath.Join(dir, "bin/adr-find"), 0o755))
	for _, name := range []string{".git/refs/heads/loopd/x/1", ".git/objects/ab/cd"} {
		if changed(name, grow) {
			t.Errorf("%s: loopd's own is counted as the user's", name)
		}
	}
}

// sameEverywhere compares a rehearsal that was disturbed with one that was not.
func sameEverywhere(t *testing.T, r Result, results string) {
	t.Helper()
	w := undisturbed()
	if w.err != nil {
		t.Fatal(w.err)
	}
	testenv.Same(t, "other verdicts than undisturbed", verdictsOf(w.result), verdictsOf(r))
	if diff := cmp.Diff(w.result.GateE, r.GateE); diff != "" || r.Outcome != w.result.Outcome {
		t.Errorf("got outcome %s, want %s; evidence at the gate (-want +got):\n%s", r.Outcome, w.result.Outcome, diff)
	}
	got, err := rows(results)
	testenv.Must(t, err)
	for id, same := range got {
		if len(same) != 1 {
			t.Errorf("trial %s: got %d rows, want 1", id, len(same))
		}
	}
	testenv.Same(t, "other trials than undisturbed", measured(w.rows), measured(got))
	if !r.UserUntouched {
		t.Error("the user's repository was changed")
	}
}

// A suite of nine skills, without records, note and judge, is rehearsed by the
// same program.
func TestRehearsalWithoutHook(t *testing.T) {
	testenv.NightlyOnly(t, "a whole rehearsal")
	t.Parallel()
	s := Setup{
		Seed: 1, Agent: StandIn, Profile: loop.Fast, Suite: "nine-skills", Candidates: 2, Sessions: 160, Scenarios: []string{"L1", "C1", "E1", "N1"},
	}
	r, err := Run(t.Context(), options(s, filepath.Join(testenv.OpenDir(t), "work")))
	testenv.Must(t, err)
	if r.Mismatches != 0 || len(r.Candidates) != s.Candidates || r.Outcome == "" {
		t.Errorf("outcome %q, %d mismatches: %+v", r.Outcome, r.Mismatches, r.Candidates)
	}
	if r.ExpectNote != 0 || r.VerifiedNotes != 0 || r.Exposed != r.Valid || r.Valid < 60 {
		t.Errorf("%d notes expected, %d verified, %d exposed of %d valid", r.ExpectNote, r.VerifiedNotes, r.Exposed, r.Valid)
	}
	if r.Orphans != 0 || !r.UserUntouched {
		t.Errorf("got %d orphans, user's repository untouched %v", r.Orphans, r.UserUntouched)
	}
}
