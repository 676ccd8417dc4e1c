package isolate

import (
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
)

// srtVersion is the sandbox runtime whose settings these are. It changes often;
// another version is refused.
const srtVersion = "0.0.83"

// srtSettings are the runtime's settings for one session, in its words.
type srtSettings struct {
	Network    srtNetwork    `json:"network"`
	Filesystem srtFilesystem `json:"filesystem"`
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

// settings are the runtime's for one session. Closed are the places of a
// machine that hold people's and programs' data.
func (s Sandbox) settings(e Session, agent string) (srtSettings, error) {
	closed := []string{"/Users", "/Volumes", "/private/tmp", "/private/var/folders", "/private/var/root", "/opt", e.Box.Root}
	hidden, err := hidden(e)
	if err != nil {
		return srtSettings{}, err
	}
	for _, h := range hidden {
		if h != agent { // the stand-in is loopd's own program
			closed = append(closed, h)
		}
	}
	box := []string{e.Box.Work, e.Box.Home, e.Box.Config, e.Box.Tmp}
	readOnly := []string{}
	if !slices.Contains(box, e.Box.Plugin) {
		readOnly = []string{e.Box.Plugin}
	}
	return srtSettings{
		Network: srtNetwork{AllowedDomains: []string{}, DeniedDomains: []string{}, Strict: true, HTTPProxyPort: e.Port, SOCKSProxyPort: e.Port},
		Filesystem: srtFilesystem{
			DenyRead: closed, AllowRead: slices.Concat(box, []string{e.Box.Plugin, agent}, e.ReadOnly, []string{filepath.Dir(filepath.Dir(s.program))}),
			AllowWrite: box, DenyWrite: readOnly, AllowGitConfig: true,
		},
	}, nil
}

// wrapSRT starts the runtime with settings written for this session beside its
// box, where the session cannot read them.
func (s Sandbox) wrapSRT(out *Wrapped, e Session) (err error) {
	agent := e.Agent
	if agent == SelfAgent {
		if agent, err = os.Executable(); err != nil {
			return err
		}
	}
	if agent, err = agentInBox(e.Box, agent); err != nil {
		return err
	}
	settings, err := s.settings(e, agent)
	if err != nil {
		return err
	}
	data, err := json.Marshal(settings)
	if err != nil {
		return err
	}
	file := filepath.Join(e.Box.Root, randomName())
	out.Path = s.node
	out.Args = []string{s.program, "--settings", file, "-c", srtCommand(e, agent, out.Env)}
	return os.WriteFile(file, data, 0o644)
}

// srtCommand starts the agent with the session's own environment: the runtime
// adds names that say where the session is. Values are taken from the runtime's
// environment where they can be, so that no command line holds them.
func srtCommand(e Session, agent string, environ []string) string {
	words := []string{"exec", "env", "-i"}
	for _, kv := range environ {
		name, value, _ := strings.Cut(kv, "=")
		if name == "TMPDIR" { // the runtime has its own
			words = append(words, name+"="+shellQuote(value))
		} else {
			words = append(words, name+`="$`+name+`"`)
		}
	}
	for _, a := range append([]string{agent}, e.Args...) {
		words = append(words, shellQuote(a))
	}
	return strings.Join(words, " ")
}

func shellQuote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

// probeSRT finds the runtime and what it runs on, and runs a program within it.
func probeSRT(ctx context.Context, o ProbeOptions) (s Sandbox, err error) {
	const install = "npm install -g @anthropic-ai/sandbox-runtime@" + srtVersion
	s = Sandbox{backend: SRT, uid: o.UID}
	switch {
	case runtime.GOOS != "darwin":
		return s, &ProbeError{Text: "the sandbox runtime is used on macOS only", Command: "in loopd.yaml: isolation: {rung: auto}"}
	case os.Geteuid() == 0 && o.UID == 0:
		return s, &ProbeError{Text: "the sandbox runtime does not work", Output: "sessions of root could change the kernel's settings in it"}
	}
	for name, path := range map[string]*string{"srt": &s.program, "node": &s.node} {
		found := findProgram(o.Path, name)
		if found == "" {
			return s, &ProbeError{Text: name + " of the sandbox runtime " + srtVersion + " is not on the PATH", Command: install}
		}
		// A link to it may lie where a session sees nothing.
		if *path, err = filepath.EvalSymlinks(found); err != nil {
			return s, err
		}
	}
	ctx, cancel := context.WithTimeout(ctx, 2*probeTime)
	defer cancel()
	version, err := exec.CommandContext(ctx, s.node, s.program, "--version").CombinedOutput()
	if got := strings.TrimSpace(string(version)); err != nil || got != srtVersion {
		return s, &ProbeError{Text: fmt.Sprintf("the sandbox runtime's version is %q, not %s", got, srtVersion), Command: install}
	}
	if _, s.visible, err = findSystem(); err != nil {
		return s, err
	}
	said, err := s.trySRT(ctx, o)
	if err == nil && said != "" {
		err = &ProbeError{Text: "the sandbox runtime does not work", Output: said}
	}
	return s, err
}

// trySRT has the runtime keep a program from a file.
func (s Sandbox) trySRT(ctx context.Context, o ProbeOptions) (said string, err error) {
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
	w, err := s.Wrap(Session{
		Box:   &Box{Root: base, Work: inside, Plugin: inside, Home: inside, Config: inside, Tmp: inside},
		Agent: "/bin/sh", Env: []string{"PATH=" + o.Path, "HOME=" + inside},
		Args: []string{"-c", `echo x > "$0" || exit 3; grep -s outside "$1" && exit 4; (echo x > "$1") 2>/dev/null; exit 0`, filepath.Join(inside, "x"), outside},
	})
	if err != nil {
		return "", err
	}
	defer w.Close()
	if said, err = try(ctx, o, w, inside); said != "" || err != nil {
		return said, err
	}
	// What is closed is an empty place of the session's own, which it may fill.
	if data, err := os.ReadFile(outside); err != nil || string(data) != "outside" {
		return "a file outside was written to", err
	}
	return "", nil
}
