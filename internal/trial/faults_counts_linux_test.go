package trial_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"loopd/harness"
	"loopd/internal/agent"
	"loopd/internal/fake"
	"loopd/internal/testenv"
)

// alive lists the processes that carry a mark in environment or command line.
func alive(t *testing.T, mark string) (out []string) {
	t.Helper()
	dirs := testenv.Glob(t, "/proc/[0-9]*")
	for _, dir := range dirs {
		if filepath.Base(dir) == fmt.Sprint(os.Getpid()) {
			continue
		}
		// A process that has ended meanwhile has neither.
		env, _ := os.ReadFile(filepath.Join(dir, "environ"))
		line, _ := os.ReadFile(filepath.Join(dir, "cmdline"))
		if bytes.Contains(env, []byte(mark)) || bytes.Contains(line, []byte(mark)) {
			out = append(out, fmt.Sprintf("%s %q", dir, line))
		}
	}
	return out
}

// wantGone gives what was killed a moment to be gone.
func wantGone(t *testing.T, mark string) {
	t.Helper()
	left := alive(t, mark)
	for deadline := time.Now().Add(5 * time.Second); len(left) > 0 && time.Now().Before(deadline); {
		left = alive(t, mark)
	}
	for _, p := range left {
		t.Errorf("still there: %s", p)
	}
}

// leaving starts every kind of child that does not want to end, each of which
// sleeps so long.
func leaving(length, then string) []harness.Step {
	sleep := "sleep " + length + " >/dev/null 2>&1"
	return []harness.Step{{Bash: "setsid " + sleep + " & nohup " + sleep + " & (trap '' TERM HUP; " + sleep + ") & (setsid sh -c '" + sleep + " &' &); " + then}}
}

// many runs n plays, a few side by side, and hands each trial over.
func (b *bench) many(n int, p play, each func(i int, got harness.Trial)) {
	b.t.Helper()
	specs := make([]harness.Spec, n)
	for i := range specs {
		specs[i] = b.spec("N1", "haiku", i+1, p)
	}
	e := b.executor("N1")
	var group sync.WaitGroup
	var next atomic.Int64
	for range 4 {
		group.Go(func() {
			for {
				i := int(next.Add(1)) - 1
				if i >= n {
					return
				}
				got, err := e.Run(b.t.Context(), specs[i])
				if err != nil {
					b.t.Error(err)
					continue
				}
				each(i, got)
			}
		})
	}
	group.Wait()
}

// TestRun_HungSessionsAreGone: a session that hangs, with children that do not want
// to end, is ended within its limit and two seconds, and nothing is left of it.
func TestRun_HungSessionsAreGone(t *testing.T) {
	t.Parallel()
	n := testenv.Count(4, 100)
	b := newBench(t)
	b.o.Suite.Launch.Clocks.Idle = 2 * time.Second
	length := fmt.Sprintf("621.%d", os.Getpid())
	var gone atomic.Int64
	b.many(n, play{fault: fake.FaultHangLater, steps: append(leaving(length, "echo left"), harness.Step{Text: "Done."})}, func(i int, got harness.Trial) {
		if got.Class != harness.Hang || got.Passed() || got.Result.Outcome != harness.Invalid {
			t.Errorf("session %d: got %s (%s) %s, want hang and no outcome", i, got.Class, got.Why, got.Result.Outcome)
		}
		if got.Survivors == 0 {
			gone.Add(1)
		}
	})
	wantGone(t, length)
	wantGone(t, b.o.Sandboxes)
	b.wantClean(harness.Trial{})
	say(t, "hung sessions gone: %d of %d", gone.Load(), n)
}

// TestRun_ChildrenAreGone: sessions that come to their end leave children of every
// kind, and none outlives the trial.
func TestRun_ChildrenAreGone(t *testing.T) {
	t.Parallel()
	n := testenv.Count(8, 200)
	b := newBench(t)
	length := fmt.Sprintf("622.%d", os.Getpid())
	b.many(n, play{steps: append(leaving(length, "echo left"), harness.Step{Text: "Done."})}, func(i int, got harness.Trial) {
		if got.Class != harness.Valid || got.Survivors != 0 {
			t.Errorf("session %d: got %s (%s), %d survivors", i, got.Class, got.Why, got.Survivors)
		}
	})
	wantGone(t, length)
	wantGone(t, b.o.Sandboxes)
	b.wantClean(harness.Trial{})
	say(t, "sessions with children that do not want to end: %d, processes left: 0", n)
}

