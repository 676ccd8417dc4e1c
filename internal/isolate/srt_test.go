package isolate

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"loopd/internal/testenv"
)

func srtBox() *Box {
	return &Box{Root: "/tmp/box", Work: "/tmp/box/w", Plugin: "/tmp/box/p/letters", Home: "/tmp/box/h", Config: "/tmp/box/c", Tmp: "/tmp/box/t"}
}

// The settings close what is people's, open the box and what it needs, and know
// no way out but the gateway's port.
func TestRuntimeSettings(t *testing.T) {
	t.Parallel()
	secret := filepath.Join(t.TempDir(), "secret")
	testenv.Must(t, os.WriteFile(secret, nil, 0o600))
	resolved, err := filepath.EvalSymlinks(secret)
	testenv.Must(t, err)
	self, err := os.Executable()
	testenv.Must(t, err)
	if self, err = filepath.EvalSymlinks(self); err != nil {
		t.Fatal(err)
	}
	w := Sandbox{backend: SRT, program: "/opt/srt/dist/cli.js"}
	e := Session{Box: srtBox(), Port: 4711, ReadOnly: []string{"/home/u/.rbenv"}, Hidden: []string{secret, "/absent"}}
	box := []string{"/tmp/box/w", "/tmp/box/h", "/tmp/box/c", "/tmp/box/t"}
	got, err := w.settings(e, "/cache/claude")
	testenv.Must(t, err)
	want := srtSettings{
		Network: srtNetwork{AllowedDomains: []string{}, DeniedDomains: []string{}, Strict: true, HTTPProxyPort: 4711, SOCKSProxyPort: 4711},
		Filesystem: srtFilesystem{
			DenyRead:   []string{"/Users", "/Volumes", "/private/tmp", "/private/var/folders", "/private/var/root", "/opt", "/tmp/box", self, resolved},
			AllowWrite: box, DenyWrite: []string{"/tmp/box/p/letters"}, AllowGitConfig: true,
			AllowRead: append(slices.Clone(box), "/tmp/box/p/letters", "/cache/claude", "/home/u/.rbenv", "/opt/srt"),
		},
	}
	testenv.Same(t, "settings", want, got)
	if data, err := json.Marshal(got); err != nil || strings.Contains(string(data), "null") {
		t.Errorf("a list is missing: %s, %v", data, err)
	}
	e.Port = 0
	if got, err := w.settings(e, "/cache/claude"); err != nil || got.Network.HTTPProxyPort != 0 || len(got.Network.AllowedDomains) != 0 {
		t.Errorf("without a gateway: got %+v, %v, want no network", got.Network, err)
	}
	e.Box.Work = e.Box.Plugin // a judge's, which has no plugin
	if got, err := w.settings(e, "/cache/claude"); err != nil || len(got.Filesystem.DenyWrite) != 0 {
		t.Errorf("a room for all: got %+v, %v", got.Filesystem, err)
	}
}

// The command gives the agent its arguments and environment, whatever they
// hold, without a value on the command line.
func TestRuntimeCommand(t *testing.T) {
	t.Parallel()
	environ := []string{"A=it's $HOME `x`", "TMPDIR=/tmp/it's", "ANTHROPIC_BASE_URL=http://127.0.0.1:4711", "ANTHROPIC_API_KEY=dummy-secret"}
	e := Session{Box: srtBox(), Port: 4711, Args: []string{"-c", `printf '%s|' "$@"; env | sort | grep -v '^PWD\|^SHLVL\|^_='`, "sh", "", "two words", "it's", "$A"}}
	command := srtCommand(e, "/bin/sh", environ)
	if strings.Contains(command, "dummy-secret") {
		t.Errorf("a value is on the command line: %s", command)
	}
	cmd := exec.Command("/bin/sh", "-c", command)
	cmd.Env = append(slices.Clone(environ), "SANDBOX_RUNTIME=1", "TMPDIR=/tmp/claude", "PATH=/usr/bin:/bin")
	out, err := cmd.CombinedOutput()
	want := "|two words|it's|$A|A=it's $HOME `x`\nANTHROPIC_API_KEY=dummy-secret\nANTHROPIC_BASE_URL=http://127.0.0.1:4711\nTMPDIR=/tmp/it's\n"
	if err != nil || string(out) != want {
		t.Errorf("got %v\n%s\nwant\n%s", err, out, want)
	}
}

func TestRungsOfEachSystem(t *testing.T) {
	t.Parallel()
	for system, want := range map[string][]Backend{"linux": {Bwrap, Landlock}, "darwin": {SRT}, "plan9": nil} {
		if got := Backends(system); !slices.Equal(got, want) {
			t.Errorf("%s: got %v, want %v", system, got, want)
		}
	}
	if _, err := Probe(t.Context(), ProbeOptions{Backend: "chroot"}); err == nil {
		t.Error("an unknown backend was probed")
	} else if _, answer := errors.AsType[*ProbeError](err); answer {
		t.Errorf("got %v, want no answer", err)
	}
	if got := (Sandbox{backend: Landlock, abi: 9}).String(); got != "landlock 6" {
		t.Errorf("got %q, want no more than what is asked of the kernel", got)
	}
	if got := (Sandbox{backend: Landlock, abi: 4}).String() + " " + (Sandbox{}).String() + " " + (Sandbox{backend: Bwrap}).String(); got != "landlock 4 none bwrap" {
		t.Errorf("got %q", got)
	}
}
