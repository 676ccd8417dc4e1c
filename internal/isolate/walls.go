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

// Backend is how well a session is walled in.
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
	// SRT is Anthropic's sandbox runtime, which uses what the system has.
	SRT Backend = "srt"
	// None is a user of its own at best.
	None Backend = "none"
)

// Sandbox wrap programs so that they run shut in. The zero value has nothing to
// wrap with; Probe returns walls that were seen to stand.
type Sandbox struct {
	backend  Backend
	program  string            // bwrap or srt
	system   []string          // bwrap's options that bind the system's programs
	visible  []string          // the directories these show
	nested   bool              // a session may make user namespaces: this bwrap cannot forbid it
	sizeless bool              // this bwrap cannot bound a temporary directory
	abi      int               // Landlock's version
	uid      int               // who sessions run as when loopd is root
	tools    map[string]string // the programs srt needs, by name
}

// Backend is that of walls which Probe returned, and none for the zero value.
func (w Sandbox) Backend() Backend {
	if w.backend == "" {
		return None
	}
	return w.backend
}

// String names the backend, with the version where versions stop different things.
func (w Sandbox) String() string {
	if w.backend == Landlock {
		return fmt.Sprintf("%s %d", w.backend, min(w.abi, abiScoped))
	}
	return string(w.Backend())
}

// TakesHandoff says whether the way to the gateway is a listening socket that is
// handed over, instead of the gateway's port.
func (w Sandbox) TakesHandoff() bool { return w.backend == Bwrap }

// SelfAgent is the Agent of an Session that runs loopd's own program under
// the agent's name, as the stand-in does.
const SelfAgent = "/proc/self/exe"

// agentInside is where the agent's program is found inside.
const agentInside = "/opt/claude/claude"

// Session is what one session sees of the machine.
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
	// Handoff is where the listening socket is handed over; nil for no network at
	// all. Wrapped owns it.
	Handoff *os.File
	// Port is the gateway's on 127.0.0.1, in walls without a door; 0 for no
	// network at all.
	Port int
	// Limits bound what the session uses of the machine, as far as walls can.
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
	// PIDNamespace: the agent runs in a process table of its own, below Path, which
	// takes all of it down when it dies and passes its exit code on.
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

// addData hands bytes on as an unnamed file.
func (w *Wrapped) addData(data string) (string, error) {
	f, err := unnamedFile(data)
	if err != nil {
		return "", err
	}
	return w.add(f), nil
}

// Wrap returns the program that runs the agent inside the walls. On error the
// door is closed too.
func (w Sandbox) Wrap(e Session) (*Wrapped, error) {
	out := &Wrapped{Path: w.program, Env: w.environ(e)}
	door := ""
	if e.Handoff != nil {
		door = out.add(e.Handoff)
	}
	err := w.validate(e)
	if err == nil {
		switch w.backend {
		case Landlock:
			err = w.landlocked(out, e)
		case SRT:
			err = w.runtimed(out, e)
		default:
			out.PIDNamespace = true
			err = w.fill(out, e, door)
		}
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("wrap session: %w", err), out.Close())
	}
	return out, nil
}

func (w Sandbox) validate(e Session) error {
	if w.Backend() == None {
		return errors.New("no walls: nothing was probed")
	}
	if e.Handoff != nil && !w.TakesHandoff() {
		return fmt.Errorf("walls of %s take a port and no door", w.backend)
	}
	if !filepath.IsAbs(e.Agent) {
		return fmt.Errorf("agent %q is not an absolute path", e.Agent)
	}
	for _, p := range slices.Concat(e.ReadOnly, e.Hidden) {
		if p != filepath.Clean(p) || !filepath.IsAbs(p) || p == "/" {
			return fmt.Errorf("path %q is not a clean absolute path below /", p)
		}
	}
	if s := strings.Join(slices.Concat(e.Args, e.Env, e.ReadOnly, e.Hidden), ""); strings.Contains(s, "\x00") {
		return errors.New("an argument holds a NUL byte")
	}
	return nil
}

// fill hands on the helper's program, what the helper is to start, and bwrap's
// options. Only numbers are left as arguments: they stay readable in the
// session's own process table.
func (w Sandbox) fill(out *Wrapped, e Session, door string) error {
	self, err := os.Open(SelfAgent)
	if err != nil {
		return err
	}
	helper := "/proc/self/fd/" + out.add(self)
	inside := agentInside
	if e.Agent == SelfAgent {
		inside = SelfAgent
	}
	o := order{Program: inside, Argv: append([]string{"claude"}, e.Args...)}
	if o.Processes, err = namespaceLimit(e.Limits.Processes, w.uid); err != nil {
		return err
	}
	data, err := o.encode()
	if err != nil {
		return err
	}
	todo, err := out.addData(data)
	if err != nil {
		return err
	}
	options, err := w.options(out, e)
	if err != nil {
		return err
	}
	args, err := out.addData(joinArgs(options))
	if err != nil {
		return err
	}
	out.Args = []string{"--args", args, "--", helper, HelperName, todo}
	if door != "" {
		out.Args = append(out.Args, door)
	}
	return nil
}

// joinArgs ends each argument with a NUL byte, as bwrap reads them.
func joinArgs(args []string) string {
	var b strings.Builder
	for _, a := range args {
		b.WriteString(a)
		b.WriteByte(0)
	}
	return b.String()
}

// environ is the session's environment with the directories of PATH that it
// can see. The others would name places of the user's.
func (w Sandbox) environ(e Session) []string {
	env := slices.Clone(e.Env)
	for i, kv := range env {
		list, ok := strings.CutPrefix(kv, "PATH=")
		if !ok {
			continue
		}
		dirs := slices.DeleteFunc(filepath.SplitList(list), func(dir string) bool { return !w.shows(e, dir) })
		if len(dirs) == 0 {
			dirs = []string{"/usr/local/bin", "/usr/bin", "/bin"}
		}
		env[i] = "PATH=" + strings.Join(dirs, string(filepath.ListSeparator))
	}
	return env
}

func (w Sandbox) shows(e Session, dir string) bool {
	info, err := os.Stat(dir)
	return err == nil && info.IsDir() && w.under(e, dir)
}

// under reports whether a path is one of those shown or below it.
func (w Sandbox) under(e Session, path string) bool {
	return slices.ContainsFunc(slices.Concat(w.visible, e.ReadOnly), func(top string) bool {
		return path == top || strings.HasPrefix(path, top+"/")
	})
}
