package trial_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"loopd/harness"
	"loopd/internal/isolate"
	"loopd/internal/testenv"
	"loopd/internal/trial"
)

// says is a hook that prints the text, which may hold substitutions of sh.
func says(text string) string {
	return "#!/bin/sh\nprintf '{\"hookSpecificOutput\":{\"hookEventName\":\"SessionStart\",\"additionalContext\":\"[os-adr] %s\"}}' \"" + text + "\"\n"
}

// counting is a note that depends on the project.
const counting = `This project has $(ls "${CLAUDE_PROJECT_DIR:-.}/docs/adr" | grep -c '^[0-9]') decision records. Look there first.`

// computing makes the bench's hook that script, and its note a computed one.
func (b *bench) computing(hook string) *bench {
	b.t.Helper()
	plugin := bundledPlugin(b.t)
	w := wordingOf(b.t, plugin)
	w.Plugin["hooks/session-start"] = harness.File{Mode: 0o755, Data: []byte(hook)}
	w.Note = ""
	b.o.Wording = func(string) (trial.Wording, error) { return w, nil }
	b.o.Suite.Launch.Note = harness.Note{Kind: harness.NoteComputed, Envelope: harness.EnvelopeJSON}
	return b
}

// everyAgent runs a test with the stand-in and the real CLI, in the open and
// within walls.
func everyAgent(t *testing.T, test func(t *testing.T, b *bench)) {
	for name, setup := range map[string]struct{ real, walled bool }{
		"stand-in":         {false, false},
		"stand-in, walled": {false, true},
		"real CLI":         {true, false},
		"real CLI, walled": {true, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, forger(t, setup.real, setup.walled))
		})
	}
}

// A computed note is what the hook prints in a fresh copy of each project.
func TestComputedNote_Delivered(t *testing.T) {
	t.Parallel()
	everyAgent(t, func(t *testing.T, b *bench) {
		b.computing(says(counting))
		e := b.executor("R2", "X1", "N1")
		for id, want := range map[string]string{"R2": "has 6 decision", "X1": "has 5 decision"} {
			got, err := e.Run(t.Context(), b.spec(id, "haiku", 1, play{}))
			testenv.Must(t, err)
			if got.Class != harness.Valid || !got.NoteVerified || !got.Exposed {
				t.Errorf("%s: got %s (%s), verified %v, exposed %v", id, got.Class, got.Why, got.NoteVerified, got.Exposed)
			}
			if note := string(b.kept(got.ID)[trial.NoteFile]); !strings.Contains(note, want) {
				t.Errorf("%s: the note kept is %q, want one that %s", id, note, want)
			}
			b.wantClean(got)
		}
	})
}

// A session whose hook says another thing than it does in a fresh copy has not
// got the wording's note.
func TestComputedNote_Differs(t *testing.T) {
	t.Parallel()
	everyAgent(t, func(t *testing.T, b *bench) {
		b.computing(says(counting))
		e := b.executor("R2")
		rep := 0
		for name, lay := range map[string]func(*isolate.Box) error{
			"another project": func(box *isolate.Box) error {
				records, err := filepath.Glob(filepath.Join(box.Work, "docs/adr/0001*"))
				if err != nil || len(records) != 1 {
					return fmt.Errorf("records: %v, %v", records, err)
				}
				return os.Remove(records[0])
			},
			"more words": inPlugin("hooks/session-start", swap("Look there first.", "Look there first. And well.")),
			"fails":      inPlugin("hooks/session-start", to("#!/bin/sh\nexit 1\n")),
		} {
			rep++
			got, err := e.Run(t.Context(), b.spec("R2", "haiku", rep, play{lay: lay}))
			testenv.Must(t, err)
			if got.Class != harness.HookNotDelivered || got.NoteVerified {
				t.Errorf("%s: got %s (%s), want hook_not_delivered", name, got.Class, got.Why)
			}
			b.wantClean(got)
		}
	})
}

