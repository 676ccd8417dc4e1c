package isolate

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"
)

// srtVersion is the sandbox runtime whose settings these are. It changes often;
// another version is refused.
const srtVersion = "0.0.83"

// srtProxyPort is the port at which the runtime's way out is found inside on
// Linux. It leads to the gateway, which is named as the runtime's own proxy.
const srtProxyPort = 3128

// srtSettings are the runtime's settings for one session, in its words.
type srtSettings struct {
	Network    srtNetwork    `json:"network"`
	Filesystem srtFilesystem `json:"filesystem"`
	Bwrap      string        `json:"bwrapPath,omitempty"`
	Socat      string        `json:"socatPath,omitempty"`
	Ripgrep    *srtProgram   `json:"ripgrep,omitempty"`
}

type srtProgram struct {
	Command string `json:"command"`
}

// srtNetwork allows no name at all. What the runtime takes for proxies of ours
// is the gateway, so its port is the only one there is.
type srtNetwork struct {
	AllowedDomains []string `json:"allowedDomains"`
	DeniedDomains  []string `json:"deniedDomains"`
	Strict         bool     `json:"strictAllowlist"`
	HTTPProxyPort  int      `json:"httpProxyPort,omitempty"`
	SOCKSProxyPort int      `json:"socksProxyPort,omitempty"`
}

// srtFilesystem: what is denied to a reader is opened again below it by what is
// allowed, and nothing may be written but what is allowed.
type srtFilesystem struct {
	DenyRead       []string `json:"denyRead"`
	AllowRead      []string `json:"allowRead"`
	AllowWrite     []string `json:"allowWrite"`
	DenyWrite      []string `json:"denyWrite"`
	AllowGitConfig bool     `json:"allowGitConfig"`
}

// closedToSRT are the places of a machine that hold people's and programs' data.
func closedToSRT(system string) []string {
	if system == "darwin" {
		return []string{"/Users", "/Volumes", "/private/tmp", "/private/var/folders", "/private/var/root", "/opt"}
	}
	return []string{"/home", "/root", "/var", "/tmp", "/opt", "/srv", "/mnt", "/media", "/run"}
}

// settings are the runtime's for one session.
func (w Sandbox) settings(e Session, agent, system string) (srtSettings, error) {
	hidden, err := hiddenPaths(e)
	if err != nil {
		return srtSettings{}, err
	}
	box := []string{e.Box.Work, e.Box.Home, e.Box.Config, e.Box.Tmp}
	s := srtSettings{
		Network: srtNetwork{AllowedDomains: []string{}, DeniedDomains: []string{}, Strict: true, HTTPProxyPort: e.Port, SOCKSProxyPort: e.Port},
		Filesystem: srtFilesystem{
			DenyRead: append(closedToSRT(system), e.Box.Root), AllowRead: slices.Concat(box, []string{e.Box.Plugin, agent}, e.ReadOnly, w.ownPlaces()),
			AllowWrite: box, DenyWrite: []string{}, AllowGitConfig: true,
		},
	}
	if !slices.Contains(box, e.Box.Plugin) {
		s.Filesystem.DenyWrite = append(s.Filesystem.DenyWrite, e.Box.Plugin)
	}
	for _, h := range hidden {
		if h != agent { // the stand-in is loopd's own program
			s.Filesystem.DenyRead = append(s.Filesystem.DenyRead, h)
		}
	}
	if system == "linux" {
		s.Bwrap, s.Socat, s.Ripgrep = w.tools["bwrap"], w.tools["socat"], &srtProgram{w.tools["rg"]}
	}
	return s, nil
}

// ownPlaces are what the runtime itself needs inside: its package and, on
// Linux, the programs that carry the session's way out.
func (w Sandbox) ownPlaces() []string {
	out := []string{filepath.Dir(filepath.Dir(w.program))}
	if path := w.tools["socat"]; path != "" {
		out = append(out, path)
	}
	return out
}

// runtimed returns the runtime with settings written for this session beside
// its box, where the session cannot read them.
func (w Sandbox) runtimed(out *Wrapped, e Session) error {
	agent := e.Agent
	if agent == SelfAgent {
		self, err := os.Executable()
		if err != nil {
			return err
		}
		agent = self
	}
	agent, err := landlockAgent(e.Box, agent)
	if err != nil {
		return err
	}
	s, err := w.settings(e, agent, runtime.GOOS)
	if err != nil {
		return err
	}
	data, err := json.Marshal(s)
	if err != nil {
		return err
	}
	file := filepath.Join(e.Box.Root, randomName())
	if err := os.WriteFile(file, data, 0o644); err != nil {
		return err
	}
	out.Path = w.tools["node"]
	out.Args = []string{w.program, "--settings", file, "-c", srtCommand(e, agent, out.Env, runtime.GOOS)}
	return nil
}

