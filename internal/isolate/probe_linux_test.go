package isolate

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"loopd/internal/testenv"
)

// wallsOrSkip probes bubblewrap; where it is required, its absence fails.
func wallsOrSkip(t testing.TB, uid int) Sandbox {
	t.Helper()
	w, err := Probe(t.Context(), ProbeOptions{Path: os.Getenv("PATH"), UID: uid, GID: uid})
	testenv.Need(t, "bwrap", err)
	return w
}

func wallBox(t testing.TB, uid int) *Box {
	t.Helper()
	o := options(t, testenv.OpenDir(t))
	o.UID, o.GID = uid, uid
	return newBox(t, o)
}

// fakeBwrap is a directory with a bwrap that answers as a script says.
func fakeBwrap(t *testing.T, script string) string {
	t.Helper()
	dir := t.TempDir()
	testenv.Must(t, os.WriteFile(filepath.Join(dir, "bwrap"), []byte("#!/bin/sh\n"+script), 0o755))
	return dir
}

// settings is a directory of kernel settings.
func settings(t *testing.T, values map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, value := range values {
		p := filepath.Join(dir, filepath.FromSlash(name))
		testenv.Must(t, os.MkdirAll(filepath.Dir(p), 0o755))
		testenv.Must(t, os.WriteFile(p, []byte(value+"\n"), 0o644))
	}
	return dir
}

func TestProbeSaysWhyNot(t *testing.T) {
	t.Parallel()
	const refused = `echo "bwrap: No permissions to create new namespace, likely because the kernel does not allow non-privileged user namespaces." >&2; exit 1`
	for _, tt := range []struct {
		name, script string
		settings     map[string]string
		want         string
		hint         string
	}{
		{"sysctl of the kernel", refused, map[string]string{"user/max_user_namespaces": "0"}, "user namespaces are refused to ", "sysctl -w user.max_user_namespaces=15000"},
		{"sysctl of the distribution", refused, map[string]string{"kernel/unprivileged_userns_clone": "0"}, "user namespaces are refused to ", "sysctl -w kernel.unprivileged_userns_clone=1"},
		{"container", refused, map[string]string{"user/max_user_namespaces": "9999"}, "user namespaces are refused to ", "seccomp=unconfined"},
		{"too many", `echo "bwrap: Creating new namespace failed: nesting depth or /proc/sys/user/max_*_namespaces exceeded (ENOSPC)" >&2; exit 1`, nil, "user namespaces are refused to ", "container"},
		{"AppArmor", `echo "bwrap: setting up uid map: Permission denied" >&2; exit 1`, map[string]string{"kernel/apparmor_restrict_unprivileged_userns": "1"}, "AppArmor refuses user namespaces to ", "apparmor_parser -r"},
		{"AppArmor at loopback", `echo "bwrap: loopback: Failed RTM_NEWADDR: Operation not permitted" >&2; exit 1`, map[string]string{"kernel/apparmor_restrict_unprivileged_userns": "1"}, "AppArmor refuses user namespaces to ", "userns,"},
		{"old", `echo "bwrap: Unknown option --perms" >&2; exit 1`, nil, " is too old", "apt-get install bubblewrap"},
		{"broken", `echo "bwrap: Can't mount proc on /newroot/proc: Operation not permitted" >&2; exit 1`, nil, " does not work", ""},
		{"silent", `exit 3`, nil, " does not work", ""},
	} {
		dir := fakeBwrap(t, tt.script)
		w, err := Probe(t.Context(), ProbeOptions{Path: "relative:/absent:" + dir, kernel: settings(t, tt.settings)})
		e, ok := errors.AsType[*ProbeError](err)
		if !ok || !strings.Contains(e.Text, tt.want) || w.Backend() != None {
			t.Errorf("%s: got %v, want %q", tt.name, err, tt.want)
			continue
		}
		if got := e.Hint(); !strings.Contains(got, tt.hint) || (got == "") != (tt.hint == "") {
			t.Errorf("%s: hint %q, want %q in it", tt.name, got, tt.hint)
		}
		if !strings.Contains(e.Error(), dir) {
			t.Errorf("%s: %q does not name the program", tt.name, e)
		}
	}
}

func TestProbeWithoutBwrap(t *testing.T) {
	t.Parallel()
	notRunnable := t.TempDir()
	testenv.Must(t, os.WriteFile(filepath.Join(notRunnable, "bwrap"), nil, 0o644))
	for _, path := range []string{"", "/absent", notRunnable, "."} {
		_, err := Probe(t.Context(), ProbeOptions{Path: path})
		e, ok := errors.AsType[*ProbeError](err)
		if !ok || !strings.Contains(e.Text, "not on the PATH") || !strings.HasPrefix(e.Hint(), "apt-get install bubblewrap") {
			t.Errorf("PATH %q: got %v, want it absent", path, err)
		}
	}
}

// One that cannot forbid further namespaces is good enough; it is told apart
// from one that lacks what is needed.
func TestProbeOfAnOlderBwrap(t *testing.T) {
	t.Parallel()
	dir := fakeBwrap(t, `grep -q disable-userns /proc/self/fd/$2 && { echo "bwrap: Unknown option --disable-userns" >&2; exit 1; }; exit 0`)
	w, err := Probe(t.Context(), ProbeOptions{Path: dir})
	if err != nil || w.Backend() != Bwrap || !w.nested {
		t.Errorf("got %+v, %v, want walls that allow namespaces", w, err)
	}
}

func TestProbeIsCalledOff(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := Probe(ctx, ProbeOptions{Path: fakeBwrap(t, "exec sleep 100")})
	if _, ok := errors.AsType[*ProbeError](err); ok || !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want it called off, not an answer", err)
	}
}

