package trial_test

import (
	"context"
	"os"
	"strings"
	"testing"

	"loopd/frozen"
	"loopd/harness"
	"loopd/internal/isolate"
	"loopd/internal/testenv"
)

// onRung gives sessions of a bench those walls, and the stand-in within them.
func (b *bench) onRung(rung isolate.Backend) *bench {
	b.t.Helper()
	if rung == isolate.None {
		return b
	}
	b.o.Isolation, b.o.Agent.Path, b.o.Sandboxes, b.o.Hidden = rungWalls(b.t, rung, 0), isolate.SelfAgent, testenv.OpenDir(b.t), []string{b.dir}
	return b
}

// A landlocked session is measured as any other: the note and the plugin reach
// it, the gateway serves it, and a perfect run passes.
func TestRun_Landlock(t *testing.T) {
	t.Parallel()
	b := newBench(t).onRung(isolate.Landlock)
	got := b.one("R3", play{})
	if got.Class != harness.Valid || !got.Passed() || !got.NoteVerified || !got.Exposed || !strings.HasPrefix(got.Isolation, "landlock ") {
		t.Errorf("got %s (%s), passed %v, note %v, exposed %v, isolation %q", got.Class, got.Why, got.Passed(), got.NoteVerified, got.Exposed, got.Isolation)
	}
	b.wantClean(got)
}

// onSealed are operations on a sealed file, and a directory of them.
func onSealed(dir string) map[string]string {
	f := dir + "/rubric.md"
	return map[string]string{
		"write":            "echo x > " + f,
		"append":           "echo x >> " + f,
		"truncate":         "truncate -s 0 " + f,
		"remove":           "rm -f " + f,
		"rename":           "mv " + f + " " + f + ".old",
		"hard link":        "ln " + f + " linked && echo x >> linked",
		"new file":         "touch " + dir + "/scenarios/new.md",
		"symbolic link":    "ln -sfn /dev/null " + f,
		"replace":          "cp README.md over && mv over " + f,
		"mode":             "chmod 606 " + f,
		"mode of a folder": "chmod 711 " + dir + "/scenarios",
	}
}

// passesLandlock are the operations of these that Landlock does not stop, as
// the table of SECURITY.md says.
func passesLandlock(name string) bool { return strings.HasPrefix(name, "mode") }

// TestRun_AttacksOnTheSeal has sessions change what measures, on each rung. What a
// rung stops leaves the session evidence; what it does not stop is found by the
// seal, and the trial is void.
func TestRun_AttacksOnTheSeal(t *testing.T) {
	t.Parallel()
	for _, rung := range []isolate.Backend{isolate.Bwrap, isolate.Landlock, isolate.None} {
		for name := range onSealed("") {
			stopped := rung == isolate.Bwrap || rung == isolate.Landlock && !passesLandlock(name)
			t.Run(string(rung)+", "+name, func(t *testing.T) {
				t.Parallel()
				b := newBench(t).onRung(rung)
				attack := onSealed(b.dir)[name]
				got := b.one("N1", play{steps: []harness.Step{{Bash: attack + "; true"}, {Text: "Done."}}})
				drift, err := b.o.Seal(context.WithoutCancel(t.Context()))
				testenv.Must(t, err)
				if stopped {
					wantUntouched(t, got, drift)
					return
				}
				b.wantInvalid(got, harness.DriftedSeal)
				if drift == nil {
					t.Error("the attack did not work")
				}
			})
		}
	}
}

func wantUntouched(t *testing.T, got harness.Trial, drift *frozen.Drift) {
	t.Helper()
	if got.Class != harness.Valid || drift != nil {
		t.Errorf("got %s (%s), drift %v, want evidence and the seal whole", got.Class, got.Why, drift)
	}
}

// A session whose files outgrow the limit is ended and void.
func TestRun_BoxFull(t *testing.T) {
	t.Parallel()
	for _, rung := range []isolate.Backend{isolate.Bwrap, isolate.Landlock} {
		t.Run(string(rung), func(t *testing.T) {
			t.Parallel()
			b := newBench(t).onRung(rung)
			b.o.Limits = isolate.Limits{Disk: 20 << 20}
			got := b.one("N1", play{steps: []harness.Step{{Bash: `head -c 40000000 /dev/zero > "$TMPDIR/big"; sleep 60`}, {Text: "Done."}}})
			b.wantInvalid(got, harness.Oversize)
			if got.Seconds > 30 {
				t.Errorf("took %.0f s to notice", got.Seconds)
			}
			b.wantClean(got)
		})
	}
}

// What the settings let sessions read is there, at its own path.
func TestRun_ReadPaths(t *testing.T) {
	t.Parallel()
	for _, rung := range []isolate.Backend{isolate.Bwrap, isolate.Landlock} {
		t.Run(string(rung), func(t *testing.T) {
			t.Parallel()
			b := newBench(t).onRung(rung)
			shown := testenv.OpenDir(t)
			testenv.Must(t, os.WriteFile(shown+"/greet", []byte("#!/bin/sh\necho greetings\n"), 0o755))
			steps := []harness.Step{{Bash: shown + "/greet > greeting; touch " + shown + "/new; true"}, {Text: "Done."}}
			for _, read := range [][]string{nil, {shown}} {
				b.o.Read = read
				got := b.one("N1", play{steps: steps})
				c, err := changes(b.kept(got.ID)["changes.json"])
				testenv.Must(t, err)
				if said := string(c.Written["greeting"].Data); (said == "greetings\n") != (read != nil) || got.Class != harness.Valid {
					t.Errorf("read %q: got %q, class %s (%s)", read, said, got.Class, got.Why)
				}
				if _, err := os.Stat(shown + "/new"); err == nil {
					t.Errorf("read %q: the session wrote there", read)
				}
			}
		})
	}
}
