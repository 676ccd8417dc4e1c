package isolate

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// leastABI is the oldest Landlock that is a backend: it knows TCP ports. abiScoped
// is the first that knows signals and abstract sockets.
const (
	leastABI  = 4
	abiScoped = 6
)

// landlocked returns the program that confines itself and becomes the agent.
// There is no process between it and loopd and no network of its own: what the
// session started is found by the sweep, and the gateway's port is the one port
// it may connect to.
func (w Sandbox) landlocked(out *Wrapped, e Session) error {
	self, err := os.Open(SelfAgent)
	if err != nil {
		return err
	}
	out.Path = "/proc/self/fd/" + out.add(self)
	program, err := landlockAgent(e.Box, e.Agent)
	if err != nil {
		return err
	}
	c, err := w.confine(e, program)
	if err != nil {
		return err
	}
	o := order{Program: program, Argv: append([]string{"claude"}, e.Args...), Confine: &c}
	if o.Processes, err = userLimit(e.Limits.Processes, w.uid); err != nil {
		return err
	}
	data, err := o.encode()
	if err != nil {
		return err
	}
	fd, err := out.addData(data)
	if err != nil {
		return err
	}
	out.Args = []string{HelperName, fd}
	return nil
}

// landlockAgent is the agent's program under a path that says nothing, where
// the box is on the same file system.
func landlockAgent(b *Box, path string) (string, error) {
	if path == SelfAgent {
		return path, nil
	}
	resolved, err := filepath.EvalSymlinks(path)
	if err != nil {
		return "", err
	}
	dir := filepath.Join(b.Root, randomName())
	if err := os.Mkdir(dir, 0o711); err != nil {
		return "", err
	}
	link := filepath.Join(dir, "claude")
	if os.Link(resolved, link) == nil {
		return link, nil
	}
	return resolved, nil
}

// devices are those every program counts on. Landlock cannot show a session
// other ones than the machine's.
func devices() []string { return []string{"/dev/null", "/dev/zero", "/dev/full"} }

// startupFiles are read by common programs when they start. Where they are
// there and closed, every command of a session would complain of it.
func startupFiles() []string {
	return []string{
		"/etc/bash.bashrc", "/etc/bashrc", "/etc/profile", "/etc/profile.d", "/etc/inputrc", "/etc/zsh", "/etc/gitconfig", "/etc/ssl/openssl.cnf",
		"/etc/resolv.conf", "/etc/host.conf", "/etc/gai.conf", "/etc/services", "/etc/protocols", "/etc/locale.alias", "/etc/magic", "/etc/mime.types",
	}
}

// confine lists what the session may do. The machine's own accounts, hosts and
// process table take the place of those that bubblewrap makes up.
func (w Sandbox) confine(e Session, program string) (confinement, error) {
	c := confinement{
		ABI: w.abi, Port: e.Port, Files: devices(), Write: []string{e.Box.Work, e.Box.Home, e.Box.Config, e.Box.Tmp},
		Read: []string{e.Box.Plugin, program, "/proc", "/dev/urandom", "/dev/random"},
	}
	c.Read = append(c.Read, systemFiles()...)
	c.Read = append(c.Read, "/etc/passwd", "/etc/group", "/etc/hosts", "/etc/nsswitch.conf", "/etc/os-release")
	c.Read = append(c.Read, startupFiles()...)
	hidden, err := hiddenPaths(e)
	if err != nil {
		return c, err
	}
	for _, top := range slices.Concat(w.visible, e.ReadOnly) {
		if err := c.open(top, hidden); err != nil {
			return c, err
		}
	}
	return c, nil
}

// hiddenPaths resolves what no session may read. What is not there, or out of
// loopd's own reach, needs no hiding.
func hiddenPaths(e Session) ([]string, error) {
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

// open lets a path be read, but for what is hidden below it. Landlock knows no
// exceptions: a directory that holds something hidden is opened name by name,
// and a name that is added to it later stays closed.
func (c *confinement) open(path string, hidden []string) error {
	resolved, err := filepath.EvalSymlinks(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if slices.ContainsFunc(hidden, func(h string) bool { return h == resolved || strings.HasPrefix(resolved, h+"/") }) {
		return nil
	}
	if !slices.ContainsFunc(hidden, func(h string) bool { return strings.HasPrefix(h, resolved+"/") }) {
		c.Read = append(c.Read, resolved)
		return nil
	}
	entries, err := os.ReadDir(resolved)
	if err != nil {
		return fmt.Errorf("open %s but for what is hidden in it: %w", resolved, err)
	}
	for _, entry := range entries {
		if err := c.open(filepath.Join(resolved, entry.Name()), hidden); err != nil {
			return err
		}
	}
	if !slices.ContainsFunc(hidden, func(h string) bool { return strings.HasPrefix(h, resolved+"/") && isDir(h) }) {
		c.List = append(c.List, resolved)
	}
	return nil
}

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}
