package trial

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"loopd/harness"
	"loopd/internal/agent"
	"loopd/internal/isolate"
	"loopd/internal/testenv"
)

// launchCheck looks at one thing about how sessions are started. It returns an
// error when the launch is refused, and otherwise fails the test itself.
type launchCheck func(f fixture, t *testing.T, l launched) error

func launchChecks() map[string]launchCheck {
	return map[string]launchCheck{
		"own places": fixture.ownPlaces, "base": fixture.base, "fresh places": fixture.freshPlaces, "environment": fixture.environment,
		"history": fixture.history, "git directory": fixture.gitDirectory, "inside": fixture.inside, "neutral": fixture.neutral,
		"one plugin": fixture.onePlugin, "traps": fixture.traps, "many files": fixture.manyFiles,
	}
}

// launched is what a launch is made of: the sealed suite and a project.
type launched struct {
	suite   harness.Suite
	project harness.Tree
	git     *isolate.GitTemplate
	base    string
}

func (f fixture) launch(t *testing.T, suite harness.Suite) {
	check := launchChecks()[f.Check]
	if check == nil || f.Want.Starts == (f.Want.Error != "") {
		t.Fatalf("there is no check %q, or it is wanted both to start and to be refused", f.Check)
	}
	l := launched{suite: suite, project: suite.Fixtures["lighthouse"], base: t.TempDir()}
	var err error
	if l.git, err = isolate.NewGitTemplate(t.Context(), l.project); err != nil {
		t.Fatal(err)
	}
	err = check(f, t, l)
	switch {
	case f.Want.Error == "" && err != nil:
		t.Errorf("refused: %v", err)
	case f.Want.Error != "" && (err == nil || !strings.Contains(err.Error(), f.Want.Error)):
		t.Errorf("got %v, want an error with %q", err, f.Want.Error)
	}
}

func (l launched) box(t *testing.T) (*isolate.Box, error) {
	t.Helper()
	box, err := isolate.New(t.Context(), isolate.Options{
		Base: l.base, Fixture: l.project, Git: l.git, PluginName: l.suite.Checker.Plugin,
		Plugin: harness.Tree{"hooks/note.md": {Mode: 0o644, Data: []byte(keeperNote)}},
	})
	if err == nil {
		t.Cleanup(func() { box.Remove() })
	}
	return box, err
}

// environ is the environment a session in the box gets.
func (l launched) environ(box *isolate.Box) ([]string, error) {
	e := &Executor{o: Options{Suite: l.suite}}
	return agent.Environ(l.suite.Launch, e.values(box, "key", nowhere))
}

// ownPlaces: two sessions share no directory that the agent CLI writes to.
func (f fixture) ownPlaces(t *testing.T, l launched) error {
	seen := make(map[string]bool)
	for range 2 {
		box, err := l.box(t)
		if err != nil {
			return err
		}
		env, err := l.environ(box)
		if err != nil {
			return err
		}
		for _, name := range []string{"HOME", "CLAUDE_CONFIG_DIR", "TMPDIR"} {
			i := slices.IndexFunc(env, func(e string) bool { return strings.HasPrefix(e, name+"=") })
			if i < 0 {
				t.Fatalf("the session has no %s", name)
			}
			place := strings.TrimPrefix(env[i], name+"=")
			wantPrivate(t, place)
			if seen[place] {
				t.Errorf("two sessions share %s", place)
			}
			seen[place] = true
		}
	}
	return nil
}

// wantPrivate checks an empty directory that nobody else can enter.
func wantPrivate(t *testing.T, place string) {
	t.Helper()
	info, err := os.Stat(place)
	testenv.Must(t, err)
	entries, err := os.ReadDir(place)
	if err != nil || len(entries) > 0 || info.Mode().Perm() != 0o700 {
		t.Errorf("%s: mode %v, %d entries (%v), want an empty 0700", place, info.Mode(), len(entries), err)
	}
}