// Sessions of a wording in one project share the answer, however many there are.
func TestComputedNote_AskedForOnce(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	log := filepath.Join(t.TempDir(), "runs")
	b.computing(says(counting) + "echo . >> " + log + "\n")
	e := b.executor("R2", "R3") // both start from the fixture as it is
	for _, id := range []string{"R2", "R3", "R2"} {
		if got, err := e.Run(t.Context(), b.spec(id, "haiku", len(b.plays)+1, play{})); err != nil || got.Class != harness.Valid {
			t.Fatalf("got %s (%s), %v", got.Class, got.Why, err)
		}
	}
	data, err := os.ReadFile(log)
	if runs := strings.Count(string(data), "."); err != nil || runs != 2+3 {
		t.Errorf("the hook ran %d times (%v), want twice to find out and once in each of 3 sessions", runs, err)
	}
}

// A hook with no one text is refused before anything is spent.
func TestComputedNote_Varies(t *testing.T) {
	t.Parallel()
	everyAgent(t, func(t *testing.T, b *bench) {
		for name, text := range map[string]string{
			"time":  "It is $(date +%s.%N).",
			"place": "Here is $(pwd).",
		} {
			b.computing(says(text))
			got, err := b.executor("R2").Run(t.Context(), b.spec("R2", "haiku", 1, play{}))
			if err == nil || !strings.Contains(err.Error(), "different texts in two fresh copies") || !strings.Contains(err.Error(), "is ") {
				t.Errorf("%s: got %v, want that the texts differ", name, err)
			}
			if len(b.keys) > 0 || got.Class == harness.Valid {
				t.Errorf("%s: a session was run: %s", name, got.Class)
			}
			b.wantClean(got)
		}
	})
}

// A hook that delivers nothing in a fresh copy makes trials void and spends
// nothing.
func TestComputedNote_NoneCostsNoSession(t *testing.T) {
	t.Parallel()
	everyAgent(t, func(t *testing.T, b *bench) {
		for name, c := range map[string]struct {
			hook string
			want harness.Class
		}{
			"fails":       {"#!/bin/sh\nexit 1\n", harness.HookNotDelivered},
			"silent":      {"#!/bin/sh\nexit 0\n", harness.HookNotDelivered},
			"wrong event": {strings.ReplaceAll(says("x"), "SessionStart", "SessionEnd"), harness.HookNotDelivered},
			"plain text":  {"#!/bin/sh\necho '[os-adr] x'\n", harness.HookNotDelivered},
			"too long":    {says("$(head -c 10001 /dev/zero | tr '\\000' n)"), harness.HookTruncated},
		} {
			b.computing(c.hook)
			got, err := b.executor("R2").Run(t.Context(), b.spec("R2", "haiku", 1, play{}))
			testenv.Must(t, err)
			if len(b.keys) > 0 || got.Class != c.want || got.Why == "" || got.Result.Outcome != harness.Invalid {
				t.Errorf("%s: got %s (%s) after %d sessions, want %s and none", name, got.Class, got.Why, len(b.keys), c.want)
			}
			b.wantClean(got)
		}
	})
}

// Calling off while the note is found out is no answer to remember.
func TestComputedNote_CalledOff(t *testing.T) {
	t.Parallel()
	b := newBench(t).computing(says(counting))
	e := b.executor("R2")
	ctx, stop := context.WithCancel(t.Context())
	stop()
	if got, err := e.Run(ctx, b.spec("R2", "haiku", 1, play{})); err != nil || got.Class != harness.Cancelled {
		t.Fatalf("got %s (%s), %v", got.Class, got.Why, err)
	}
	if got, err := e.Run(t.Context(), b.spec("R2", "haiku", 1, play{})); err != nil || got.Class != harness.Valid {
		t.Errorf("got %s (%s), %v", got.Class, got.Why, err)
	}
}
