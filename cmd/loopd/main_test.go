package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"loopd/internal/admission"
	"loopd/internal/isolate"
	"loopd/internal/testenv"
)

// TestMain makes the test binary loopd itself, the stand-in agent when it is
// started under the agent's name, and the helper within a session's walls.
func TestMain(m *testing.M) {
	if isolate.IsHelper(os.Args) {
		os.Exit(entry(os.Args))
	}
	// Not os.Exit: under the race detector that waits a second each time.
	as := func() {
		if root := os.Getenv("SCRIPT_MACHINE"); root != "" && filepath.Base(os.Args[0]) == "loopd" {
			syscall.Exit(runLoopd(os.Args[1:], admission.Machine{OS: "linux", Root: root}))
		}
		syscall.Exit(entry(os.Args))
	}
	testscript.Main(m, map[string]func(){"loopd": as, "claude": as})
}

// TestScripts runs every script of testdata with the real program.
func TestScripts(t *testing.T) {
	scripts := testenv.Glob(t, "testdata/*.txtar")
	root := testenv.OpenDir(t)
	released := filepath.Join(root, "bin")
	if testenv.Raced() {
		buildReleased(t, released)
	}
	testscript.Run(t, testscript.Params{
		Files: scripts, WorkdirRoot: root, RequireExplicitExec: true, RequireUniqueNames: true,
		Setup: func(e *testscript.Env) error {
			script := strings.TrimPrefix(filepath.Base(e.WorkDir), "script-")
			if testenv.Raced() && !slices.Contains(underRace, script) {
				e.Setenv("PATH", released+string(filepath.ListSeparator)+e.Getenv("PATH"))
			}
			return setUp(e, filepath.Join(root, "cache"))
		},
		Condition: func(what string) (bool, error) { return what == "nightly" && testenv.Nightly(), nil },
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits": exits, "interrupted": interrupted, "plugin": makePlugin, "remember": remember, "same": same,
			"json": wantJSON, "replace": replace, "drawnight": drawNight, "api": askAPI, "until": until, "idles": idles, "page": askPage, "nothingheldout": nothingHeldOut,
		},
	})
}

// underRace names the scripts that the race detector watches: nights with
// sessions side by side, signals and restarts. Under it the others, which compute
// much or wait much, would take minutes to find nothing. power needs the test's
// own program, which can be given another machine.
var underRace = []string{"run", "interrupted", "power", "serve"}

// buildReleased builds the program as it is released, under both of its names.
func buildReleased(t *testing.T, dir string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", "build", "-trimpath", "-o", filepath.Join(dir, "loopd"), ".")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("build loopd: %v\n%s", err, out)
	}
	testenv.Must(t, os.Link(filepath.Join(dir, "loopd"), filepath.Join(dir, "claude")))
}

// filesFit holds what a script left of reports and status.json against their
// schemas.
func filesFit(e *testscript.Env) {
	err := filepath.WalkDir(e.WorkDir, func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == ".git" || d.Name() == "trials"):
			return fs.SkipDir
		case d.Name() == "status.json", filepath.Ext(name) == ".json" && filepath.Base(filepath.Dir(filepath.Dir(name))) == "reports":
			data, err := os.ReadFile(name)
			if err := errors.Join(err, fits(data)); err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
		}
		return nil
	})
	if err != nil {
		e.T().Fatal(err)
	}
}

// setUp gives a script a home, a state directory and a model of its own.
func setUp(e *testscript.Env, cache string) error {
	a := newAPI()
	e.Defer(a.close)
	e.Defer(func() { filesFit(e) })
	e.Values[apiKey{}] = a
	e.Values[treesKey{}] = make(map[string]map[string]string)
	for name, value := range map[string]string{
		"HOME": filepath.Join(e.WorkDir, "home"), "XDG_STATE_HOME": filepath.Join(e.WorkDir, "state"), "XDG_CACHE_HOME": cache,
		"ANTHROPIC_BASE_URL": a.server.URL, "ANTHROPIC_API_KEY": "sk-script-0123456789", "LOOPD_JUDGE_CMD": "echo NO",
		"GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": "/dev/null", "LC_ALL": "C",
		"GIT_AUTHOR_NAME": "author", "GIT_AUTHOR_EMAIL": "author@localhost",
		"GIT_COMMITTER_NAME": "author", "GIT_COMMITTER_EMAIL": "author@localhost",
	} {
		e.Setenv(name, value)
	}
	return os.MkdirAll(filepath.Join(e.WorkDir, "home"), 0o755)
}
