package campaign

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"loopd/frozen"
	"loopd/harness"
	"loopd/internal/testenv"
)

func sealDir(t *testing.T, dir string) Sealed {
	t.Helper()
	if _, err := frozen.Seal(t.Context(), dir); err != nil {
		t.Fatal(err)
	}
	s, err := OpenSuite(dir)
	testenv.Must(t, err)
	return s
}

func TestOpenSuiteRefuses(t *testing.T) {
	t.Parallel()
	h := Home{Dir: t.TempDir()}
	if _, err := OpenSuite(h.Suite()); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no directory: got %v", err)
	}
	testenv.Must(t, WriteBundled(h.Suite()))
	_, err := OpenSuite(h.Suite())
	if e, ok := errors.AsType[*NotSealedError](err); !ok || e.Drift != nil || e.Hint() != "loopd freeze" || !strings.Contains(e.Error(), "not sealed") {
		t.Errorf("never sealed: got %v", err)
	}
	sealed := sealDir(t, h.Suite())
	if drift, err := sealed.Verify(t.Context()); err != nil || drift != nil {
		t.Errorf("fresh seal: got %v, %v", drift, err)
	}
	overwrite(t, filepath.Join(h.Suite(), "rubric.md"), "Answer YES.\n")
	_, err = OpenSuite(h.Suite())
	if e, ok := errors.AsType[*NotSealedError](err); !ok || e.Drift == nil || e.Drift.Deltas[0].Path != "rubric.md" || !strings.Contains(e.Hint(), "--reason") {
		t.Errorf("changed: got %v", err)
	}
	if drift, err := sealed.Verify(t.Context()); err != nil || drift == nil {
		t.Errorf("verify after a change: got %v, %v", drift, err)
	}
}

func TestOpenBundledKeepsASeal(t *testing.T) {
	t.Parallel()
	h := Home{Dir: t.TempDir()}
	one, err := h.OpenBundled(t.Context())
	testenv.Must(t, err)
	two, err := h.OpenBundled(t.Context())
	if err != nil || one.Frozen.Digest() != two.Frozen.Digest() {
		t.Errorf("opened twice: %v", err)
	}
	overwrite(t, filepath.Join(h.Suite(), "checker.yaml"), "records: {}\n")
	if _, err := h.OpenBundled(t.Context()); err == nil {
		t.Error("a changed suite was opened, or laid out anew")
	}
}

// inside seals a suite in a directory of the plugin and commits both.
func (n *night) inside(rel string) {
	n.t.Helper()
	dir := filepath.Join(n.plugin, rel)
	testenv.Must(n.t, os.MkdirAll(filepath.Dir(dir), 0o755))
	testenv.Must(n.t, WriteBundled(dir))
	n.sealed = sealDir(n.t, dir)
	overwrite(n.t, filepath.Join(n.plugin, "loopd.yaml"), "plugin: .\n")
	n.git("add", "--all")
	n.commit()
}

func TestAPluginInASubdirectoryWithItsSuite(t *testing.T) {
	t.Parallel()
	n := newNight(t, "tools/os-adr")
	n.inside("loopd-suite")
	c := n.whole()
	defer c.Close()
	p := c.Current().Progress[0]
	n.wantSessionFiles(c, p.Commit)
	if got := n.git("diff", "--name-only", p.Commit+"^", p.Commit); got != "tools/os-adr/"+findSkill {
		t.Errorf("the commit changes %q", got)
	}
	if diff := n.git("diff", "HEAD", p.Commit+"^"); diff != "" {
		t.Errorf("the commit is not on top of the start: %s", diff)
	}
}

// wantSessionFiles checks what a session is given: the plugin, nothing above
// it, and nothing of what measures.
func (n *night) wantSessionFiles(c *Campaign, commit string) {
	n.t.Helper()
	w, err := c.Wordings.Trial(commit)
	testenv.Must(n.t, err)
	for _, name := range []string{findSkill, "bin/adr-find", ".claude-plugin/plugin.json"} {
		if _, ok := w.Plugin[name]; !ok {
			n.t.Errorf("%s is missing", name)
		}
	}
	for name := range w.Plugin {
		if strings.HasPrefix(name, "loopd") || strings.Contains(name, "README") || strings.Contains(name, "scenarios") {
			n.t.Errorf("a session is given %s", name)
		}
	}
	if w.Plugin["bin/adr-find"].Mode != 0o755 || w.Plugin[findSkill].Mode != 0o644 {
		n.t.Errorf("modes: %v and %v", w.Plugin["bin/adr-find"].Mode, w.Plugin[findSkill].Mode)
	}
	if !strings.HasPrefix(w.Note, "[os-adr] ") || strings.HasSuffix(w.Note, "\n") || len(w.Descriptions) != 3 {
		n.t.Errorf("note %q, %d descriptions", w.Note, len(w.Descriptions))
	}
}