// The real program where the kernel refuses: inside a user namespace that may
// have no other.
func TestProbeWhereNamespacesAreRefused(t *testing.T) {
	t.Parallel()
	wallsOrSkip(t, 0)
	unshare, err := exec.LookPath("unshare")
	if err != nil {
		t.Skip("unshare is missing")
	}
	self, err := os.Executable()
	testenv.Must(t, err)
	cmd := exec.Command(unshare, "-Ur", "sh", "-c", `echo 0 >/proc/sys/user/max_user_namespaces && exec "$0"`, self)
	cmd.Env = append(os.Environ(), childEnv+"=probe")
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.HasSuffix(string(out), "bwrap sudo sysctl -w user.max_user_namespaces=15000\n") {
		t.Errorf("got %v\n%s", err, out)
	}
}

func TestWrapRefuses(t *testing.T) {
	t.Parallel()
	good := Sandbox{backend: Bwrap, program: "/bin/bwrap"}
	for _, tt := range []struct {
		name  string
		walls Sandbox
		edit  func(*Session)
	}{
		{"nothing probed", Sandbox{}, func(*Session) {}},
		{"relative agent", good, func(e *Session) { e.Agent = "claude" }},
		{"absent agent", good, func(e *Session) { e.Agent = "/absent" }},
		{"everything shown", good, func(e *Session) { e.ReadOnly = []string{"/"} }},
		{"path that is not clean", good, func(e *Session) { e.ReadOnly = []string{"/usr/../etc"} }},
		{"relative hidden", good, func(e *Session) { e.Hidden = []string{"etc"} }},
		{"a door where there is a port", Sandbox{backend: Landlock, abi: 6}, func(*Session) {}},
		{"NUL", good, func(e *Session) { e.Args = []string{"a\x00b"} }},
	} {
		r, door, err := os.Pipe()
		testenv.Must(t, err)
		defer r.Close()
		e := Session{Box: wallBox(t, 0), Agent: "/bin/sh", Handoff: door}
		tt.edit(&e)
		if out, err := tt.walls.Wrap(e); err == nil {
			out.Close()
			t.Errorf("%s: got no error", tt.name)
		}
		if err := door.Close(); !errors.Is(err, os.ErrClosed) {
			t.Errorf("%s: the door is still open", tt.name)
		}
	}
}

func TestOrderIsReadAsWritten(t *testing.T) {
	t.Parallel()
	for _, want := range []order{
		{Program: "/opt/claude/claude", Argv: []string{"claude"}},
		{Program: "/opt/claude/claude", Argv: []string{"claude", "", "-p", "two words", "line\nbreak", "\xff", ""}, Processes: 7},
		{Program: "/bin/sh", Argv: []string{"sh"}, Confine: &confinement{ABI: 6, Read: []string{"/usr"}, Write: []string{"/a b"}, Port: 4711}},
	} {
		number, w := orderFile(t, want)
		got, err := readOrder(number)
		if err != nil || !cmp.Equal(got, want) {
			t.Errorf("got %+v, %v, want %+v", got, err, want)
		}
		data, err := io.ReadAll(io.NewSectionReader(w, 0, 1<<20))
		testenv.Must(t, err)
		testenv.Must(t, w.Truncate(int64(len(data)-1)))
		if _, err := w.Seek(0, io.SeekStart); err != nil {
			t.Fatal(err)
		}
		if got, err := readOrder(number); err == nil {
			t.Errorf("cut short: got %+v", got)
		}
	}
	for _, bad := range []order{{}, {Program: "/bin/sh"}, {Argv: []string{"sh"}}} {
		number, _ := orderFile(t, bad)
		if got, err := readOrder(number); err == nil {
			t.Errorf("%+v: got %+v", bad, got)
		}
	}
}

func TestEnvironInside(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		in, want []string
		url      string
	}{
		{[]string{"A=1", "ANTHROPIC_BASE_URL=http://x", "B=2", "PWD=/p"}, []string{"A=1", "ANTHROPIC_BASE_URL=http://127.0.0.1:7", "B=2"}, "http://127.0.0.1:7"},
		{[]string{"A=1"}, []string{"A=1", "ANTHROPIC_BASE_URL=http://127.0.0.1:7"}, "http://127.0.0.1:7"},
		{[]string{"A=1", "ANTHROPIC_BASE_URL=http://x", "PWD=/p"}, []string{"A=1", "ANTHROPIC_BASE_URL=http://x"}, ""},
	} {
		if got := environInside(tt.in, tt.url); !slices.Equal(got, tt.want) {
			t.Errorf("got %q, want %q", got, tt.want)
		}
	}
}

func TestIsHelper(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{{"loopd"}, {"loopd", HelperName}, {"loopd", HelperName, "3", "4"}, {"/proc/self/fd/3", "run", "4"}, {"/proc/self/fd/3", HelperName}, {}} {
		if IsHelper(args) {
			t.Errorf("%q: taken for the helper", args)
		}
	}
	if !IsHelper([]string{"/proc/self/fd/3", HelperName, "4"}) || !IsHelper([]string{"/proc/self/fd/3", HelperName, "4", "5"}) {
		t.Error("the helper is not known")
	}
}

// orderFile writes an order as Wrap does and returns its descriptor's number here.
func orderFile(t *testing.T, o order) (string, *os.File) {
	t.Helper()
	var w Wrapped
	_, _, err := w.addHelper(o)
	testenv.Must(t, err)
	t.Cleanup(func() { w.Close() })
	file := w.Files[1]
	again, err := syscall.Dup(int(file.Fd()))
	testenv.Must(t, err)
	return fmt.Sprint(again), file
}
