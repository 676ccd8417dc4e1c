package agent

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"loopd/harness"
	"loopd/internal/gateway"
	"loopd/internal/isolate"
	"loopd/internal/testenv"
)

// walled is walls and a box, for the user sessions run as.
type walled struct {
	walls isolate.Sandbox
	box   *isolate.Box
	uid   int
}

// sessionUser is nobody for root and 0, no change, for others.
func sessionUser() int {
	if os.Geteuid() == 0 {
		return 65534
	}
	return 0
}

func newWalled(t *testing.T) walled {
	t.Helper()
	w := walled{uid: sessionUser()}
	var err error
	w.walls, err = isolate.Probe(t.Context(), isolate.ProbeOptions{Path: os.Getenv("PATH"), UID: w.uid, GID: w.uid})
	testenv.Need(t, "bwrap", err)
	base := testenv.OpenDir(t)
	testenv.Must(t, os.Chmod(base, 0o711))
	fixture := harness.Tree{"README.md": {Mode: 0o644, Data: []byte("# Postbox\n")}}
	git, err := isolate.NewGitTemplate(t.Context(), fixture)
	testenv.Must(t, err)
	w.box, err = isolate.New(t.Context(), isolate.Options{
		Base: base, Fixture: fixture, Git: git, PluginName: "letters", UID: w.uid, GID: w.uid,
		Plugin: harness.Tree{".claude-plugin/plugin.json": {Mode: 0o644, Data: []byte(`{"name":"letters","version":"1.0.0"}`)}},
	})
	testenv.Must(t, err)
	t.Cleanup(func() { w.box.Remove() })
	return w
}

// launch is the launch of a wrapped program.
func (w walled) launch(t *testing.T, e isolate.Session) Launch {
	t.Helper()
	e.Box = w.box
	if e.Env == nil {
		e.Env = []string{"PATH=/usr/bin:/bin", "HOME=" + w.box.Home}
	}
	wrapped, err := w.walls.Wrap(e)
	testenv.Must(t, err)
	t.Cleanup(func() { wrapped.Close() })
	return Launch{
		Path: wrapped.Path, Argv0: "bwrap", Args: wrapped.Args, Env: wrapped.Env, Files: wrapped.Files, PIDNamespace: true,
		Dir: w.box.Work, Marker: w.box.Root, Clocks: harness.Clocks{Total: time.Minute}, UID: w.uid, GID: w.uid,
	}
}

func (w walled) script(t *testing.T, text string) Launch {
	t.Helper()
	return w.launch(t, isolate.Session{Agent: "/bin/sh", Args: []string{"-c", text}})
}

func TestWalledSessionLeavesNoProcess(t *testing.T) {
	t.Parallel()
	w := newWalled(t)
	own := fmt.Sprintf(".%d", os.Getpid()) // tells these from the sleeps of others
	l := w.script(t, strings.ReplaceAll(`setsid sleep 601@ & nohup sleep 602@ >/dev/null 2>&1 & (setsid sh -c 'sleep 603@ & exit' &) ; (sh -c 'trap "" TERM HUP; env -i sleep 604@ & sleep 605@' &)
		while [ $(ls -d /proc/[0-9]*/ | wc -l) -lt 7 ]; do :; done; cat; exit 5`, "@", own))
	l.Stdin = []byte("raise the limit")
	got := run(t, t.Context(), defaults(), l)
	if got.Code != 5 || got.Signal != "" || got.Cause != "" || got.out != "raise the limit" {
		t.Errorf("got %+v\n%s%s", got.Exit, got.out, got.err)
	}
	for _, seconds := range []string{"601", "602", "603", "604", "605"} {
		if pid := running(t, "sleep\x00"+seconds+own+"\x00"); pid != 0 {
			t.Errorf("sleep %s lives on as process %d", seconds, pid)
		}
	}
}

// running finds a process by its whole command line, whoever's it is.
func running(t *testing.T, line string) int {
	t.Helper()
	all, err := processes()
	testenv.Must(t, err)
	for _, p := range all {
		if data, err := os.ReadFile(procPath(p.pid, "cmdline")); err == nil && string(data) == line {
			return p.pid
		}
	}
	return 0
}

