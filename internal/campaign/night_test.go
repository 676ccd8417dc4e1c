package campaign

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"loopd/fixtures"
	"loopd/frozen"
	"loopd/harness"
	"loopd/internal/testenv"
	"loopd/loop"
)

// night is a user's repository, a state directory and a sealed suite, with
// sessions that are drawn instead of run.
type night struct {
	t      *testing.T
	root   string // of the user's repository
	plugin string
	home   Home
	sealed Sealed
	log    bytes.Buffer
	clock  *clock
	before map[string]string // the user's repository
}

// clock goes on by a second at every look, so that times repeat.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(time.Second)
	return c.now
}

// newNight makes the repository with the bundled plugin in a subdirectory,
// committed, with a staged, a changed and an unknown file beside.
func newNight(t *testing.T, subdir string) *night {
	t.Helper()
	n := &night{t: t, root: filepath.Join(t.TempDir(), "user"), clock: &clock{now: time.Now().Truncate(time.Second)}}
	n.plugin = filepath.Join(n.root, subdir)
	testenv.Must(t, os.MkdirAll(filepath.Dir(n.plugin), 0o755))
	bundled, err := fs.Sub(fixtures.Plugins(), "os-adr")
	testenv.Must(t, err)
	testenv.Must(t, frozen.Materialise(bundled, fixtures.PluginMode, n.plugin))
	n.home = Home{Dir: filepath.Join(t.TempDir(), "state")}
	testenv.Must(t, n.home.Make())
	if n.sealed, err = n.home.OpenBundled(t.Context()); err != nil {
		t.Fatal(err)
	}
	n.git("init", "--quiet", "--initial-branch=main")
	n.put("README.md", "Ours.\n")
	n.commit()
	return n
}

// commit commits everything, leaves the worktree busy and remembers it.
func (n *night) commit() {
	n.t.Helper()
	n.git("add", "--all")
	n.git("commit", "--quiet", "--message", "wording 1")
	n.put("staged.txt", "staged\n")
	n.git("add", "staged.txt")
	n.put("README.md", "Ours, changed.\n")
	n.put("unknown.txt", "unknown\n")
	n.before = n.user()
}

func (n *night) put(name, text string) {
	n.t.Helper()
	testenv.Write(n.t, filepath.Join(n.root, name), text)
}

// git runs git in the user's repository.
func (n *night) git(args ...string) string {
	n.t.Helper()
	return n.gitIn(n.root, args...)
}

func (n *night) gitIn(dir string, args ...string) string {
	n.t.Helper()
	return testenv.Git(n.t, dir, args...)
}

// user is everything in the user's repository that must stay as it is: all but
// objects and the branches that are loopd's.
func (n *night) user() map[string]string {
	n.t.Helper()
	return testenv.Snapshot(n.t, n.root, ".git/objects", ".git/refs/heads/loopd")
}

func (n *night) options() Options {
	return Options{
		Home: n.home, Plugin: n.plugin, Sealed: n.sealed, AgentName: "agent 1", AgentSHA: "sha", Credential: "simulated", Simulated: true,
		Now: n.clock.Now, Log: slog.New(slog.NewTextHandler(&n.log, nil)),
	}
}

func (n *night) open() *Campaign {
	n.t.Helper()
	c, err := Open(n.t.Context(), n.options())
	testenv.Must(n.t, err)
	return c
}

func (n *night) close(c *Campaign) {
	n.t.Helper()
	testenv.Must(n.t, c.Close())
}

// settings are a small campaign: two cells, a guard, room for a few candidates.
func settings() loop.Settings {
	set := loop.DefaultSettings(160)
	set.MaxCandidates = 4
	return set
}

func (n *night) begin(c *Campaign) {
	n.t.Helper()
	cells := []harness.Cell{{Scenario: "R1", Tier: "sonnet"}, {Scenario: "W1", Tier: "haiku"}}
	guards := []harness.Cell{{Scenario: "N1", Tier: "haiku"}}
	testenv.Must(n.t, c.Begin(n.t.Context(), settings(), Grid{Objective: cells, Guards: guards}))
}

// run drives the campaign as far as it goes.
func (n *night) run(c *Campaign) {
	n.t.Helper()
	testenv.Must(n.t, c.Run(n.t.Context(), loop.Loop{Executor: drawn{c}, Parallel: 1}))
}

// better is the sentence that makes the drawn sessions pass.
const better = "Run it first whenever a change touches settled behaviour."

// drawn stands for sessions: a wording with the better sentence nearly always
// passes, any other rarely.
type drawn struct{ c *Campaign }

var _ loop.Executor = drawn{}

// Run draws the outcome of a spec.
func (d drawn) Run(_ context.Context, spec harness.Spec) (harness.Trial, error) {
	tree, err := d.c.Wordings.Tree(spec.Slot.Wording)
	if err != nil {
		return harness.Trial{}, err
	}
	rate := .1
	for _, f := range tree {
		if strings.Contains(string(f.Data), better) {
			rate = .95
		}
	}
	if spec.Slot.Cell.Scenario == "N1" {
		rate = 1
	}
	sum := sha256.Sum256(fmt.Appendf(nil, "%s %d", spec.Slot.Cell, spec.Slot.Rep))
	outcome := harness.Fail
	if float64(binary.BigEndian.Uint64(sum[:8])>>11)/(1<<53) < rate {
		outcome = harness.Pass
	}
	return harness.Trial{
		ID: spec.TrialID(), Spec: spec, Class: harness.Valid, Instrument: instrument(d.c.parts()), Started: d.c.Now().UTC(),
		Result: harness.Result{
			Kind: harness.Unprompted, Case: spec.Slot.Cell.Scenario, Outcome: outcome,
			Checks: []harness.Check{{Name: harness.AxisA, Outcome: outcome}, {Name: harness.AxisB, Outcome: outcome}},
		},
	}, nil
}

const findSkill = "skills/find-decision/SKILL.md"

// anchor is where sentences are put in the bundled find-decision skill.
const anchor = "about why something was decided."

// sentence is a candidate that adds one sentence to the skill.
func sentence(t *testing.T, text string) Dropped {
	t.Helper()
	return sentenceOf(text)
}

func sentenceOf(text string) Dropped {
	patch := `--- a/` + findSkill + `
+++ b/` + findSkill + `
@@ -3 +3 @@
-description: Searches the architecture decision records of a project. Use for questions about why something was decided.
+description: Searches the architecture decision records of a project. Use for questions ` + anchor + " " + text + "\n"
	return Dropped{Patch: patch, Rationale: "try: " + text}
}

func (n *night) drop(d Dropped) string {
	n.t.Helper()
	name, err := n.home.Drop(d)
	testenv.Must(n.t, err)
	return name
}
