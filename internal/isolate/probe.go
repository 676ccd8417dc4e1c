package isolate

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// ProbeOptions say which backend to try, where to look for its programs and who
// will run them.
type ProbeOptions struct {
	// Backend is the one to try; bubblewrap when empty.
	Backend Backend
	// Path is a list of directories like the variable's.
	Path string
	// UID and GID are who sessions run as when loopd is root; 0 for no change.
	UID, GID int

	kernel string // the directory of the kernel's settings; /proc/sys when empty
}

// ProbeError says why a backend does not work here.
type ProbeError struct {
	Text    string // what is wrong
	Output  string // what the program said
	Command string // what helps; empty where nothing does
}

// Error is what is wrong, with what the program said.
func (e *ProbeError) Error() string {
	if e.Output == "" {
		return e.Text
	}
	return e.Text + ": " + e.Output
}

// Hint is the command that helps, or what to do where there is none.
func (e *ProbeError) Hint() string { return e.Command }

// Probe tries one backend and proves that it works here by running a program
// within it, with the options a session gets. A *ProbeError is an answer: it does
// not work, and why.
func Probe(ctx context.Context, o ProbeOptions) (Sandbox, error) {
	s, err := Sandbox{}, error(nil)
	switch o.Backend {
	case Bwrap, "":
		s, err = probeBwrap(ctx, o)
	case Landlock:
		s, err = probeLandlock(o)
	case SRT:
		s, err = probeSRT(ctx, o)
	default:
		err = fmt.Errorf("unknown backend %q", o.Backend)
	}
	if err != nil {
		return Sandbox{}, fmt.Errorf("probe isolation: %w", err)
	}
	return s, nil
}

// probeTime bounds one try; a try takes milliseconds.
const probeTime = 20 * time.Second

// try runs a program as the user sessions will run as. What it says of its
// failure is no error.
func try(ctx context.Context, o ProbeOptions, w *Wrapped, dir string) (said string, err error) {
	ctx, cancel := context.WithTimeout(ctx, probeTime)
	defer cancel()
	var out bytes.Buffer
	cmd := exec.CommandContext(ctx, w.Path, w.Args...)
	cmd.Env, cmd.Dir, cmd.ExtraFiles = append([]string{}, w.Env...), dir, w.Files
	cmd.Stdout, cmd.Stderr, cmd.WaitDelay, cmd.SysProcAttr = &out, &out, time.Second, probeAttr(o)
	runErr := cmd.Run()
	if err := ctx.Err(); err != nil && runErr != nil {
		return "", err
	}
	if said = strings.TrimSpace(out.String()); runErr != nil && said == "" {
		said = runErr.Error()
	}
	if runErr == nil {
		said = ""
	}
	return said, nil
}

func probeAttr(o ProbeOptions) *syscall.SysProcAttr {
	attr := &syscall.SysProcAttr{Setpgid: true}
	if os.Geteuid() == 0 && o.UID != 0 {
		attr.Credential = &syscall.Credential{Uid: uint32(o.UID), Gid: uint32(o.GID)}
	}
	return attr
}

// findProgram looks through a list of directories; relative ones do not count.
func findProgram(list, name string) string {
	for _, dir := range filepath.SplitList(list) {
		path := filepath.Join(dir, name)
		info, err := os.Stat(path)
		if err == nil && filepath.IsAbs(dir) && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
			return path
		}
	}
	return ""
}

// systemFiles are what programs need of /etc. Whole /etc would show the user's
// accounts and, to root, the shadow file; awk and others are links through
// alternatives.
func systemFiles() []string {
	return []string{"/etc/ld.so.cache", "/etc/localtime", "/etc/alternatives"}
}

// findSystem looks once how this machine lays out its programs. It returns
// bwrap's options that show them and the directories shown. On most systems
// several of them are links into /usr.
func findSystem() (options, visible []string, err error) {
	for _, p := range []string{"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/nix/store", "/gnu/store"} {
		info, err := os.Lstat(p)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, nil, err
		}
		visible = append(visible, p)
		if info.Mode()&fs.ModeSymlink == 0 {
			options = append(options, "--ro-bind", p, p)
			continue
		}
		target, err := os.Readlink(p)
		if err != nil {
			return nil, nil, err
		}
		options = append(options, "--symlink", target, p)
	}
	for _, p := range systemFiles() {
		// bwrap would make a link's target in its place.
		if resolved, err := filepath.EvalSymlinks(p); err == nil {
			options = append(options, "--ro-bind", resolved, p)
		}
	}
	if _, err := os.Stat("/usr/lib/os-release"); err == nil {
		options = append(options, "--symlink", "../usr/lib/os-release", "/etc/os-release")
	}
	return options, visible, nil
}
