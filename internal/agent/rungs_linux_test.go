package agent

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"loopd/harness"
	"loopd/internal/gateway"
	"loopd/internal/isolate"
	"loopd/internal/testenv"
)

// onRung is a box on that rung for the user sessions run as, or a skip.
func onRung(t *testing.T, rung isolate.Backend) walled {
	t.Helper()
	uid := sessionUser()
	walls, err := isolate.Probe(t.Context(), isolate.ProbeOptions{Backend: rung, Path: os.Getenv("PATH"), UID: uid, GID: uid})
	testenv.Need(t, string(rung), err)
	w := newWalled(t)
	w.walls = walls
	return w
}

// launchOn is the launch of an enclosure that need not be bubblewrap's.
func (w walled) launchOn(t *testing.T, e isolate.Session) Launch {
	t.Helper()
	l := w.launch(t, e)
	l.Argv0 = ""
	l.PIDNamespace = w.walls.Backend() == isolate.Bwrap
	return l
}

// ported is a session's way to a scripted API by the gateway's port.
func ported(t *testing.T, api http.Handler) (*gateway.Proxy, *url.URL) {
	t.Helper()
	server := httptest.NewServer(api)
	t.Cleanup(server.Close)
	to, err := url.Parse(server.URL)
	testenv.Must(t, err)
	g, err := gateway.Start(context.Background(), to, gateway.Credential{Header: gateway.HeaderKey, Value: "real-secret"})
	testenv.Must(t, err)
	t.Cleanup(func() { g.Close() })
	return g.Open(gateway.Session{}), g.URL()
}

// A landlocked session has no process table of its own: the sweep finds what it
// leaves behind, whatever it did to hide.
func TestLandlockedSessionLeavesNoProcess(t *testing.T) {
	t.Parallel()
	w := onRung(t, isolate.Landlock)
	own := fmt.Sprintf(".%d", os.Getpid())
	fifo := filepath.Join(w.box.Work, "fifo")
	l := w.launchOn(t, isolate.Session{Agent: "/bin/sh", Args: []string{"-c", strings.ReplaceAll(`cd `+w.box.Work+`; mkfifo fifo; setsid sleep 621@ & nohup sleep 622@ >/dev/null 2>&1 &
		(setsid sh -c 'sleep 623@ & exit' &) ; (sh -c 'trap "" TERM HUP; env -i sleep 624@ & echo x >fifo; sleep 625@' &) ; read x <fifo; cat; exit 5`, "@", own)}})
	l.Stdin = []byte("raise the limit")
	got := run(t, t.Context(), defaults(), l)
	if got.Code != 5 || got.Cause != "" || got.out != "raise the limit" || got.Survivors != 0 {
		t.Errorf("got %+v\n%s%s (%s)", got.Exit, got.out, got.err, fifo)
	}
	for _, seconds := range []string{"621", "622", "623", "624", "625"} {
		if pid := running(t, "sleep\x00"+seconds+own+"\x00"); pid != 0 {
			t.Errorf("sleep %s lives on as process %d", seconds, pid)
		}
	}
}

// A whole session of the real CLI on the rungs that have a port.
func TestRealCLIOnEachRung(t *testing.T) {
	t.Parallel()
	for _, rung := range []isolate.Backend{isolate.Landlock} {
		t.Run(string(rung), func(t *testing.T) {
			t.Parallel()
			path := testenv.NeedClaude(t)
			w := onRung(t, rung)
			cli, err := Pin(t.Context(), path, filepath.Join(filepath.Dir(w.box.Root), "cache"))
			testenv.Must(t, err)
			length := fmt.Sprintf("627.%d", os.Getpid())
			tap, to := ported(t, scriptedAPI(`(setsid sleep `+length+` &); echo hay | grep hay; find . -maxdepth 0; git log --format=%s; env | grep -c 'SANDBOX_RUNTIME\|PROXY'; cat `+w.box.Root+`/../cache/pinned.json 2>/dev/null | wc -c`))
			port, err := strconv.Atoi(to.Port())
			testenv.Must(t, err)
			values := map[string]string{
				"PATH": os.Getenv("PATH"), "LANG": "C.UTF-8", "ANTHROPIC_API_KEY": tap.Key(), "ANTHROPIC_BASE_URL": to.String(),
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
			limits := isolate.Limits{Processes: 1024, Disk: 4 << 30}
			l := w.launchOn(t, isolate.Session{Agent: cli.Path, Args: args, Env: env, Port: port, Limits: limits})
			l.Stdin, l.MaxMemory = []byte("Look around, please."), 4<<30
			l.Clocks = harness.Clocks{Startup: time.Minute, Idle: time.Minute, Total: time.Minute, Grace: 10 * time.Second}
			got := run(t, t.Context(), defaults(), l)
			for _, want := range []string{`"All done."`, `"content":"hay\n.\nImport project\n0\n0"`, `"cwd":"` + w.box.Work + `"`, `"path":"` + w.box.Plugin + `"`} {
				if got.Code != 0 || got.Cause != "" || got.Survivors != 0 || !strings.Contains(got.out, want) {
					t.Errorf("got %+v\n%s\n%s\nwant %s in it", got.Exit, got.out, got.err, want)
				}
			}
			tap.Close()
			if r := tap.Report(); !r.Whole["toolu_01"] || !r.Whole["msg_end_turn"] {
				t.Errorf("report: %+v, want both answers whole", r)
			}
			if pid := running(t, "sleep\x00"+length+"\x00"); pid != 0 {
				t.Errorf("process %d lives on", pid)
			}
			t.Logf("%s on %s: wall %v, CPU %v, %d MB", cli.Version, w.walls, got.Wall, got.CPU, got.MaxRSS>>20)
		})
	}
}

// A session that takes more than it may is ended, and its class says of what.
func TestSessionThatTakesTooMuch(t *testing.T) {
	t.Parallel()
	quick := defaults()
	quick.tick = 20 * time.Millisecond
	for _, rung := range []isolate.Backend{isolate.Bwrap, isolate.Landlock} {
		for _, tt := range []struct {
			name, script string
			memory       int64
			overrun      func() harness.Class
			want         harness.Class
		}{
			{"memory of one", `perl -e '$x = "x" x 120_000_000; sleep 60'`, 100 << 20, nil, harness.OutOfMemory},
			{"memory of several", `for i in 1 2 3; do perl -e '$x = "x" x 40_000_000; sleep 60' & done; wait`, 100 << 20, nil, harness.OutOfMemory},
			{"memory within the limit", `perl -e '$x = "x" x 40_000_000; select undef, undef, undef, .3'`, 100 << 20, nil, ""},
			{"something else", `sleep 60`, 0, func() harness.Class { return harness.Oversize }, harness.Oversize},
		} {
			w := onRung(t, rung)
			l := w.launchOn(t, isolate.Session{Agent: "/bin/sh", Args: []string{"-c", tt.script}})
			l.MaxMemory, l.Overrun = tt.memory, tt.overrun
			got := run(t, t.Context(), quick, l)
			if got.Cause != tt.want || got.Survivors != 0 || got.LimitTime {
				t.Errorf("%s, %s: got %+v, want %q\n%s", rung, tt.name, got.Exit, tt.want, got.err)
			}
		}
	}
}