// killedIn names, in a child's environment, the directory of the loopd that is to
// be killed.
const killedIn = "FAULTS_KILLED_IN"

// TestBeKilled is the loopd that the next test kills in the middle of a trial.
func TestBeKilled(t *testing.T) {
	dir := os.Getenv(killedIn)
	if dir == "" {
		return // nobody asked for one
	}
	b := newBench(t)
	b.o.Store, b.o.Sandboxes = filepath.Join(dir, "trials"), filepath.Join(dir, "boxes")
	steps := append(leaving("623."+filepath.Base(dir), "echo on >'"+filepath.Join(dir, "fifo")+"'"), harness.Step{Text: "Done."})
	got := b.one("N1", play{fault: fake.FaultHangLater, steps: steps})
	t.Fatalf("the session ended: %+v", got)
}

// TestNew_EndsLeftovers kills loopd in the middle of a trial. What the
// kernel does not end, the next loopd does before its first session.
func TestNew_EndsLeftovers(t *testing.T) {
	t.Parallel()
	n := testenv.Count(5, 50)
	for range n {
		killOne(t)
	}
	say(t, "kills of loopd in mid-trial: %d, processes left: 0", n)
}

func killOne(t *testing.T) {
	t.Helper()
	dir := testenv.OpenDir(t)
	fifo := filepath.Join(dir, "fifo")
	testenv.Must(t, syscall.Mkfifo(fifo, 0o600))
	testenv.Must(t, os.Mkdir(filepath.Join(dir, "boxes"), 0o755))
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, os.Args[0], "-test.run=^TestBeKilled$")
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	cmd.Env, cmd.WaitDelay = append(os.Environ(), killedIn+"="+dir), time.Second
	testenv.Must(t, cmd.Start())
	f, err := os.OpenFile(fifo, os.O_RDWR, 0) // opens at once; only the session writes
	testenv.Must(t, err)
	defer f.Close()
	deadline := f.SetReadDeadline(time.Now().Add(time.Minute))
	_, err = f.Read(make([]byte, 2))
	// The shell that wrote to the pipe may not have started the last of them yet.
	running := 0
	for deadline := time.Now().Add(time.Minute); running < 4 && time.Now().Before(deadline) && err == nil; {
		running = len(alive(t, "623."+filepath.Base(dir)))
	}
	kill := cmd.Process.Kill()
	_ = cmd.Wait() // killed
	if deadline != nil || err != nil || kill != nil || running < 4 {
		t.Fatalf("%d children of the session run (%v, %v, %v), want 4\n%s", running, deadline, err, kill, said.String())
	}
	b := newBench(t)
	b.o.Store = filepath.Join(dir, "trials")
	b.executor("N1") // the next loopd
	wantGone(t, "623."+filepath.Base(dir))
	wantGone(t, dir)
	if left, err := filepath.Glob(filepath.Join(dir, "trials", "*", "running")); err != nil || len(left) > 0 {
		t.Errorf("notes left: %v (%v)", left, err)
	}
}

// TestRun_NoFaultIsCounted plants the stand-in's faults again and again: not one is a
// pass or a fail.
func TestRun_NoFaultIsCounted(t *testing.T) {
	t.Parallel()
	if !testenv.Nightly() {
		return // the matrix plants each once
	}
	planted, most := 0, 520
	for _, m := range modes() {
		p, ok := m.playFor(standIn)
		if !ok || m.want == harness.Valid || m.twice || m.set != nil || len(m.before) > 0 {
			continue
		}
		b := bed(t, standIn, m, agent.Binary{})
		b.many(min(20, most-planted), p, func(i int, got harness.Trial) {
			if got.Class == harness.Valid || got.Passed() || got.Result.Outcome != harness.Invalid || len(got.Result.Checks) > 0 {
				t.Errorf("%s, session %d: got %s %s, want it counted for nothing", m.name, i, got.Class, got.Result.Outcome)
			}
		})
		planted += min(20, most-planted)
	}
	if planted < 500 {
		t.Fatalf("%d faults were planted, want 500 or more", planted)
	}
	say(t, "faults planted: %d, counted: 0", planted)
}
