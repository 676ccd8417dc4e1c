package agent

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"loopd/harness"
	"loopd/internal/isolate"
	"loopd/internal/testenv"
)

// childEnv makes the test binary run one session and say how it ended.
const childEnv = "AGENT_TEST_CHILD"

func TestMain(m *testing.M) {
	if isolate.IsHelper(os.Args) {
		os.Exit(isolate.HelperMain(os.Args, os.Environ()))
	}
	if paths, ok := strings.CutPrefix(os.Getenv(childEnv), "walled:"); ok {
		fmt.Println(childWalled(strings.Split(paths, ":")))
		os.Exit(1)
	}
	if dir := os.Getenv(childEnv); dir != "" {
		l := script(dir, `exec 3>fifo; echo started >&3; exec sleep 600`)
		l.Stdout, l.Stderr = io.Discard, io.Discard
		exit, err := Run(context.Background(), l)
		fmt.Println(exit, err)
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// script is a launch of a shell script in dir, which is also its marker.
func script(dir, text string) Launch {
	return Launch{
		Path: "/bin/sh", Argv0: "sh", Args: []string{"-c", text}, Dir: dir, Marker: dir,
		Env: []string{"PATH=/usr/bin:/bin", "HOME=" + dir}, Clocks: harness.Clocks{Total: time.Minute},
	}
}

type ran struct {
	Exit
	out, err string
}

func run(t *testing.T, ctx context.Context, b bounds, l Launch) ran {
	t.Helper()
	var out, errs bytes.Buffer
	l.Stdout, l.Stderr = &out, &errs
	exit, err := b.run(ctx, l)
	testenv.Must(t, err)
	if exit.Survivors != 0 {
		t.Errorf("%d survivors, want 0", exit.Survivors)
	}
	for _, p := range withMarker(t, l.Marker) {
		t.Errorf("process %d still carries the marker", p)
	}
	return ran{exit, out.String(), errs.String()}
}

func withMarker(t *testing.T, marker string) []int {
	t.Helper()
	all, err := processes()
	testenv.Must(t, err)
	var out []int
	for _, p := range all {
		if !p.zombie && p.pid != os.Getpid() && marked(p.pid, marker) {
			out = append(out, p.pid)
		}
	}
	return out
}

// within fails when a session took more than ten times its clock.
func within(t *testing.T, got ran, clock time.Duration) {
	t.Helper()
	if got.Wall < clock || got.Wall > 10*clock {
		t.Errorf("took %v, want between %v and ten times that", got.Wall, clock)
	}
}

func TestEnvironmentIsExactlyAsGiven(t *testing.T) {
	t.Parallel()
	l := script(t.TempDir(), "")
	l.Path, l.Args = "/usr/bin/env", nil
	got := run(t, t.Context(), defaults(), l)
	if want := strings.Join(l.Env, "\n") + "\n"; got.out != want {
		t.Errorf("environment: got %q, want %q", got.out, want)
	}
}

func TestPromptComesByStdinOnly(t *testing.T) {
	t.Parallel()
	l := script(t.TempDir(), `readlink /proc/self/fd/0; cat; tr '\0' ' ' </proc/$$/cmdline >&2; exit 7`)
	l.Stdin = []byte("raise the limit")
	got := run(t, t.Context(), defaults(), l)
	if want := "/memfd:input (deleted)\nraise the limit"; got.out != want {
		t.Errorf("stdout: got %q, want %q", got.out, want)
	}
	if strings.Contains(got.err, "limit") || !strings.HasPrefix(got.err, "sh -c ") {
		t.Errorf("command line: got %q, want no prompt in it", got.err)
	}
	if got.Code != 7 || got.Signal != "" || got.Cause != "" || got.LimitTime {
		t.Errorf("got %+v, want plain exit 7", got.Exit)
	}
	if got.MaxRSS < 1<<16 || got.CPU <= 0 {
		t.Errorf("max RSS %d, CPU %v, want both measured", got.MaxRSS, got.CPU)
	}
}

func TestSignalIsReported(t *testing.T) {
	t.Parallel()
	got := run(t, t.Context(), defaults(), script(t.TempDir(), `kill -9 $$`))
	if got.Code != 137 || got.Signal != "SIGKILL" {
		t.Errorf("got code %d signal %q, want 137 SIGKILL", got.Code, got.Signal)
	}
}

func TestClocks(t *testing.T) {
	t.Parallel()
	const (
		short   = 300 * time.Millisecond
		hang    = `exec sleep 600`
		started = `echo '{"type":"system","subtype":"init"}'; `
		ticking = `while :; do echo tick; sleep 0.02; done`
	)
	for _, tt := range []struct {
		name, script string
		clocks       harness.Clocks
		active       bool
		cause        harness.Class
		limit        bool
	}{
		{"nothing at all", hang, harness.Clocks{Startup: short, Idle: time.Hour, Total: time.Hour}, true, harness.StartupHang, false},
		{"hook line then nothing", `echo '{"type":"system","subtype":"hook_started"}'; ` + hang,
			harness.Clocks{Startup: short, Total: time.Hour}, false, harness.StartupHang, false},
		{"init then nothing", started + hang, harness.Clocks{Startup: short, Idle: 2 * short, Total: time.Hour}, false, harness.Hang, false},
		{"stderr is no sign of life", started + `while :; do echo tick >&2; sleep 0.02; done`,
			harness.Clocks{Idle: short, Total: time.Hour}, false, harness.Hang, false},
		{"working to the end", started + ticking, harness.Clocks{Idle: short, Total: 2 * short}, false, "", true},
		{"silent but active at the gateway", started + hang, harness.Clocks{Idle: short, Total: 2 * short}, true, "", true},
		{"stays after its result", started + `echo '{"is_error":false,"type":"result"}'; ` + hang,
			harness.Clocks{Idle: time.Hour, Total: time.Hour, Grace: short}, true, "", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			l := script(t.TempDir(), tt.script)
			l.Clocks = tt.clocks
			if tt.active {
				l.Activity = time.Now
			}
			got := run(t, t.Context(), defaults(), l)
			if got.Cause != tt.cause || got.LimitTime != tt.limit || got.Signal != "SIGTERM" {
				t.Errorf("got %+v, want cause %q, limit %t, SIGTERM", got.Exit, tt.cause, tt.limit)
			}
			within(t, got, short)
		})
	}
}

func TestTermIsFollowedByKill(t *testing.T) {
	t.Parallel()
	b := defaults()
	b.term = 300 * time.Millisecond
	l := script(t.TempDir(), `trap 'echo asked' TERM; echo ready; while :; do sleep 0.05; done`)
	l.Clocks = harness.Clocks{Startup: 200 * time.Millisecond, Total: time.Hour}
	got := run(t, t.Context(), b, l)
	if got.Signal != "SIGKILL" || !strings.Contains(got.out, "asked") {
		t.Errorf("got signal %q and output %q, want SIGTERM tried, then SIGKILL", got.Signal, got.out)
	}
	within(t, got, 500*time.Millisecond)
}

func TestCancelEndsTheSession(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	l := script(t.TempDir(), `echo ready; exec sleep 600`)
	var out bytes.Buffer
	l.Stderr, l.Stdout = io.Discard, writerFunc(func(p []byte) (int, error) {
		cancel()
		return out.Write(p)
	})
	exit, err := Run(ctx, l)
	if err != nil || exit.Cause != harness.Cancelled || exit.Survivors != 0 || out.String() != "ready\n" {
		t.Errorf("got %+v, %v, output %q, want cancelled after ready", exit, err, &out)
	}
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

func TestUnwritableOutputEndsTheSession(t *testing.T) {
	t.Parallel()
	full := errors.New("no space")
	l := script(t.TempDir(), `while :; do echo more; done`)
	l.Stderr, l.Stdout = io.Discard, writerFunc(func([]byte) (int, error) { return 0, full })
	exit, err := Run(t.Context(), l)
	if !errors.Is(err, full) || exit.Survivors != 0 {
		t.Errorf("got %+v, %v, want the writer's error and no survivor", exit, err)
	}
}

func TestSuspendedMachine(t *testing.T) {
	t.Parallel()
	b := defaults()
	b.tick = 10 * time.Millisecond
	begun := time.Now()
	b.wall = func() time.Time { // wakes up an hour later after 200 ms
		if time.Since(begun) > 200*time.Millisecond {
			return time.Now().Round(0).Add(time.Hour)
		}
		return time.Now().Round(0)
	}
	if got := run(t, t.Context(), b, script(t.TempDir(), `exec sleep 600`)); got.Cause != harness.Suspended {
		t.Errorf("while running: got %q, want suspended", got.Cause)
	}
	var calls int
	b.tick = time.Hour
	b.wall = func() time.Time { // the jump shows only after the process has ended
		calls++
		return time.Now().Round(0).Add(time.Duration(max(0, calls-2)) * time.Minute)
	}
	if got := run(t, t.Context(), b, script(t.TempDir(), `exit 0`)); got.Cause != harness.Suspended {
		t.Errorf("at the end: got %q, want suspended", got.Cause)
	}
}

func TestNothingSurvives(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"plain":         `sleep 601 &`,
		"nohup":         `nohup sleep 601 >&1 &`,
		"own session":   `setsid sleep 601 &`,
		"double fork":   `(sleep 601 & ) ; (setsid sh -c 'setsid sleep 601 & exit' &)`,
		"ignores term":  `setsid sh -c 'trap "" TERM INT HUP; while :; do sleep 601; done' &`,
		"clean env":     `setsid env -i sleep 601 &`,
		"keeps forking": `setsid sh -c 'while :; do sh -c "sleep 601 & exit"; sleep 0.01; done' &`,
		"stopped":       `setsid sh -c 'kill -STOP $$' &`,
	} {
		for _, end := range []string{"exit 0", `echo '{"type":"result"}'; exec sleep 601`, "kill -9 $$"} {
			t.Run(name+"/"+end, func(t *testing.T) {
				t.Parallel()
				l := script(t.TempDir(), text+"\necho out\n"+end)
				l.Clocks.Grace = 100 * time.Millisecond
				if got := run(t, t.Context(), defaults(), l); got.Wall > 20*time.Second || !strings.HasPrefix(got.out, "out\n") {
					t.Errorf("took %v with output %q", got.Wall, got.out)
				}
			})
		}
	}
}

// A process that drops environment, session, directory and parent is still
// known when it was seen while its parent lived.
func TestSeenOnceIsRemembered(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	testenv.Must(t, syscall.Mkfifo(filepath.Join(dir, "go"), 0o600))
	l := script(dir, `(cd / && exec env -i setsid sleep 601) & echo started; read line <go; exit 0`)
	r, w := io.Pipe()
	l.Stdout, l.Stderr = w, io.Discard
	s, err := defaults().start(l)
	testenv.Must(t, err)
	if line, err := bufio.NewReader(r).ReadString('\n'); err != nil || line != "started\n" {
		t.Fatalf("got %q, %v", line, err)
	}
	s.tree.look()
	testenv.Must(t, os.WriteFile(filepath.Join(dir, "go"), []byte("go\n"), 0))
	s.note(<-s.gone)
	live, _, err := s.tree.find()
	if err != nil || len(live) != 1 {
		t.Errorf("found %v, %v, want the one process that hides", live, err)
	}
	if left, err := s.tree.sweep(s.kill); left != 0 || err != nil {
		t.Errorf("%d left, %v, want 0", left, err)
	}
	s.drain()
	s.all.Wait()
}

// What loopd started itself is not swept, even with the session's marker: a
// hook run by hand in the same box, say.
func TestLoopdsOwnChildrenAreSpared(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	own := exec.Command("/bin/sh", "-c", "read line; exit 6")
	own.Env, own.Dir = []string{"HOME=" + dir}, dir
	in, err := own.StdinPipe()
	testenv.Must(t, err)
	l := script(dir, "echo ready; exit 0")
	l.Stderr, l.Stdout = io.Discard, writerFunc(func(p []byte) (int, error) { return len(p), own.Start() })
	if exit, err := Run(t.Context(), l); err != nil || exit.Survivors != 0 {
		t.Fatalf("got %+v, %v", exit, err)
	}
	in.Close()
	if err := own.Wait(); own.ProcessState.ExitCode() != 6 {
		t.Errorf("loopd's own child: %v, want it to end by itself with 6", err)
	}
}

// Not parallel: it counts all zombie children of the test process.
func TestOthersKeepTheirWaitStatusAndOrphansAreReaped(t *testing.T) {
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for range 10 {
				run(t, t.Context(), defaults(), script(t.TempDir(), `(sh -c 'exit 3' &); (setsid sh -c 'exit 4' &); (env -i setsid sh -c 'cd /; exit 5' &); exit 0`))
			}
		})
		all.Go(func() {
			for range 50 {
				if err := exec.Command("/bin/sh", "-c", "exit 0").Run(); err != nil {
					t.Errorf("another child: %v", err)
				}
			}
		})
	}
	all.Wait()
	// One that hid all it could be told by ends when it likes, and is reaped by
	// the next session after that.
	for living := true; living; {
		living = slices.ContainsFunc(children(t), func(p process) bool { return !p.zombie })
		run(t, t.Context(), defaults(), script(t.TempDir(), `exit 0`))
	}
	if left := children(t); len(left) != 0 {
		t.Errorf("unreaped orphans: %v", left)
	}
}