// base: boxes are made below the directory of the fixture's files.
func (f fixture) base(t *testing.T, l launched) error {
	for name, file := range f.tree("above") {
		at := filepath.Join(l.base, name)
		testenv.Must(t, errors.Join(os.MkdirAll(filepath.Dir(at), 0o755), os.WriteFile(at, file.Data, 0o644)))
	}
	l.base = filepath.Join(l.base, f.Place)
	testenv.Must(t, os.MkdirAll(l.base, 0o755))
	_, err := l.box(t)
	return err
}

// freshPlaces: what one session remembers, the next does not find.
func (f fixture) freshPlaces(t *testing.T, l launched) error {
	first, err := l.box(t)
	if err != nil {
		return err
	}
	for _, place := range []string{first.Home, first.Config, first.Tmp, first.Plugin} {
		testenv.Must(t, os.WriteFile(filepath.Join(place, "usage.json"), []byte(`{"skill":9}`), 0o600))
	}
	testenv.Must(t, first.Remove())
	next, err := l.box(t)
	if err != nil {
		return err
	}
	for _, place := range []string{next.Home, next.Config, next.Tmp} {
		wantPrivate(t, place)
	}
	if entries, err := os.ReadDir(next.Plugin); err != nil || len(entries) != 1 {
		t.Errorf("the plugin's copy holds %v (%v)", entries, err)
	}
	return nil
}

// environment: the names a person has set reach no session, and a profile that
// asks for the named one is refused. place is NAME, or + NAME for a profile
// that lists it.
func (f fixture) environment(t *testing.T, l launched) error {
	box, err := l.box(t)
	if err != nil {
		return err
	}
	if name, listed := strings.CutPrefix(f.Place, "+ "); listed {
		l.suite.Launch.Env = append(slices.Clone(l.suite.Launch.Env), name)
		_, err := agent.Environ(l.suite.Launch, map[string]string{name: "1"})
		return err
	}
	cmd := exec.Command(os.Args[0], "-test.run=^TestConformance_Environment$", "-test.v")
	cmd.Env = append(os.Environ(), f.Place+"=1", "CONFORMANCE_BOX="+box.Root)
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "environment: HOME") {
		t.Fatalf("%v: %s", err, out)
	}
	if strings.Contains(string(out), f.Place) {
		t.Errorf("a session is given %s", f.Place)
	}
	return nil
}

// TestConformance_Environment is the other half of the check environment: a
// loopd that was started with a name too many. Alone it shows nothing.
func TestConformance_Environment(t *testing.T) {
	root := os.Getenv("CONFORMANCE_BOX")
	if root == "" {
		t.Skip("started by the corpus only")
	}
	at := func(name string) string { return filepath.Join(root, name) }
	l := launched{suite: conformanceSuite(t)}
	env, err := l.environ(&isolate.Box{Root: root, Home: at("h"), Config: at("c"), Tmp: at("t")})
	testenv.Must(t, err)
	for _, e := range env {
		name, _, _ := strings.Cut(e, "=")
		t.Log("environment: " + name)
	}
}

// history: the project is one commit that says nothing of the scenario.
func (f fixture) history(t *testing.T, l launched) error {
	box, err := l.box(t)
	if err != nil {
		return err
	}
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"rev-list", "--all", "--count"}, "1"},
		{[]string{"log", "--all", "--format=%B"}, "Import project"},
		{[]string{"reflog"}, ""},
		{[]string{"remote"}, ""},
		{[]string{"stash", "list"}, ""},
		{[]string{"for-each-ref", "--format=%(refname)"}, "refs/heads/main"},
		{[]string{"status", "--porcelain"}, ""},
	} {
		cmd := exec.CommandContext(t.Context(), "git", c.args...)
		cmd.Dir = box.Work
		cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + box.Home, "GIT_CONFIG_NOSYSTEM=1", "GIT_OPTIONAL_LOCKS=0"}
		out, err := cmd.CombinedOutput()
		if got := strings.TrimSpace(string(out)); err != nil || got != c.want {
			t.Errorf("git %v: got %q (%v), want %q", c.args, got, err, c.want)
		}
	}
	return nil
}

