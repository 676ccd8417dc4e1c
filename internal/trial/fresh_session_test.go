package trial_test

import (
	"encoding/json"

	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"loopd/harness"
	"loopd/internal/agent"
	"loopd/internal/testenv"
)

// tellsOfItself is an agent that prints what it finds when it starts, and
// leaves something in every place of its own for the next one to find.
const tellsOfItself = `#!/bin/sh
state=$(find . -name .git -prune -o -type f -print | sort | xargs sha256sum | sha256sum | cut -c 1-64)
found=$(ls -A "$PWD" "$HOME" "$CLAUDE_CONFIG_DIR" "$TMPDIR" | grep -c left-behind)
for d in "$PWD" "$HOME" "$CLAUDE_CONFIG_DIR" "$TMPDIR"; do echo x > "$d/left-behind"; done
rm -rf "$PWD"/* "$PWD/.git"
printf '{"pid":%s,"parent":%s,"dir":"%s","home":"%s","found":%s,"prompt":%s,"within":"%s","state":"%s","args":"%s"}\n' \
	$$ "$PPID" "$PWD" "$HOME" "$found" "$(wc -c)" "$CLAUDECODE" "$state" "$*"
`

// told is what such an agent prints.
type toldOfItself struct {
	PID, Parent, Found, Prompt int
	Dir, Home, Within, Args    string
	State                      string // of the project, a digest
}

// TestRun_FreshCopyForEachRep runs two reps of two scenarios, the second pair after
// the first has left things behind and removed the project. Each is a process of
// its own.
func TestRun_FreshCopyForEachRep(t *testing.T) { // req 11, 13, 15, 53
	t.Parallel()
	b := newBench(t)
	path := filepath.Join(testenv.OpenDir(t), "claude")
	testenv.Must(t, os.WriteFile(path, []byte(tellsOfItself), 0o755))
	b.o.Agent = agent.Binary{Path: path}
	e := b.executor("R3", "N1")
	var all []toldOfItself
	for rep := 1; rep <= 2; rep++ {
		for _, id := range []string{"R3", "N1"} {
			got, err := e.Run(t.Context(), b.spec(id, "haiku", rep, play{}))
			testenv.Must(t, err)
			all = append(all, b.wantFresh(got))
		}
	}
	for i, s := range all {
		if len(s.State) != 64 || s.State != all[i%2].State {
			t.Errorf("session %d began with %q, the first of its scenario with %q", i, s.State, all[i%2].State)
		}
		for _, other := range all[:i] {
			if s.PID == other.PID || s.Dir == other.Dir || s.Home == other.Home {
				t.Errorf("two sessions share a process or a place: %+v, %+v", s, other)
			}
		}
	}
}

// wantFresh checks that the session was a headless process which loopd itself
// started, on the scenario's project as it is laid out, with nothing of another
// session in sight.
func (b *bench) wantFresh(got harness.Trial) toldOfItself {
	b.t.Helper()
	files := b.kept(got.ID)
	var s toldOfItself
	if err := json.Unmarshal(files["transcript.jsonl"], &s); err != nil {
		b.t.Fatalf("%v: %s", err, files["transcript.jsonl"])
	}
	args := strings.Fields(s.Args)
	if !slices.Contains(args, "-p") || !slices.Contains(args, "stream-json") || strings.Contains(s.Args, "--resume") || strings.Contains(s.Args, "--continue") {
		b.t.Errorf("not a headless session of its own: %s", s.Args)
	}
	if s.Parent != os.Getpid() || s.Within != "" {
		b.t.Errorf("started by %d within %q, want by loopd, %d, within no session", s.Parent, s.Within, os.Getpid())
	}
	if s.Found != 0 || !strings.HasPrefix(s.Dir, b.o.Sandboxes) || s.Prompt == 0 {
		b.t.Errorf("not in a fresh copy with a task: %+v", s)
	}
	return s
}
