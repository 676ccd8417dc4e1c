package sandbox

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

// Rung is how well a session is walled in.
type Rung string

// The rungs, the better first.
const (
	// RungBwrap is namespaces of its own for everything: a session can name no
	// file, process or address but those of its box.
	RungBwrap Rung = "bwrap"
	// RungNone is a user of its own at best.
	RungNone Rung = "none"
)

// Walls wrap programs so that they run inside bubblewrap. The zero value has
// nothing to wrap with; Probe returns walls that were seen to stand.
type Walls struct {
	program string   // bwrap
	system  []string // options that bind the system's programs
	visible []string // the directories these show
	nested  bool     // a session may make user namespaces: this bwrap cannot forbid it
}

// Rung is bwrap for walls that Probe returned and none for the zero value.
func (w Walls) Rung() Rung {
	if w.program == "" {
		return RungNone
	}
	return RungBwrap
}

// SelfAgent is the Agent of an Enclosure that runs loopd's own program under
// the agent's name, as the stand-in does.
const SelfAgent = "/proc/self/exe"

// agentInside is where the agent's program is found inside.
const agentInside = "/opt/claude/claude"

// Enclosure is what one session sees of the machine.
type Enclosure struct {
	Box *Box
	// Agent is the program to run, by its path outside, and Args its arguments
	// without its name.
	Agent string
	Args  []string
	// Env is the session's whole environment. The API's address in it is
	// replaced by the one the session reaches the gateway at, and PATH keeps
	// only the directories the session can see.
	Env []string
	// Door is where the listening socket is handed over; nil for no network at
	// all. Wrapped owns it.
	Door *os.File
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
func (w Walls) Wrap(e Enclosure) (*Wrapped, error) {
	out := &Wrapped{Path: w.program, Env: w.environ(e)}
	door := ""
	if e.Door != nil {
		door = out.add(e.Door)
	}
	if err := errors.Join(w.validate(e), w.fill(out, e, door)); err != nil {
		return nil, errors.Join(fmt.Errorf("wrap session: %w", err), out.Close())
	}
	return out, nil
}

func (w Walls) validate(e Enclosure) error {
	if w.Rung() != RungBwrap {
		return errors.New("no walls: nothing was probed")
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
func (w Walls) fill(out *Wrapped, e Enclosure, door string) error {
	self, err := os.Open(SelfAgent)
	if err != nil {
		return err
	}
	helper := "/proc/self/fd/" + out.add(self)
	inside := agentInside
	if e.Agent == SelfAgent {
		inside = SelfAgent
	}
	order, err := out.addData(joinArgs(append([]string{inside, "claude"}, e.Args...)))
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
	out.Args = []string{"--args", args, "--", helper, HelperName, order}
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
func (w Walls) environ(e Enclosure) []string {
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

func (w Walls) shows(e Enclosure, dir string) bool {
	info, err := os.Stat(dir)
	return err == nil && info.IsDir() && w.under(e, dir)
}

// under reports whether a path is one of those shown or below it.
func (w Walls) under(e Enclosure, path string) bool {
	return slices.ContainsFunc(slices.Concat(w.visible, e.ReadOnly), func(top string) bool {
		return path == top || strings.HasPrefix(path, top+"/")
	})
}