func TestWalledExit(t *testing.T) {
	t.Parallel()
	quick := defaults()
	quick.term = 300 * time.Millisecond
	for _, tt := range []struct {
		name, script string
		clocks       harness.Clocks
		code         int
		signal       string
		out          string
	}{
		{"plain", "exit 9", harness.Clocks{Total: time.Minute}, 9, "", ""},
		{"killed inside", "kill -9 $$", harness.Clocks{Total: time.Minute}, 137, "SIGKILL", ""},
		{"no signal", "exit 250", harness.Clocks{Total: time.Minute}, 250, "", ""},
		{"asked to end", `trap 'echo asked; exit 3' TERM; echo up; while :; do sleep 0.01; done`, harness.Clocks{Total: time.Second}, 3, "", "up\nasked\n"},
		{"ends when asked", `echo up; exec sleep 606`, harness.Clocks{Total: time.Second}, 143, "SIGTERM", "up\n"},
		{"does not listen", `trap '' TERM; echo up; while :; do sleep 0.01; done`, harness.Clocks{Total: time.Second}, 137, "SIGKILL", "up\n"},
	} {
		w := newWalled(t)
		l := w.script(t, tt.script)
		l.Clocks = tt.clocks
		got := run(t, t.Context(), quick, l)
		if got.Code != tt.code || got.Signal != tt.signal || got.out != tt.out || got.LimitTime != (tt.clocks.Total < time.Minute) {
			t.Errorf("%s: got %+v %q %q, want code %d, signal %q, output %q", tt.name, got.Exit, got.out, got.err, tt.code, tt.signal, tt.out)
		}
	}
}

// childWalled runs a session in a box by its paths, until it is killed.
func childWalled(paths []string) error {
	box := &isolate.Box{Root: paths[0], Work: paths[1], Plugin: paths[2], Home: paths[3], Config: paths[4], Tmp: paths[5]}
	uid := sessionUser()
	w, err := isolate.Probe(context.Background(), isolate.ProbeOptions{Path: os.Getenv("PATH"), UID: uid, GID: uid})
	if err != nil {
		return err
	}
	wrapped, err := w.Wrap(isolate.Session{
		Box: box, Agent: "/bin/sh", Args: []string{"-c", `exec 3>fifo; (setsid env -i sleep "$1" &); echo started >&3; sleep 608`, "sh", paths[6]},
		Env: []string{"PATH=/usr/bin:/bin", "HOME=" + box.Home},
	})
	if err != nil {
		return err
	}
	exit, err := Run(context.Background(), Launch{
		Path: wrapped.Path, Argv0: "bwrap", Args: wrapped.Args, Env: wrapped.Env, Files: wrapped.Files, PIDNamespace: true,
		Dir: box.Work, Marker: box.Root, Clocks: harness.Clocks{Total: time.Minute}, Stdout: io.Discard, Stderr: os.Stderr,
		UID: uid, GID: uid,
	})
	return fmt.Errorf("session ended: %+v, %v", exit, err)
}

func TestWalledSessionDiesWithLoopd(t *testing.T) {
	t.Parallel()
	w := newWalled(t)
	fifo := filepath.Join(w.box.Work, "fifo")
	testenv.Must(t, errors.Join(syscall.Mkfifo(fifo, 0o666), os.Chmod(fifo, 0o666)))
	cmd := exec.Command(os.Args[0])
	b, length := w.box, fmt.Sprintf("608.%d", os.Getpid())
	cmd.Env = append(os.Environ(), childEnv+"=walled:"+strings.Join([]string{b.Root, b.Work, b.Plugin, b.Home, b.Config, b.Tmp, length}, ":"))
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	testenv.Must(t, cmd.Start())
	f, err := os.OpenFile(fifo, os.O_RDWR, 0) // opens at once; only the session writes
	testenv.Must(t, err)
	defer f.Close()
	testenv.Must(t, f.SetReadDeadline(time.Now().Add(30*time.Second)))
	if line, err := bufio.NewReader(f).ReadString('\n'); err != nil {
		cmd.Process.Kill()
		cmd.Wait()
		t.Fatalf("got %q, %v\n%s", line, err, said.String())
	}
	cmd.Process.Kill()
	cmd.Wait()
	for deadline := time.Now().Add(10 * time.Second); running(t, "sleep\x00"+length+"\x00") != 0; {
		if time.Now().After(deadline) {
			t.Fatalf("the session outlives loopd\n%s", said.String())
		}
	}
}

// What the walls hide from the wait for them is counted all the same.
func TestWalledSessionIsMeasured(t *testing.T) {
	t.Parallel()
	w := newWalled(t)
	got := run(t, t.Context(), defaults(), w.script(t, `(timeout 0.5 sh -c 'while :; do :; done'); head -c 60000000 /dev/zero | tail -c 50000000 | wc -c`))
	if got.CPU < 100*time.Millisecond || got.MaxRSS < 40<<20 {
		t.Errorf("CPU %v, max RSS %d MB, want the work inside in both\n%s", got.CPU, got.MaxRSS>>20, got.err)
	}
}

// tapped is a session's way to a scripted API, with the door handed on.
func tapped(t *testing.T, api http.Handler) (*gateway.Proxy, *os.File) {
	t.Helper()
	server := httptest.NewServer(api)
	t.Cleanup(server.Close)
	to, err := url.Parse(server.URL)
	testenv.Must(t, err)
	g, err := gateway.Start(context.Background(), to, gateway.Credential{Header: gateway.HeaderKey, Value: "real-secret"})
	testenv.Must(t, err)
	t.Cleanup(func() { g.Close() })
	tap := g.Open(gateway.Session{})
	door, err := tap.Handoff()
	testenv.Must(t, err)
	return tap, door
}

