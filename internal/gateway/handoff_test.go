package gateway

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"loopd/internal/testenv"
)

// rights sends descriptors through a door and returns what the gateway says:
// true when it took the hand-over.
func rights(t *testing.T, door *os.File, files ...*os.File) bool {
	t.Helper()
	fds := make([]int, len(files))
	for i, f := range files {
		fds[i] = int(f.Fd())
	}
	if err := unix.Sendmsg(int(door.Fd()), []byte{1}, unix.UnixRights(fds...), nil, unix.MSG_NOSIGNAL); err != nil {
		return false
	}
	n, _ := door.Read(make([]byte, 1))
	return n == 1
}

// listening returns a socket that listens at an address.
func listening(t *testing.T, network, address string) *os.File {
	t.Helper()
	l, err := net.Listen(network, address)
	testenv.Must(t, err)
	defer l.Close() // the file is a copy
	f, err := l.(interface{ File() (*os.File, error) }).File()
	testenv.Must(t, err)
	t.Cleanup(func() { f.Close() })
	return f
}

func openDoor(t *testing.T, tap *Proxy) *os.File {
	t.Helper()
	door, err := tap.Handoff()
	testenv.Must(t, err)
	t.Cleanup(func() { door.Close() })
	return door
}

func address(t *testing.T, f *os.File) string {
	t.Helper()
	name, err := unix.Getsockname(int(f.Fd()))
	testenv.Must(t, err)
	return fmt.Sprintf("http://127.0.0.1:%d", name.(*unix.SockaddrInet4).Port)
}

func post(t *testing.T, url, key string) (status int, err error) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url+"/v1/messages", strings.NewReader("{}"))
	testenv.Must(t, err)
	req.Header.Set("X-Api-Key", key)
	resp, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(req)
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()
	_, err = io.ReadAll(resp.Body)
	return resp.StatusCode, err
}

func TestHandoff_ServesItsSessionOnly(t *testing.T) {
	t.Parallel()
	g := start(t, Credential{}, func(w http.ResponseWriter, _ *http.Request) {
		eventStream(w)
		io.WriteString(w, stream("msg_1", "model-5", "toolu_1"))
	})
	tap, other := g.Open(session()), g.Open(session())
	door := openDoor(t, tap)
	if tap.Report().HandedOver {
		t.Error("handed over before anything was")
	}
	socket := listening(t, "tcp4", "127.0.0.1:0")
	url := address(t, socket) // before: asking for the number makes a socket block
	if !rights(t, door, socket) {
		t.Fatal("the hand-over was refused")
	}
	for _, tt := range []struct {
		key  string
		want int
	}{{tap.Key(), http.StatusOK}, {other.Key(), http.StatusUnauthorized}, {"", http.StatusUnauthorized}} {
		if got, err := post(t, url, tt.key); got != tt.want || err != nil {
			t.Errorf("key %q: got %d, %v, want %d", tt.key, got, err, tt.want)
		}
	}
	if rights(t, door, listening(t, "tcp4", "127.0.0.1:0")) {
		t.Error("a second hand-over was taken")
	}
	if _, err := tap.Handoff(); err == nil {
		t.Error("a second door was opened")
	}
	tap.Close()
	if got := tap.Report(); !got.HandedOver || got.Requests != 1 || !got.Whole["toolu_1"] || !got.Whole["msg_1"] {
		t.Errorf("got %+v, want one request handed over and its answer whole", got)
	}
	socket.Close() // the last copy, had the gateway not closed its own
	if got, err := post(t, url, tap.Key()); err == nil {
		t.Errorf("after Close: got %d, want nobody there", got)
	}
	if got := other.Report(); got.Requests != 0 || got.HandedOver {
		t.Errorf("the other session's report: %+v", got)
	}
}

func TestHandoff_Refuses(t *testing.T) {
	t.Parallel()
	g := start(t, Credential{}, func(http.ResponseWriter, *http.Request) { t.Error("somebody was served") })
	good := func() *os.File { return listening(t, "tcp4", "127.0.0.1:0") }
	idle := func() *os.File { // bound, but not listening
		fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM, 0)
		if err == nil {
			err = unix.Bind(fd, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}})
		}
		testenv.Must(t, err)
		f := os.NewFile(uintptr(fd), "socket")
		t.Cleanup(func() { f.Close() })
		return f
	}
	null, err := os.Open(os.DevNull)
	testenv.Must(t, err)
	defer null.Close()
	for _, tt := range []struct {
		name  string
		files []*os.File
	}{
		{"nothing", nil},
		{"two sockets", []*os.File{good(), good()}},
		{"no socket", []*os.File{null}},
		{"a socket that does not listen", []*os.File{idle()}},
		{"every address", []*os.File{listening(t, "tcp4", "0.0.0.0:0")}},
		{"another address", []*os.File{listening(t, "tcp4", "127.0.0.2:0")}},
		{"a unix socket", []*os.File{listening(t, "unix", t.TempDir()+"/s")}},
	} {
		tap := g.Open(session())
		if rights(t, openDoor(t, tap), tt.files...) {
			t.Errorf("%s: was taken", tt.name)
		}
		tap.Close()
		if tap.Report().HandedOver {
			t.Errorf("%s: counts as handed over", tt.name)
		}
	}
}

func TestHandoff_ClosedSession(t *testing.T) {
	t.Parallel()
	g := start(t, Credential{}, func(http.ResponseWriter, *http.Request) { t.Error("somebody was served") })
	unused := g.Open(session())
	door := openDoor(t, unused)
	unused.Close() // must not wait for a hand-over that never comes
	if rights(t, door, listening(t, "tcp4", "127.0.0.1:0")) {
		t.Error("a closed session took a hand-over")
	}
	if _, err := unused.Handoff(); err == nil {
		t.Error("a closed session opened a door")
	}
}

// What breaks off in the middle was served, but not whole.
func TestProxy_WholeAnswers(t *testing.T) {
	t.Parallel()
	text := stream("msg_1", "model-5", "toolu_1")
	stop := strings.Index(text, "event: message_stop")
	for _, tt := range []struct {
		name, text string
		breaks     bool
		whole      int
	}{
		{"complete", text, false, 2},
		{"no end", text[:stop], false, 0},
		{"connection breaks at the end", text[:stop], true, 0},
		{"connection breaks after the end", text, true, 0},
	} {
		g := start(t, Credential{}, func(w http.ResponseWriter, _ *http.Request) {
			eventStream(w)
			io.WriteString(w, tt.text)
			w.(http.Flusher).Flush()
			if tt.breaks {
				panic(http.ErrAbortHandler)
			}
		})
		tap := g.Open(session())
		resp := send(t, t.Context(), g, tap.Key(), "/v1/messages", "{}")
		if _, err := io.ReadAll(resp.Body); (err != nil) != tt.breaks {
			t.Errorf("%s: read: %v", tt.name, err)
		}
		tap.Close()
		if got := tap.Report(); len(got.Whole) != tt.whole || len(got.MessageIDs) != 1 || len(got.ToolIDs) != 1 {
			t.Errorf("%s: got %+v, want %d whole", tt.name, got, tt.whole)
		}
	}
}