// srtCommand starts the agent with the session's own environment: the runtime
// adds names that say where the session is. Values are taken from the runtime's
// environment where they can be, so that no command line holds them.
func srtCommand(e Session, agent string, environ []string, system string) string {
	words := []string{"exec", "env", "-i"}
	for _, kv := range environ {
		name, value, _ := strings.Cut(kv, "=")
		switch {
		case name == "ANTHROPIC_BASE_URL" && system == "linux" && e.Port != 0:
			words = append(words, fmt.Sprintf("%s=http://127.0.0.1:%d", name, srtProxyPort))
		case name == "TMPDIR": // the runtime has its own
			words = append(words, name+"="+shellQuote(value))
		default:
			words = append(words, name+`="$`+name+`"`)
		}
	}
	words = append(words, shellQuote(agent))
	for _, a := range e.Args {
		words = append(words, shellQuote(a))
	}
	return strings.Join(words, " ")
}

func shellQuote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

// srtWalls finds the runtime and what it needs, and runs a program within it.
func srtWalls(ctx context.Context, o ProbeOptions) (Sandbox, error) {
	if os.Geteuid() == 0 && o.UID == 0 {
		return Sandbox{}, &ProbeError{Reason: ReasonFailed, Program: "sandbox-runtime", Output: "sessions of root could change the kernel's settings in it"}
	}
	w := Sandbox{backend: SRT, uid: o.UID, tools: make(map[string]string)}
	needs := []string{"srt", "node"}
	if runtime.GOOS == "linux" {
		needs = append(needs, "bwrap", "socat", "rg")
	}
	var err error
	for _, name := range needs {
		found := findProgram(o.Path, name)
		if found == "" {
			return Sandbox{}, &ProbeError{Reason: ReasonAbsent, Missing: name}
		}
		// A link to it may lie where a session sees nothing.
		if w.tools[name], err = filepath.EvalSymlinks(found); err != nil {
			return Sandbox{}, fmt.Errorf("probe walls: %w", err)
		}
	}
	w.program = w.tools["srt"]
	if _, w.visible, err = findSystem(); err != nil {
		return Sandbox{}, fmt.Errorf("probe walls: %w", err)
	}
	said, err := w.trySRT(ctx, o)
	if err != nil {
		return Sandbox{}, fmt.Errorf("probe walls: %w", err)
	}
	if said != "" {
		return Sandbox{}, &ProbeError{Reason: ReasonFailed, Program: "sandbox-runtime", Output: said}
	}
	return w, nil
}

// trySRT asks the version and has the runtime keep a program from a file.
func (w Sandbox) trySRT(ctx context.Context, o ProbeOptions) (said string, err error) {
	ctx, cancel := context.WithTimeout(ctx, probeTime)
	defer cancel()
	version, err := exec.CommandContext(ctx, w.tools["node"], w.program, "--version").CombinedOutput()
	if got := strings.TrimSpace(string(version)); err != nil || got != srtVersion {
		return fmt.Sprintf("its version is %q, not %s (%v)", got, srtVersion, err), ctx.Err()
	}
	base, err := os.MkdirTemp("", "")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(base)
	inside, outside := filepath.Join(base, "inside"), filepath.Join(base, "outside")
	err = errors.Join(os.Chmod(base, 0o711), os.Mkdir(inside, 0o777), os.Chmod(inside, 0o777), os.WriteFile(outside, []byte("outside"), 0o666), os.Chmod(outside, 0o666))
	if err != nil {
		return "", err
	}
	box := &Box{Root: base, Work: inside, Plugin: inside, Home: inside, Config: inside, Tmp: inside}
	wrapped, err := w.Wrap(Session{
		Box: box, Agent: "/bin/sh", Env: []string{"PATH=" + o.Path, "HOME=" + inside},
		Args: []string{"-c", `echo x > "$0" || exit 3; grep -s outside "$1" && exit 4; (echo x > "$1") 2>/dev/null; exit 0`, filepath.Join(inside, "x"), outside},
	})
	if err != nil {
		return "", err
	}
	defer wrapped.Close()
	var out bytes.Buffer
	cmd := exec.CommandContext(ctx, wrapped.Path, wrapped.Args...)
	cmd.Env, cmd.Dir, cmd.Stdout, cmd.Stderr, cmd.WaitDelay, cmd.SysProcAttr = wrapped.Env, inside, &out, &out, time.Second, probeAttr(o)
	if runErr := cmd.Run(); runErr != nil && ctx.Err() == nil {
		return strings.TrimSpace(out.String() + " (" + runErr.Error() + ")"), nil
	}
	// What is closed is an empty place of the session's own, which it may fill.
	if data, err := os.ReadFile(outside); err != nil || string(data) != "outside" {
		return "a file outside was written to", err
	}
	return "", ctx.Err()
}
