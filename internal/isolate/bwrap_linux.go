package isolate

import (
	"context"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

const (
	insideID    = "1000"               // the user and group a session believes to be
	agentInside = "/opt/claude/claude" // where the agent's program is found inside
)

// wrapBwrap hands on the helper's program, what the helper is to start, and
// bwrap's options. Only numbers are left as arguments: they stay readable in the
// session's own process table.
func (s Sandbox) wrapBwrap(out *Wrapped, e Session, handoff []string) error {
	o := order{Program: agentInside, Argv: append([]string{"claude"}, e.Args...)}
	if e.Agent == SelfAgent {
		o.Program = SelfAgent
	}
	var err error
	if o.Processes, err = namespaceLimit(e.Limits.Processes, s.uid); err != nil {
		return err
	}
	helper, todo, err := out.addHelper(o)
	if err != nil {
		return err
	}
	options, err := s.options(out, e)
	if err != nil {
		return err
	}
	args, err := out.addData(strings.Join(options, "\x00") + "\x00")
	if err != nil {
		return err
	}
	out.Args = append([]string{"--args", args, "--", helper, HelperName, todo}, handoff...)
	return nil
}

// options are bwrap's for one session.
//
// All namespaces are new. The user namespace is asked for by name, as
// --unshare-all goes on without one where it is refused, and no capability is
// left in it: with one, the read-only binds can be mounted again writable.
// /proc/sys is read-only because the kernel asks only whether the writer is the
// machine's root, which a session of root's is, whatever number it sees.
func (s Sandbox) options(out *Wrapped, e Session) ([]string, error) {
	opts := []string{
		"--unshare-all", "--unshare-user", "--die-with-parent", "--new-session", "--cap-drop", "ALL",
		"--uid", insideID, "--gid", insideID, "--hostname", "localhost",
	}
	if !s.nested {
		opts = append(opts, "--disable-userns")
	}
	// Directories bwrap has to make itself would be closed to others.
	opts = append(opts, "--perms", "0755", "--dir", "/etc", "--perms", "0755", "--dir", "/opt", "--perms", "0755", "--dir", "/opt/claude")
	opts = append(opts, s.system...)
	accounts := accountFiles(e.Box)
	for _, name := range slices.Sorted(maps.Keys(accounts)) {
		fd, err := out.addData(accounts[name])
		if err != nil {
			return nil, err
		}
		opts = append(opts, "--perms", "0644", "--file", fd, name)
	}
	opts = append(opts, "--proc", "/proc", "--ro-bind", "/proc/sys", "/proc/sys", "--dev", "/dev")
	for _, dir := range []string{"/dev/shm", "/tmp"} {
		if e.Limits.Disk > 0 && !s.sizeless {
			opts = append(opts, "--size", strconv.FormatInt(e.Limits.Disk, 10))
		}
		opts = append(opts, "--perms", "1777", "--tmpfs", dir)
	}
	for _, p := range e.ReadOnly {
		opts = append(opts, "--ro-bind", p, p)
	}
	hidden, err := hidden(e)
	if err != nil {
		return nil, err
	}
	for _, p := range hidden {
		switch {
		case !s.shows(e, p): // it cannot be named inside
		case isDir(p):
			opts = append(opts, "--tmpfs", p, "--remount-ro", p)
		default:
			opts = append(opts, "--ro-bind", os.DevNull, p) // a device that cannot be opened here
		}
	}
	if e.Agent != SelfAgent {
		// A bind's source can be read in the session's table of mounts.
		source, err := linkedAgent(filepath.Join(e.Box.Root, randomName()), e.Agent)
		if err != nil {
			return nil, err
		}
		opts = append(opts, "--ro-bind", source, agentInside)
	}
	// A box has its own paths inside, so that those in a transcript hold outside
	// too. The plugin is read-only: a session that could write to it would be
	// measured with another wording than it was given, and where a plugin's
	// programs keep something, the agent gives them a directory below Config.
	opts = append(opts, "--ro-bind", e.Box.Plugin, e.Box.Plugin)
	for _, p := range []string{e.Box.Work, e.Box.Home, e.Box.Config, e.Box.Tmp} {
		opts = append(opts, "--bind", p, p)
	}
	return append(opts, "--remount-ro", "/", "--chdir", e.Box.Work), nil
}

// accountFiles are the files of /etc that name users and hosts.
func accountFiles(b *Box) map[string]string {
	return map[string]string{
		"/etc/passwd": "root:x:0:0:root:/root:/bin/sh\nuser:x:" + insideID + ":" + insideID + "::" + b.Home + ":/bin/sh\n" +
			"nobody:x:65534:65534:nobody:/nonexistent:/bin/false\n",
		"/etc/group":         "root:x:0:\nuser:x:" + insideID + ":\nnogroup:x:65534:\n",
		"/etc/hosts":         "127.0.0.1\tlocalhost\n::1\tip6-localhost\n",
		"/etc/nsswitch.conf": "passwd: files\ngroup: files\nhosts: files\n",
	}
}

const bwrapPackage = "apt-get install bubblewrap (dnf, zypper, pacman and apk call it bubblewrap too; 0.5 or newer)"

func probeBwrap(ctx context.Context, o ProbeOptions) (Sandbox, error) {
	s := Sandbox{backend: Bwrap, program: findProgram(o.Path, "bwrap"), uid: o.UID}
	if s.program == "" {
		return s, &ProbeError{Text: "bubblewrap (bwrap) is not on the PATH", Command: bwrapPackage}
	}
	var err error
	if s.system, s.visible, err = findSystem(); err != nil {
		return s, err
	}
	said, err := s.tryBwrap(ctx, o)
	for _, without := range []*bool{&s.nested, &s.sizeless} {
		if said == "" || err != nil {
			break
		}
		*without = true // older ones, and some kernels, cannot forbid or bound it
		said, err = s.tryBwrap(ctx, o)
	}
	if err == nil && said != "" {
		err = refusal(o.kernel, s.program, said)
	}
	return s, err
}

// tryBwrap runs "true" in a box made for it. What bwrap says of its failure is no
// error.
func (s Sandbox) tryBwrap(ctx context.Context, o ProbeOptions) (said string, err error) {
	base, err := os.MkdirTemp("", "")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(base)
	if err := os.Chmod(base, 0o711); err != nil {
		return "", err
	}
	w, err := s.Wrap(Session{
		Box:   &Box{Root: base, Work: base, Plugin: base, Home: base, Config: base, Tmp: base},
		Agent: SelfAgent, Limits: Limits{Disk: 1 << 20},
	})
	if err != nil {
		return "", err
	}
	defer w.Close()
	// The helper would be whatever program this code is part of.
	w.Args = append(w.Args[:2:2], "--", findProgram("/usr/bin:/bin:/run/current-system/sw/bin", "true"))
	return try(ctx, o, w, "/")
}

// refusal tells one refusal from another by what bwrap prints and by the
// kernel's settings: its exit code is always the same.
func refusal(kernel, program, said string) error {
	setting := func(name string) string {
		if kernel == "" {
			kernel = "/proc/sys"
		}
		data, _ := os.ReadFile(filepath.Join(kernel, name))
		return strings.TrimSpace(string(data))
	}
	has := func(parts ...string) bool {
		return slices.ContainsFunc(parts, func(part string) bool { return strings.Contains(said, part) })
	}
	switch {
	case has("nknown option"):
		return &ProbeError{Text: program + " is too old", Output: said, Command: bwrapPackage}
	case !has("ew namespace", "uid map", "gid map", "RTM_NEWADDR", "No permissions"):
		return &ProbeError{Text: program + " does not work", Output: said}
	case setting("kernel/apparmor_restrict_unprivileged_userns") == "1":
		return &ProbeError{
			Text: "AppArmor refuses user namespaces to " + program, Output: said,
			Command: `printf 'abi <abi/4.0>,\ninclude <tunables/global>\nprofile bwrap ` + program +
				` flags=(unconfined) {\n  userns,\n}\n' | sudo tee /etc/apparmor.d/bwrap && sudo apparmor_parser -r /etc/apparmor.d/bwrap`,
		}
	}
	e := &ProbeError{
		Text: "user namespaces are refused to " + program, Output: said,
		Command: "in a container: start it with --security-opt seccomp=unconfined, or run outside it",
	}
	switch "0" {
	case setting("user/max_user_namespaces"):
		e.Command = "sudo sysctl -w user.max_user_namespaces=15000"
	case setting("kernel/unprivileged_userns_clone"):
		e.Command = "sudo sysctl -w kernel.unprivileged_userns_clone=1"
	}
	return e
}