func TestDoorIsTheOnlyWayOut(t *testing.T) {
	t.Parallel()
	w := newWalled(t)
	tap, door := tapped(t, http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(rw, "answer to %s with %s", r.URL.Path, r.Header.Get("X-Api-Key"))
	}))
	script := `cd /; to=${ANTHROPIC_BASE_URL#http://}; exec 3<>/dev/tcp/${to%:*}/${to#*:}
		printf 'GET /v1/models HTTP/1.0\r\nX-Api-Key: %s\r\n\r\n' "$ANTHROPIC_API_KEY" >&3; tail -n 1 <&3; echo
		tail -n +2 /proc/net/tcp | wc -l; ls /proc/self/fd | wc -l; for f in /proc/[0-9]*/fd/*; do
			case $f in */fd/1) ;; *) readlink $f;; esac; done | sort -u | grep socket`
	l := w.launch(t, isolate.Session{
		Agent: "/bin/bash", Args: []string{"-c", script}, Handoff: door,
		Env: []string{"PATH=/usr/bin:/bin", "HOME=" + w.box.Home, "ANTHROPIC_BASE_URL=http://127.0.0.1:1", "ANTHROPIC_API_KEY=" + tap.Key()},
	})
	got := run(t, t.Context(), defaults(), l)
	if got.Code != 0 || !strings.HasPrefix(got.out, "answer to /v1/models with real-secret\n") || strings.Count(got.out, "socket:") != 1 {
		t.Errorf("got %+v\n%s%s\nwant one connection, of the session's own making", got.Exit, got.out, got.err)
	}
	tap.Close()
	if r := tap.Report(); !r.HandedOver || r.Requests != 1 {
		t.Errorf("report: %+v", r)
	}
}

// A whole session of the real CLI behind walls, over the door.
func TestRealCLIWalled(t *testing.T) {
	t.Parallel()
	path := testenv.NeedClaude(t)
	w := newWalled(t)
	cli, err := Pin(t.Context(), path, filepath.Join(filepath.Dir(w.box.Root), "cache"))
	testenv.Must(t, err)
	length := fmt.Sprintf("607.%d", os.Getpid())
	tap, door := tapped(t, scriptedAPI(`id -un; (setsid sleep `+length+` &); nohup sleep 607 >/dev/null 2>&1 & echo hay | grep hay; find . -maxdepth 0; git log --format=%s; tr '\0' ' ' </proc/1/cmdline`))
	values := map[string]string{
		"PATH": os.Getenv("PATH"), "LANG": "C.UTF-8", "ANTHROPIC_API_KEY": tap.Key(), "ANTHROPIC_BASE_URL": "http://127.0.0.1",
		"DISABLE_AUTOUPDATER": "1", "DISABLE_TELEMETRY": "1", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
		"HOME": w.box.Home, "CLAUDE_CONFIG_DIR": w.box.Config, "TMPDIR": w.box.Tmp,
	}
	profile := harness.Launch{MaxTurns: 5, DisallowedTools: []string{"WebSearch", "WebFetch"}}
	for name := range values {
		profile.Env = append(profile.Env, name)
	}
	env, err := Environ(profile, values)
	testenv.Must(t, err)
	args := Command(profile, CommandOptions{Model: "claude-haiku-4-5-20251001", PluginDir: w.box.Plugin})
	l := w.launch(t, isolate.Session{Agent: cli.Path, Args: args, Env: env, Handoff: door})
	l.Stdin = []byte("Look around, please.")
	l.Clocks = harness.Clocks{Startup: time.Minute, Idle: time.Minute, Total: 2 * time.Minute, Grace: 10 * time.Second}
	got := run(t, t.Context(), defaults(), l)
	want := []string{`"All done."`, `"content":"user\nhay\n.\nImport project\n`, `"cwd":"` + w.box.Work + `"`, `"path":"` + w.box.Plugin + `"`}
	for _, want := range want {
		if got.Code != 0 || got.Cause != "" || !strings.Contains(got.out, want) {
			t.Errorf("got %+v\n%s\n%s\nwant %s in it", got.Exit, got.out, got.err, want)
		}
	}
	tap.Close()
	if r := tap.Report(); !r.HandedOver || !r.Whole["toolu_01"] || !r.Whole["msg_end_turn"] {
		t.Errorf("report: %+v, want both answers whole", r)
	}
	if pid := running(t, "sleep\x00"+length+"\x00"); pid != 0 {
		t.Errorf("process %d lives on", pid)
	}
	t.Logf("%s: wall %v, CPU %v, %d MB", cli.Version, got.Wall, got.CPU, got.MaxRSS>>20)
}