// gitDirectory: the project's .git is a directory of its own, as a sandboxed
// shell needs it.
func (f fixture) gitDirectory(t *testing.T, l launched) error {
	box, err := l.box(t)
	if err != nil {
		return err
	}
	info, err := os.Lstat(filepath.Join(box.Work, ".git"))
	if err != nil || !info.IsDir() {
		t.Errorf(".git: %v (%v), want a directory", info, err)
	}
	for _, name := range []string{"commondir", "gitdir", "objects/info/alternates"} {
		if _, err := os.Lstat(filepath.Join(box.Work, ".git", name)); err == nil {
			t.Errorf(".git/%s leads elsewhere", name)
		}
	}
	return nil
}

// inside: a shell within walls says what the fixture wants to the command it is
// given. Without bubblewrap there is nothing to look at.
func (f fixture) inside(t *testing.T, l launched) error {
	uid := 0
	if os.Geteuid() == 0 {
		uid = 65534
	}
	w, err := isolate.Probe(t.Context(), isolate.ProbeOptions{Path: os.Getenv("PATH"), UID: uid, GID: uid})
	testenv.Need(t, "bwrap", err)
	box, err := l.box(t)
	if err != nil {
		return err
	}
	env, err := l.environ(box)
	if err != nil {
		return err
	}
	sh, err := exec.LookPath("sh")
	testenv.Must(t, err)
	out, err := w.Wrap(isolate.Session{Box: box, Agent: sh, Args: []string{"-c", f.Command}, Env: env})
	if err != nil {
		return err
	}
	defer out.Close()
	cmd := exec.CommandContext(t.Context(), out.Path, out.Args...)
	cmd.Env, cmd.ExtraFiles, cmd.Dir = out.Env, out.Files, box.Work
	said, err := cmd.CombinedOutput()
	if got := strings.TrimSpace(string(said)); err != nil || got != strings.TrimSpace(f.files["said"]) {
		t.Errorf("got %q (%v), want %q", got, err, f.files["said"])
	}
	return nil
}

// neutral: no path of a box and no argument of a session names what it is for,
// and the task is not among the arguments.
func (f fixture) neutral(t *testing.T, l launched) error {
	box, err := l.box(t)
	if err != nil {
		return err
	}
	model, _ := l.suite.Launch.Model("small")
	args := strings.Join(agent.Command(l.suite.Launch, agent.CommandOptions{Model: model, PluginDir: box.Plugin}), " ")
	paths := strings.Join([]string{box.Work, box.Home, box.Config, box.Tmp, box.Plugin}, " ")
	own := strings.ReplaceAll(args+" "+paths, l.base, "")
	for _, word := range strings.Fields(f.files["words"]) {
		if strings.Contains(strings.ToLower(own), word) {
			t.Errorf("%q is in %s", word, own)
		}
	}
	for _, sc := range l.suite.Scenarios {
		if len(sc.Task.Overlap(args, 3)) > 0 {
			t.Errorf("the task of %s is among the arguments", sc.ID)
		}
	}
	if info, err := os.Stat(box.Root); err != nil || info.Mode().Perm()&0o066 != 0 {
		t.Errorf("other users may look into %s: %v (%v)", box.Root, info.Mode(), err)
	}
	return nil
}

// onePlugin: a session is given one plugin, this trial's copy, and no settings
// that could name another.
func (f fixture) onePlugin(t *testing.T, l launched) error {
	box, err := l.box(t)
	if err != nil {
		return err
	}
	args := agent.Command(l.suite.Launch, agent.CommandOptions{Model: "model-mini-7", PluginDir: box.Plugin})
	var dirs []string
	for i, a := range args {
		if a == "--plugin-dir" {
			dirs = append(dirs, args[i+1])
		}
	}
	if !slices.Equal(dirs, []string{box.Plugin}) || !slices.Contains(args, "--setting-sources=") || !slices.Contains(args, "--strict-mcp-config") {
		t.Errorf("got %q", args)
	}
	return nil
}
