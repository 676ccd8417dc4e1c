package daemon_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"loopd/internal/daemon"
	"loopd/internal/testenv"
)

// heard keeps the words it was told. One that takes long is done when it is.
type heard struct {
	stub
	mu    sync.Mutex
	words []daemon.Command
	slow  time.Duration
}

func (h *heard) Do(ctx context.Context, w daemon.Command, _ string) (string, error) {
	h.mu.Lock()
	h.words = append(h.words, w)
	h.mu.Unlock()
	select {
	case <-time.After(h.slow):
		return "done", nil
	case <-ctx.Done():
		return "", ctx.Err()
	}
}

// TestServer_EveryCommandArrives, and nothing else does.
func TestServer_EveryCommandArrives(t *testing.T) {
	t.Parallel()
	dir, h := t.TempDir(), &heard{}
	serve(t, dir, h)
	all := []daemon.Command{daemon.Pause, daemon.Resume, daemon.Halt, daemon.Finish, daemon.Look}
	for _, w := range append([]daemon.Command{"erase"}, all...) {
		if _, err := daemon.Dial(dir).Do(t.Context(), w, ""); (err == nil) != (w != "erase") {
			t.Errorf("%s: %v", w, err)
		}
	}
	if !slices.Equal(h.words, all) || !slices.Equal(daemon.Commands(), all) {
		t.Errorf("heard %v of %v, want %v", h.words, daemon.Commands(), all)
	}
}

func serve(t *testing.T, dir string, s daemon.Service) *daemon.Server {
	t.Helper()
	server, err := daemon.Serve(dir, s)
	testenv.Must(t, err)
	t.Cleanup(func() {
		if err := server.Close(); err != nil {
			t.Error(err)
		}
	})
	return server
}

// TestServer_HostileClients: a thousand connections that say nothing, one that never ends
// its line and one that never ends its word keep nobody from being answered, and
// are shut out; a word that takes longer than they may is done.
func TestServer_HostileClients(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	serve(t, dir, &heard{stub: stub{daemon.Live{PID: 4711}}, slow: 6 * time.Second})
	dial := func(say string) net.Conn {
		c, err := net.Dial("unix", filepath.Join(dir, "control.sock"))
		testenv.Must(t, err)
		t.Cleanup(func() { c.Close() })
		_, _ = io.WriteString(c, say) // it may be shut out before the end
		return c
	}
	var shut []net.Conn
	for range 1000 {
		shut = append(shut, dial(""))
	}
	shut = append(shut, dial("GET /"+strings.Repeat("x", 10<<20)),
		dial("POST /do/pause HTTP/1.1\r\nHost: loopd\r\nContent-Length: 50\r\n\r\n{\"reason\":\""))
	if got, err := daemon.Dial(dir).Live(t.Context()); err != nil || got.PID != 4711 {
		t.Errorf("nobody is answered meanwhile: %+v, %v", got, err)
	}
	if done, err := daemon.Dial(dir).Do(t.Context(), daemon.Finish, ""); err != nil || done != "done" {
		t.Errorf("a word that takes 6 s: %q, %v", done, err)
	}
	for i, c := range shut {
		testenv.Must(t, c.SetReadDeadline(time.Now().Add(20*time.Second)))
		if _, err := io.Copy(io.Discard, c); errors.Is(err, os.ErrDeadlineExceeded) {
			t.Fatalf("connection %d is open after %s", i, "20 s")
		}
	}
}

// TestClient_SilentServer: one that listens and does not answer is told from none.
func TestClient_SilentServer(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	l, err := net.Listen("unix", filepath.Join(dir, "control.sock"))
	testenv.Must(t, err)
	defer l.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if _, err := daemon.Dial(dir).Live(ctx); !as[*daemon.SilentError](err) || !strings.Contains(err.Error(), dir) {
		t.Errorf("got %v, want *SilentError", err)
	}
	if _, err := daemon.Dial(dir).Do(ctx, daemon.Pause, ""); !as[*daemon.SilentError](err) {
		t.Errorf("a word: got %v, want *SilentError", err)
	}
}

// TestServer_ExpiredCommand: what a loopd that was stopped finds in its socket is not
// done when nobody waits for it any more.
func TestServer_ExpiredCommand(t *testing.T) {
	t.Parallel()
	dir, h := t.TempDir(), &heard{}
	serve(t, dir, h)
	c, err := net.Dial("unix", filepath.Join(dir, "control.sock"))
	testenv.Must(t, err)
	defer c.Close()
	body := fmt.Sprintf(`{"until":%q}`, time.Now().Add(-time.Minute).Format(time.RFC3339))
	fmt.Fprintf(c, "POST /do/halt HTTP/1.1\r\nHost: loopd\r\nConnection: close\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
	answer, err := io.ReadAll(c)
	if err != nil || !strings.Contains(string(answer), "said too long ago") || len(h.words) != 0 {
		t.Errorf("heard %v, %v; answered %s", h.words, err, answer)
	}
}

// TestServe_PathInUse: what is in the way is named.
func TestServe_PathInUse(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	testenv.Must(t, os.MkdirAll(filepath.Join(dir, "control.sock", "full"), 0o700))
	for _, dir := range []string{dir, filepath.Join(dir, "nowhere"), filepath.Join(dir, strings.Repeat("nowhere/", 20))} {
		if _, err := daemon.Serve(dir, stub{}); err == nil || !strings.HasPrefix(err.Error(), "open control socket: ") {
			t.Errorf("%s: got %v", dir, err)
		}
	}
}

// TestServe_ShortPathDirectory: it must be this user's alone, and where it is gone,
// as after a restart of the machine, nobody runs.
func TestServe_ShortPathDirectory(t *testing.T) {
	tmp := t.TempDir()
	t.Setenv("TMPDIR", tmp)
	base := filepath.Join(tmp, fmt.Sprintf("loopd-%d", os.Getuid()))
	dir := filepath.Join(t.TempDir(), strings.Repeat("long/", 30))
	must := func(err error) {
		t.Helper()
		testenv.Must(t, err)
	}
	must(os.MkdirAll(dir, 0o700))
	server, err := daemon.Serve(dir, stub{})
	must(err)
	_, err = daemon.Dial(dir).Live(t.Context())
	must(err)
	must(server.Close())
	refused := func(how string) {
		t.Helper()
		_, served := daemon.Serve(dir, stub{})
		_, asked := daemon.Dial(dir).Live(t.Context())
		for _, err := range []error{served, asked} {
			if err == nil || !strings.Contains(err.Error(), "is not a directory of this user alone") {
				t.Errorf("%s: got %v", how, err)
			}
		}
	}
	must(os.Chmod(base, 0o755))
	refused("others can enter it")
	must(os.RemoveAll(base))
	must(os.WriteFile(base, nil, 0o700))
	refused("a file")
	must(os.Remove(base))
	must(os.Symlink(t.TempDir(), base))
	refused("a link")
	must(os.Remove(base))
	if _, err := daemon.Dial(dir).Live(t.Context()); !as[*daemon.NotRunningError](err) {
		t.Errorf("it is gone: got %v", err)
	}
	must(os.Mkdir(base, 0o700))
	if os.Getuid() == 0 {
		must(os.Chown(base, 65534, -1))
		refused("somebody else's")
	}
}