func children(t *testing.T) []process {
	t.Helper()
	all, err := processes()
	testenv.Must(t, err)
	return slices.DeleteFunc(all, func(p process) bool { return p.parent != os.Getpid() })
}

func TestLineOf20MB(t *testing.T) {
	t.Parallel()
	l := script(t.TempDir(), `printf '{"x":"'; head -c 20000000 /dev/zero | tr '\0' x; printf '","type":"result"}\n'; exec sleep 601`)
	l.Clocks.Grace = 50 * time.Millisecond
	got := run(t, t.Context(), defaults(), l)
	if want := 20_000_000 + len(`{"x":"","type":"result"}`+"\n"); len(got.out) != want || got.Cause != "" {
		t.Errorf("got %d bytes, cause %q, want %d and none", len(got.out), got.Cause, want)
	}
}

func TestSessionUser(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("changing users needs root")
	}
	l := script("/", `id -u; id -g; id -G; cat`)
	l.Env = append(l.Env, "TMPDIR=/nowhere-"+t.Name())
	l.Marker = "/nowhere-" + t.Name()
	l.UID, l.GID, l.Stdin = 65534, 65533, []byte("prompt")
	if got := run(t, t.Context(), defaults(), l); got.out != "65534\n65533\n65533\nprompt" {
		t.Errorf("got %q, want uid 65534, gid 65533, no other group, and the prompt", got.out)
	}
}

