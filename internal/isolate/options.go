package isolate

import (
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
)

// insideID is the user and group a session believes to be.
const insideID = "1000"

// systemPlaces are the directories programs live in. On most systems several
// of them are links into /usr.
func systemPlaces() []string {
	return []string{"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/nix/store", "/gnu/store"}
}

// systemFiles are what programs need of /etc. Whole /etc would show the user's
// accounts and, to root, the shadow file; awk and others are links through
// alternatives.
func systemFiles() []string {
	return []string{"/etc/ld.so.cache", "/etc/localtime", "/etc/alternatives"}
}

// findSystem looks once how this machine lays out its programs. It returns the
// options that show them and the directories shown.
func findSystem() (options, visible []string, err error) {
	for _, p := range systemPlaces() {
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

// options are bwrap's for one session.
//
// All namespaces are new. The user namespace is asked for by name, as
// --unshare-all goes on without one where it is refused, and no capability is
// left in it: with one, the read-only binds can be mounted again writable.
// /proc/sys is read-only because the kernel asks only whether the writer is the
// machine's root, which a session of root's is, whatever number it sees.
func (w Sandbox) options(out *Wrapped, e Session) ([]string, error) {
	opts := []string{
		"--unshare-all", "--unshare-user", "--die-with-parent", "--new-session", "--cap-drop", "ALL",
		"--uid", insideID, "--gid", insideID, "--hostname", "localhost",
	}
	if !w.nested {
		opts = append(opts, "--disable-userns")
	}
	// Directories bwrap has to make itself would be closed to others.
	opts = append(opts, "--perms", "0755", "--dir", "/etc", "--perms", "0755", "--dir", "/opt", "--perms", "0755", "--dir", "/opt/claude")
	opts = append(opts, w.system...)
	files, err := accountFiles(out, e.Box)
	if err != nil {
		return nil, err
	}
	opts = append(opts, files...)
	opts = append(opts, "--proc", "/proc", "--ro-bind", "/proc/sys", "/proc/sys", "--dev", "/dev")
	for _, dir := range []string{"/dev/shm", "/tmp"} {
		if e.Limits.Disk > 0 && !w.sizeless {
			opts = append(opts, "--size", strconv.FormatInt(e.Limits.Disk, 10))
		}
		opts = append(opts, "--perms", "1777", "--tmpfs", dir)
	}
	for _, p := range e.ReadOnly {
		opts = append(opts, "--ro-bind", p, p)
	}
	hidden, err := w.hide(e)
	if err != nil {
		return nil, err
	}
	opts = append(opts, hidden...)
	if e.Agent != SelfAgent {
		source, err := agentSource(e.Box, e.Agent)
		if err != nil {
			return nil, err
		}
		opts = append(opts, "--ro-bind", source, agentInside)
	}
	opts = append(opts, boxBinds(e.Box)...)
	return append(opts, "--remount-ro", "/", "--chdir", e.Box.Work), nil
}

// hide covers what lies in a shown directory and is not for a session: loopd's
// own program, with the suites inside it, and what the caller names. A file is
// covered by a device that cannot be opened here, a directory by an empty one.
func (w Sandbox) hide(e Session) ([]string, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	var opts []string
	for _, p := range append([]string{self}, e.Hidden...) {
		resolved, err := filepath.EvalSymlinks(p)
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) || err == nil && !w.under(e, resolved) {
			continue // what loopd cannot reach, its sessions cannot
		}
		if err != nil {
			return nil, err
		}
		info, err := os.Stat(resolved)
		switch {
		case err != nil:
			return nil, err
		case info.IsDir():
			opts = append(opts, "--tmpfs", resolved, "--remount-ro", resolved)
		default:
			opts = append(opts, "--ro-bind", os.DevNull, resolved)
		}
	}
	return opts, nil
}

// boxBinds show a box at its own paths, so that those in a transcript hold
// outside too. The plugin is read-only: a session that could write to it would
// be measured with another wording than it was given, and where a plugin's
// programs keep something, the agent gives them a directory below Config.
func boxBinds(b *Box) []string {
	opts := []string{"--ro-bind", b.Plugin, b.Plugin}
	for _, p := range []string{b.Work, b.Home, b.Config, b.Tmp} {
		opts = append(opts, "--bind", p, p)
	}
	return opts
}

// agentSource is the agent's program under a name that says nothing, where the
// box is on the same file system: a bind's source can be read in the session's
// table of mounts.
func agentSource(b *Box, path string) (string, error) {
	resolved, err := filepath.EvalSymlinks(path)
	if err != nil {
		return "", err
	}
	link := filepath.Join(b.Root, randomName())
	if os.Link(resolved, link) == nil {
		return link, nil
	}
	return resolved, nil
}

// accountFiles write the files of /etc that name users and hosts.
func accountFiles(out *Wrapped, b *Box) ([]string, error) {
	var opts []string
	files := map[string]string{
		"/etc/passwd": "root:x:0:0:root:/root:/bin/sh\nuser:x:" + insideID + ":" + insideID + "::" + b.Home + ":/bin/sh\n" +
			"nobody:x:65534:65534:nobody:/nonexistent:/bin/false\n",
		"/etc/group":         "root:x:0:\nuser:x:" + insideID + ":\nnogroup:x:65534:\n",
		"/etc/hosts":         "127.0.0.1\tlocalhost\n::1\tip6-localhost\n",
		"/etc/nsswitch.conf": "passwd: files\ngroup: files\nhosts: files\n",
	}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		fd, err := out.addData(files[name])
		if err != nil {
			return nil, err
		}
		opts = append(opts, "--perms", "0644", "--file", fd, name)
	}
	return opts, nil
}
