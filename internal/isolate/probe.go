package isolate

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"
)

// ProbeOptions say which backend to try, where to look for its programs and who
// will run them.
type ProbeOptions struct {
	// Backend is the one to try; bubblewrap's when empty.
	Backend Backend
	// Path is a list of directories like the variable's.
	Path string
	// UID and GID are who sessions run as when loopd is root; 0 for no change.
	UID, GID int
}

// Reason is why there are no walls.
type Reason string

// The reasons.
const (
	ReasonSystem   Reason = "system"   // another operating system
	ReasonAbsent   Reason = "absent"   // a program of the backend is not installed
	ReasonAppArmor Reason = "apparmor" // AppArmor lets no program make a user namespace without a profile
	ReasonRefused  Reason = "refused"  // the kernel or a container refuses user namespaces
	ReasonOld      Reason = "old"      // this bubblewrap lacks an option
	ReasonFailed   Reason = "failed"   // it ran and failed in another way

	ReasonNoLandlock Reason = "no landlock" // the kernel has none that is new enough
)

// ProbeError says why sessions cannot be walled in.
type ProbeError struct {
	Reason  Reason
	Program string // what was tried: bwrap, where it was found
	Output  string // what it said
	Missing string // of an absent program, its name
	knob    string // the setting that refuses, where one is known
}

// Error names the reason and what bubblewrap said.
func (e *ProbeError) Error() string {
	text := map[Reason]string{
		ReasonSystem:   e.Program + " needs Linux",
		ReasonAbsent:   packageOf(e.Missing) + " (" + e.Missing + ") is not on the PATH",
		ReasonAppArmor: "AppArmor refuses user namespaces to " + e.Program,
		ReasonRefused:  "user namespaces are refused to " + e.Program,
		ReasonOld:      e.Program + " is too old",
		ReasonFailed:   e.Program + " does not work",

		ReasonNoLandlock: "this kernel's Landlock knows no ports",
	}[e.Reason]
	if e.Output == "" {
		return "probe walls: " + text
	}
	return fmt.Sprintf("probe walls: %s: %s", text, e.Output)
}

// Hint is the command that helps, or what to do where there is none.
func (e *ProbeError) Hint() string {
	switch e.Reason {
	case ReasonAbsent, ReasonOld:
		if name := packageOf(e.Missing); e.Reason == ReasonAbsent && e.Missing != "bwrap" {
			if e.Missing == "srt" {
				return "npm install -g " + name
			}
			return "apt-get install " + name
		}
		return "apt-get install bubblewrap (dnf, zypper, pacman and apk call it bubblewrap too; 0.5 or newer)"
	case ReasonAppArmor:
		return `printf 'abi <abi/4.0>,\ninclude <tunables/global>\nprofile bwrap ` + e.Program +
			` flags=(unconfined) {\n  userns,\n}\n' | sudo tee /etc/apparmor.d/bwrap && sudo apparmor_parser -r /etc/apparmor.d/bwrap`
	case ReasonNoLandlock:
		return "Linux 6.7 or newer, with landlock in the boot parameter lsm="
	case ReasonRefused:
		if e.knob != "" {
			return "sudo sysctl -w " + e.knob
		}
		return "in a container: start it with --security-opt seccomp=unconfined, or run outside it"
	}
	return ""
}

// probeTime bounds one try; a try takes milliseconds.
const probeTime = 20 * time.Second

// packageOf is what installs a program.
func packageOf(program string) string {
	switch program {
	case "bwrap":
		return "bubblewrap"
	case "rg":
		return "ripgrep"
	case "srt":
		return "@anthropic-ai/sandbox-runtime@" + srtVersion
	}
	return program
}

// Backends lists the backends that a system can have, the better first. Anthropic's
// sandbox runtime is bubblewrap again on Linux, with less of it: there it is
// taken only when it is asked for.
func Backends(system string) []Backend {
	switch system {
	case "linux":
		return []Backend{Bwrap, Landlock}
	case "darwin":
		return []Backend{SRT}
	}
	return nil
}

// Probe tries one backend and proves that it works here by running a program
// within it, with the options a session gets. An error that is a *ProbeError is
// an answer: there are no such walls, and why.
func Probe(ctx context.Context, o ProbeOptions) (Sandbox, error) {
	switch o.Backend {
	case Bwrap, "":
		return prober{proc: "/proc/sys"}.probe(ctx, o)
	case Landlock:
		return landlockWalls(ctx, o)
	case SRT:
		return srtWalls(ctx, o)
	}
	return Sandbox{}, fmt.Errorf("probe walls: unknown backend %q", o.Backend)
}

