package isolate

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// Backend is what isolates sessions from the machine.
type Backend string

// The backends, the better first. What each of them stops is the table of
// SECURITY.md.
const (
	// Bwrap is namespaces of its own for everything: a session can name no
	// file, process or address but those of its box.
	Bwrap Backend = "bwrap"
	// Landlock is the kernel's refusal: a session sees the machine's names
	// and may open nothing but its box and the system's programs.
	Landlock Backend = "landlock"
	// SRT is Anthropic's sandbox runtime, for macOS.
	SRT Backend = "srt"
	// None is a user of its own at best.
	None Backend = "none"
)

// Backends lists the backends of a system in the order they are tried.
func Backends(system string) []Backend {
	switch system {
	case "linux":
		return []Backend{Bwrap, Landlock}
	case "darwin":
		return []Backend{SRT}
	}
	return nil
}

// abiScoped is the first version of Landlock that knows signals and abstract
// sockets, and the newest whose rules are used.
const abiScoped = 6

// Sandbox starts programs isolated from the machine. The zero value has no
// backend; Probe returns one that was seen to work.
type Sandbox struct {
	backend  Backend
	program  string   // bwrap or srt
	node     string   // what srt runs on
	system   []string // bwrap's options that bind the system's programs
	visible  []string // the directories these show
	nested   bool     // a session may make user namespaces: this bwrap cannot forbid it
	sizeless bool     // this bwrap cannot bound a temporary directory
	abi      int      // Landlock's version
	uid      int      // who sessions run as when loopd is root
}

// Backend is that of a sandbox which Probe returned, and None for the zero value.
func (s Sandbox) Backend() Backend {
	if s.backend == "" {
		return None
	}
	return s.backend
}

// String names the backend, with the version where versions stop different things.
func (s Sandbox) String() string {
	if s.backend == Landlock {
		return fmt.Sprintf("%s %d", s.backend, min(s.abi, abiScoped))
	}
	return string(s.Backend())
}

// TakesHandoff reports whether a session reaches the gateway by a listening
// socket that it hands over, instead of by the gateway's port.
func (s Sandbox) TakesHandoff() bool { return s.backend == Bwrap }

// SelfAgent is the Agent of a Session that runs loopd's own program under the
// agent's name, as the stand-in does.
const SelfAgent = "/proc/self/exe"

// Session is what one session runs and sees of the machine.
type Session struct {
	Box *Box
	// Agent is the program to run, by its path outside, and Args its arguments
	// without its name.
	Agent string
	Args  []string
	// Env is the session's whole environment. The API's address in it is
	// replaced by the one the session reaches the gateway at, and PATH keeps
	// only the directories the session can see.
	Env []string
	// Handoff is where the listening socket is handed over; nil for no network
	// at all. Wrapped owns it.
	Handoff *os.File
	// Port is the gateway's on 127.0.0.1, where no socket is handed over; 0 for
	// no network at all.
	Port int
	// Limits bound what the session uses of the machine, as far as a backend can.
	Limits Limits
	// ReadOnly are more directories or files of the machine to show, at their
	// own paths.
	ReadOnly []string
	// Hidden are directories or files that no session may read, wherever they
	// are: the state directory, a user's suite. Those outside what is shown
	// cannot be named inside anyway.
	Hidden []string
}

// Wrapped is a program to start instead of the agent. Its Files follow standard
// error in the new process, in this order.
type Wrapped struct {
	Path  string
	Args  []string
	Env   []string
	Files []*os.File
	// PIDNamespace: the agent runs in a process table of its own, below Path,
	// which takes all of it down when it dies and passes its exit code on.
	PIDNamespace bool
}