func TestRunRefuses(t *testing.T) {
	t.Parallel()
	for name, spoil := range map[string]func(*Launch){
		"no program":        func(l *Launch) { l.Path = "/nonexistent/agent" },
		"no total clock":    func(l *Launch) { l.Clocks.Total = 0 },
		"no output":         func(l *Launch) { l.Stdout = nil },
		"short marker":      func(l *Launch) { l.Marker = "PATH" },
		"marker not in env": func(l *Launch) { l.Marker = "somewhere-else" },
	} {
		l := script(t.TempDir(), "exit 0")
		l.Stdout, l.Stderr = io.Discard, io.Discard
		spoil(&l)
		if exit, err := Run(t.Context(), l); err == nil || !strings.HasPrefix(err.Error(), "start agent: ") {
			t.Errorf("%s: got %+v, %v, want an error", name, exit, err)
		}
	}
}

func TestProcessDiesWithLoopd(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	fifo := filepath.Join(dir, "fifo")
	testenv.Must(t, syscall.Mkfifo(fifo, 0o600))
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childEnv+"="+dir)
	testenv.Must(t, cmd.Start())
	f, err := os.Open(fifo) // opens when the session has opened it
	testenv.Must(t, err)
	defer f.Close()
	in := bufio.NewReader(f)
	if line, err := in.ReadString('\n'); err != nil {
		t.Fatalf("got %q, %v", line, err)
	}
	cmd.Process.Kill()
	cmd.Wait()
	if rest, err := io.ReadAll(in); err != nil || len(rest) != 0 {
		t.Errorf("got %q, %v, want the end of the stream when the session died", rest, err)
	}
}

func TestKillFindsLeftovers(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	cmd := exec.Command("sleep", "601")
	cmd.Env = []string{"HOME=" + dir}
	testenv.Must(t, cmd.Start())
	if n, err := Kill(dir); n != 1 || err != nil {
		t.Errorf("killed %d, %v, want 1", n, err)
	}
	if err := cmd.Wait(); err == nil || cmd.ProcessState.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
		t.Errorf("got %v, want killed", err)
	}
	if n, err := Kill("short"); n != 0 || err == nil {
		t.Errorf("short marker: killed %d, %v, want an error", n, err)
	}
}

func BenchmarkRun(b *testing.B) {
	l := script(b.TempDir(), "exit 0")
	l.Stdout, l.Stderr = io.Discard, io.Discard
	for b.Loop() {
		if _, err := Run(b.Context(), l); err != nil {
			b.Fatal(err)
		}
	}
}