func landlockWalls(ctx context.Context, o ProbeOptions) (Sandbox, error) {
	abi, err := probeLandlock(ctx)
	if _, answer := errors.AsType[*ProbeError](err); answer {
		return Sandbox{}, err
	}
	_, visible, findErr := findSystem()
	if err := errors.Join(err, findErr); err != nil {
		return Sandbox{}, fmt.Errorf("probe walls: %w", err)
	}
	return Sandbox{backend: Landlock, visible: visible, abi: abi, uid: o.UID}, nil
}

type prober struct {
	proc string // the kernel's settings
}

func (p prober) probe(ctx context.Context, o ProbeOptions) (Sandbox, error) {
	if runtime.GOOS != "linux" {
		return Sandbox{}, &ProbeError{Reason: ReasonSystem, Program: "bubblewrap"}
	}
	program := findProgram(o.Path, "bwrap")
	if program == "" {
		return Sandbox{}, &ProbeError{Reason: ReasonAbsent, Missing: "bwrap"}
	}
	system, visible, err := findSystem()
	if err != nil {
		return Sandbox{}, fmt.Errorf("probe walls: %w", err)
	}
	w := Sandbox{backend: Bwrap, program: program, system: system, visible: visible, uid: o.UID}
	said, err := w.try(ctx, o)
	for _, without := range []*bool{&w.nested, &w.sizeless} {
		if said == "" || err != nil {
			break
		}
		*without = true // older ones, and some kernels, cannot forbid or bound it
		said, err = w.try(ctx, o)
	}
	if err != nil {
		return Sandbox{}, fmt.Errorf("probe walls: %w", err)
	}
	if said != "" {
		return Sandbox{}, p.reason(program, said)
	}
	return w, nil
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

// try runs "true" in a box made for it. What bwrap says of its failure is no
// error.
func (w Sandbox) try(ctx context.Context, o ProbeOptions) (said string, err error) {
	base, err := os.MkdirTemp("", "")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(base)
	if err := os.Chmod(base, 0o711); err != nil {
		return "", err
	}
	box := &Box{Root: base, Work: base, Plugin: base, Home: base, Config: base, Tmp: base}
	wrapped, err := w.Wrap(Session{Box: box, Agent: SelfAgent, Limits: Limits{Disk: 1 << 20}})
	if err != nil {
		return "", err
	}
	defer wrapped.Close()
	// The helper would be whatever program this code is part of.
	command := findProgram("/usr/bin:/bin:/run/current-system/sw/bin", "true")
	return run(ctx, o, append(wrapped.Args[:2:2], "--", command), wrapped)
}

func run(ctx context.Context, o ProbeOptions, args []string, w *Wrapped) (said string, err error) {
	ctx, cancel := context.WithTimeout(ctx, probeTime)
	defer cancel()
	var out bytes.Buffer
	cmd := exec.CommandContext(ctx, w.Path, args...)
	cmd.Env, cmd.Dir = []string{}, "/"
	cmd.Stdout, cmd.Stderr, cmd.ExtraFiles = &out, &out, w.Files
	cmd.WaitDelay = time.Second
	cmd.SysProcAttr = probeAttr(o)
	runErr := cmd.Run()
	if err := ctx.Err(); err != nil && runErr != nil {
		return "", err
	}
	if runErr == nil {
		return "", nil
	}
	if said = strings.TrimSpace(out.String()); said == "" {
		said = runErr.Error()
	}
	return said, nil
}

// probeAttr runs the probe as the user sessions will run as.
func probeAttr(o ProbeOptions) *syscall.SysProcAttr {
	attr := &syscall.SysProcAttr{Setpgid: true}
	if os.Geteuid() == 0 && o.UID != 0 {
		attr.Credential = &syscall.Credential{Uid: uint32(o.UID), Gid: uint32(o.GID)}
	}
	return attr
}

// reason tells one refusal from another by what bwrap prints and by the
// kernel's settings: its exit code is always the same.
func (p prober) reason(program, said string) error {
	e := &ProbeError{Reason: ReasonFailed, Program: program, Output: said}
	switch {
	case strings.Contains(said, "nknown option"):
		e.Reason = ReasonOld
	case containsAny(said, "ew namespace", "uid map", "gid map", "RTM_NEWADDR", "No permissions"):
		e.Reason = ReasonRefused
		if p.setting("kernel/apparmor_restrict_unprivileged_userns") == "1" {
			e.Reason = ReasonAppArmor
		}
		switch "0" {
		case p.setting("user/max_user_namespaces"):
			e.knob = "user.max_user_namespaces=15000"
		case p.setting("kernel/unprivileged_userns_clone"):
			e.knob = "kernel.unprivileged_userns_clone=1"
		}
	}
	return e
}

func containsAny(s string, parts ...string) bool {
	for _, part := range parts {
		if strings.Contains(s, part) {
			return true
		}
	}
	return false
}

func (p prober) setting(name string) string {
	data, err := os.ReadFile(filepath.Join(p.proc, filepath.FromSlash(name)))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return ""
	}
	return strings.TrimSpace(string(data))
}