// Close gives up the files, once the program has ended or was not started.
func (w *Wrapped) Close() error {
	var errs []error
	for _, f := range w.Files {
		if err := f.Close(); err != nil && !errors.Is(err, fs.ErrClosed) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// add hands a file on and returns the number it has in the new process.
func (w *Wrapped) add(f *os.File) string {
	w.Files = append(w.Files, f)
	return strconv.Itoa(2 + len(w.Files))
}

// Wrap returns the program that runs the agent in the sandbox. On error the
// handoff is closed too.
func (s Sandbox) Wrap(e Session) (*Wrapped, error) {
	out := &Wrapped{Path: s.program, Env: s.environ(e)}
	var handoff []string // the number of its descriptor
	if e.Handoff != nil {
		handoff = []string{out.add(e.Handoff)}
	}
	err := s.validate(e)
	if err == nil {
		switch s.backend {
		case Landlock:
			err = s.wrapLandlock(out, e)
		case SRT:
			err = s.wrapSRT(out, e)
		default:
			out.PIDNamespace = true
			err = s.wrapBwrap(out, e, handoff)
		}
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("wrap session: %w", err), out.Close())
	}
	return out, nil
}

func (s Sandbox) validate(e Session) error {
	switch {
	case s.Backend() == None:
		return errors.New("no isolation: no backend was probed")
	case e.Handoff != nil && !s.TakesHandoff():
		return fmt.Errorf("%s takes a port and no handoff", s.backend)
	case !filepath.IsAbs(e.Agent):
		return fmt.Errorf("agent %q is not an absolute path", e.Agent)
	}
	for _, p := range slices.Concat(e.ReadOnly, e.Hidden) {
		if p != filepath.Clean(p) || !filepath.IsAbs(p) || p == "/" {
			return fmt.Errorf("path %q is not a clean absolute path below /", p)
		}
	}
	if all := strings.Join(slices.Concat(e.Args, e.Env, e.ReadOnly, e.Hidden), ""); strings.Contains(all, "\x00") {
		return errors.New("an argument holds a NUL byte")
	}
	return nil
}

// environ is the session's environment with the directories of PATH that it
// can see. The others would name places of the user's.
func (s Sandbox) environ(e Session) []string {
	env := slices.Clone(e.Env)
	for i, kv := range env {
		list, ok := strings.CutPrefix(kv, "PATH=")
		if !ok {
			continue
		}
		dirs := slices.DeleteFunc(filepath.SplitList(list), func(dir string) bool { return !isDir(dir) || !s.shows(e, dir) })
		if len(dirs) == 0 {
			dirs = []string{"/usr/local/bin", "/usr/bin", "/bin"}
		}
		env[i] = "PATH=" + strings.Join(dirs, string(filepath.ListSeparator))
	}
	return env
}

// shows reports whether a path is one of those shown or below it.
func (s Sandbox) shows(e Session, path string) bool {
	return slices.ContainsFunc(slices.Concat(s.visible, e.ReadOnly), func(top string) bool {
		return path == top || strings.HasPrefix(path, top+"/")
	})
}

// hidden resolves what no session may read: loopd's own program, with the suites
// inside it, and what the caller names. What is not there, or out of loopd's own
// reach, needs no hiding.
func hidden(e Session) ([]string, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	var out []string
	for _, p := range append([]string{self}, e.Hidden...) {
		resolved, err := filepath.EvalSymlinks(p)
		switch {
		case errors.Is(err, fs.ErrNotExist), errors.Is(err, fs.ErrPermission):
		case err != nil:
			return nil, err
		default:
			out = append(out, resolved)
		}
	}
	return out, nil
}

// linkedAgent is the agent's program under a path that says nothing, where the
// box is on the same file system, and its own path elsewhere.
func linkedAgent(link, path string) (string, error) {
	resolved, err := filepath.EvalSymlinks(path)
	if err == nil && os.Link(resolved, link) == nil {
		return link, nil
	}
	return resolved, err
}

// agentInBox links the agent's program as "claude" into a directory of the box
// that the session may pass through.
func agentInBox(b *Box, path string) (string, error) {
	dir := filepath.Join(b.Root, randomName())
	if err := os.Mkdir(dir, 0o711); err != nil {
		return "", err
	}
	return linkedAgent(filepath.Join(dir, "claude"), path)
}

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}
