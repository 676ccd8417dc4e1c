package daemon_test

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"loopd/internal/daemon"
	"loopd/internal/testenv"
)

// stub is a loopd that pauses and does nothing else.
type stub struct{ live daemon.Live }

func (d stub) Live() daemon.Live { return d.live }

func (d stub) Do(_ context.Context, w daemon.Command, reason string) (string, error) {
	if w != daemon.Pause {
		return "", errors.New("nothing is paused or halted")
	}
	return "paused: " + reason, nil
}

// TestServer_Commands: a word reaches the loopd that runs, its refusal comes back as one,
// and where none runs that is said. A state directory whose name is too long for
// a socket is no different.
func TestServer_Commands(t *testing.T) {
	t.Parallel()
	for name, below := range map[string]string{"plain": "", "too long for a socket": strings.Repeat("a-long-name/", 12)} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join(t.TempDir(), below)
			testenv.Must(t, os.MkdirAll(dir, 0o700))
			client := daemon.Dial(dir)
			gone := func() {
				t.Helper()
				if _, err := client.Live(t.Context()); !as[*daemon.NotRunningError](err) {
					t.Errorf("nobody runs: got %v", err)
				}
			}
			gone()
			want := daemon.Live{PID: 4711, Verb: "serve", Phase: daemon.Idle, Until: time.Date(2026, 12, 1, 22, 30, 0, 0, time.UTC)}
			server, err := daemon.Serve(dir, stub{want})
			testenv.Must(t, err)
			if got, err := client.Live(t.Context()); err != nil || !cmp.Equal(got, want) {
				t.Errorf("got %+v, %v; want %+v", got, err, want)
			}
			if done, err := client.Do(t.Context(), daemon.Pause, "the line is needed"); err != nil || done != "paused: the line is needed" {
				t.Errorf("pause: %q, %v", done, err)
			}
			_, err = client.Do(t.Context(), daemon.Resume, "")
			if refused, ok := errors.AsType[*daemon.RefusedError](err); !ok || refused.Error() != "resume: nothing is paused or halted" {
				t.Errorf("resume: %v", err)
			}
			if _, err := client.Do(t.Context(), "erase", ""); err == nil {
				t.Error("a word that is none was taken")
			}
			if err := server.Close(); err != nil {
				t.Error(err)
			}
			gone()
		})
	}
}

func as[E error](err error) bool {
	_, ok := errors.AsType[E](err)
	return ok
}

// TestServe_SocketOfAKilledLoopd: the socket that a killed loopd left counts as nobody
// there, and the next one takes its place.
func TestServe_SocketOfAKilledLoopd(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: filepath.Join(dir, "control.sock")})
	testenv.Must(t, err)
	l.SetUnlinkOnClose(false)
	l.Close()
	if _, err := daemon.Dial(dir).Live(t.Context()); !as[*daemon.NotRunningError](err) {
		t.Errorf("got %v", err)
	}
	server, err := daemon.Serve(dir, stub{})
	testenv.Must(t, err)
	defer server.Close()
	info, err := os.Stat(filepath.Join(dir, "control.sock"))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v; want 0600", info.Mode(), err)
	}
}

// TestServer_LongReason: a word with a novel for a reason is refused.
func TestServer_LongReason(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	server, err := daemon.Serve(dir, stub{})
	testenv.Must(t, err)
	defer server.Close()
	if _, err := daemon.Dial(dir).Do(t.Context(), daemon.Pause, strings.Repeat("x", 1<<20)); err == nil {
		t.Error("a reason of a megabyte was taken")
	}
}