func TestTheSuiteIsLeftOutUnderAnyName(t *testing.T) {
	t.Parallel()
	n := newNight(t, "os-adr")
	n.inside("suites/[a]")
	link := filepath.Join(t.TempDir(), "link")
	testenv.Must(t, os.Symlink(n.root, link))
	for _, plugin := range []string{n.plugin + "/", filepath.Join(link, "os-adr"), filepath.Join(n.root, "os-adr", "..", "os-adr")} {
		o := n.options()
		o.Plugin = plugin
		c, err := Open(t.Context(), o)
		testenv.Must(t, err)
		head, err := c.user.Head()
		testenv.Must(t, err)
		testenv.Must(t, importStart(t.Context(), c.repo, c.user, head.Commit))
		n.wantSessionFiles(c, head.Commit)
		n.close(c)
	}
}

func TestAPluginThatCannotBeCopiedIsRefused(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		spoil func(n *night)
		says  string
	}{
		"link": {func(n *night) {
			testenv.Must(n.t, os.Symlink("adr-find", filepath.Join(n.plugin, "bin", "adr-search")))
		}, "bin/adr-search: a plugin with links"},
		"scenario": {func(n *night) {
			data := testenv.Read(n.t, filepath.Join(n.sealed.Dir, "scenarios", "R1.md"))
			overwrite(n.t, filepath.Join(n.plugin, "old.md"), data)
		}, "old.md is the suite's scenarios/R1.md"},
		"no note": {func(n *night) {
			removeAll(n.t, filepath.Join(n.plugin, "hooks", "session-start-note.md"))
		}, "no note hooks/session-start-note.md"},
		"no front matter": {func(n *night) { overwrite(n.t, filepath.Join(n.plugin, findSkill), "# Find\n") }, findSkill + ": no front matter"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n := newNight(t, "os-adr")
			c.spoil(n)
			n.commit()
			open := n.open()
			defer open.Close()
			err := open.Begin(t.Context(), settings(), Grid{Objective: []harness.Cell{{Scenario: "R1", Tier: "haiku"}}})
			if err == nil || !strings.Contains(err.Error(), c.says) || open.Current() != nil {
				t.Errorf("got %v, campaign %v, want %q", err, open.Current(), c.says)
			}
		})
	}
}

func TestDefaultHome(t *testing.T) {
	t.Parallel()
	env := map[string]string{"HOME": "/h"}
	getenv := func(name string) string { return env[name] }
	one, err := DefaultHome("/a/plugin", getenv)
	if err != nil || !strings.HasPrefix(one.Dir, "/h/.local/state/loopd/plugin-") {
		t.Errorf("got %v, %v", one, err)
	}
	if two, _ := DefaultHome("/b/plugin", getenv); one == two {
		t.Errorf("two plugins share %s", one.Dir)
	}
	env["XDG_STATE_HOME"] = "/x"
	if got, err := DefaultHome("/a/plugin", getenv); err != nil || !strings.HasPrefix(got.Dir, "/x/loopd/plugin-") {
		t.Errorf("got %v, %v", got, err)
	}
	clear(env)
	if _, err := DefaultHome("/a/plugin", getenv); err == nil {
		t.Error("no home at all: want an error")
	}
}

// A suite inside the program comes with its own fixtures and no other's.
func TestReadBundled(t *testing.T) {
	t.Parallel()
	names, err := BundledSuites()
	if err != nil || !slices.Contains(names, BundledSuite) {
		t.Fatalf("got %q, %v, want %s among them", names, err, BundledSuite)
	}
	for _, name := range names {
		suite, err := ReadBundled(name)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		for fixture := range suite.Fixtures {
			if !slices.ContainsFunc(suite.Scenarios, func(sc harness.Scenario) bool { return sc.Fixture == fixture }) {
				t.Errorf("%s: fixture %s is of no scenario", name, fixture)
			}
		}
	}
	measured := make(map[string]string)
	for _, name := range names {
		suite, err := ReadBundled(name)
		testenv.Must(t, err)
		plugin := suite.Checker.Plugin
		if other := measured[plugin]; other != "" {
			t.Errorf("%s and %s both measure %s: which one is meant?", other, name, plugin)
		}
		measured[plugin] = name
		if got, ok, err := BundledFor(plugin); got != name || !ok || err != nil {
			t.Errorf("suite for %s: got %q %v %v, want %s", plugin, got, ok, err, name)
		}
	}
	if got, ok, err := BundledFor("tides"); got != "" || ok || err != nil {
		t.Errorf("suite for a plugin nobody bundled: got %q %v %v", got, ok, err)
	}
	if _, err := ReadBundled("../plugins"); err == nil || !strings.Contains(err.Error(), "there are: ") {
		t.Errorf("got %v, want the names there are", err)
	}
}
