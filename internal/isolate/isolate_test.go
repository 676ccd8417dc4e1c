package isolate

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"loopd/harness"
	"loopd/internal/testenv"
)

// childEnv makes the test binary act as one of the helpers of TestMain.
const childEnv = "SANDBOX_TEST_CHILD"

func TestMain(m *testing.M) {
	if IsHelper(os.Args) {
		os.Exit(HelperMain(os.Args, os.Environ()))
	}
	switch os.Getenv(childEnv) {
	case "":
		os.Exit(m.Run())
	case "probe":
		os.Exit(childProbe())
	case "leave":
		os.Exit(childLeave(os.Args[1]))
	case "readonly":
		os.Exit(childReadOnly(os.Args[1]))
	}
	os.Exit(9)
}

// childProbe prints the text and the hint of a probe that fails.
func childProbe() int {
	_, err := Probe(context.Background(), ProbeOptions{Path: os.Getenv("PATH")})
	e, ok := errors.AsType[*ProbeError](err)
	if !ok {
		fmt.Println("got", err)
		return 1
	}
	fmt.Println(e.Text, e.Hint())
	return 0
}

func fixture() harness.Tree {
	return harness.Tree{
		"README.md":         {Mode: 0o644, Data: []byte("# Postbox\n")},
		".gitignore":        {Mode: 0o644, Data: []byte("out/\n")},
		"bin/post":          {Mode: 0o755, Data: []byte("#!/bin/sh\necho post\n")},
		"lib/post/queue.rb": {Mode: 0o644, Data: []byte("class Queue; end\n")},
		"lib/post/stamp.rb": {Mode: 0o600, Data: []byte("class Stamp; end\n")},
		"out/cache.json":    {Mode: 0o644, Data: []byte("{}\n")},
	}
}

func options(t testing.TB, base string) Options {
	t.Helper()
	g, err := NewGitTemplate(t.Context(), fixture())
	testenv.Must(t, err)
	return Options{
		Base: base, Fixture: fixture(), Git: g, PluginName: "letters",
		Plugin: harness.Tree{".claude-plugin/plugin.json": {Mode: 0o644, Data: []byte(`{"name":"letters"}`)}},
	}
}

func newBox(t testing.TB, o Options) *Box {
	t.Helper()
	b, err := New(t.Context(), o)
	testenv.Must(t, err)
	t.Cleanup(func() { b.Remove() })
	return b
}

// inGit runs git in a box nobody else has written to.
func inGit(t *testing.T, b *Box, args ...string) string {
	t.Helper()
	cmd := exec.Command("git", append([]string{"-c", "safe.directory=*"}, args...)...)
	cmd.Dir = b.Work
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + b.Home, "GIT_CONFIG_NOSYSTEM=1"}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return string(out)
}

func TestBoxIsTheFixtureAndNothingElse(t *testing.T) {
	t.Parallel()
	b := newBox(t, options(t, testenv.OpenDir(t)))
	got, err := b.Snapshot(t.Context())
	testenv.Must(t, err)
	testenv.Same(t, "project differs from the fixture", fixture(), got)
	for _, dir := range []string{b.Root, b.Work, b.Plugin, b.Home, b.Config, b.Tmp} {
		info, err := os.Stat(dir)
		testenv.Must(t, err)
		if got := info.Mode().Perm(); got != 0o700 {
			t.Errorf("%s: mode %o, want 700", dir, got)
		}
	}
	for _, dir := range []string{b.Home, b.Config, b.Tmp} {
		if entries, err := os.ReadDir(dir); err != nil || len(entries) != 0 {
			t.Errorf("%s: got %v, %v, want an empty directory", dir, entries, err)
		}
	}
	if filepath.Base(b.Plugin) != "letters" {
		t.Errorf("plugin directory %s, want it to end in letters", b.Plugin)
	}
}

func TestHistoryIsOneNeutralCommit(t *testing.T) {
	t.Parallel()
	b := newBox(t, options(t, testenv.OpenDir(t)))
	want := "Alex Miller <alex@example.com> 2025-03-03T09:30:00+00:00 Alex Miller <alex@example.com> " +
		"2025-03-03T09:30:00+00:00 [Import project]\n"
	if got := inGit(t, b, "log", "--all", "--format=%an <%ae> %aI %cn <%ce> %cI [%s%b]"); got != want {
		t.Errorf("log: got %q, want %q", got, want)
	}
	if got := inGit(t, b, "for-each-ref", "--format=%(refname)"); got != "refs/heads/main\n" {
		t.Errorf("refs: got %q, want main alone", got)
	}
	for name, args := range map[string][]string{
		"status": {"status", "--porcelain"}, "reflog": {"reflog", "--all"}, "remotes": {"remote"},
		"stash": {"stash", "list"}, "unreachable": {"fsck", "--unreachable", "--no-progress"},
	} {
		if got := inGit(t, b, args...); got != "" {
			t.Errorf("%s: got %q, want nothing", name, got)
		}
	}
	for _, name := range []string{"hooks", "logs", "info/exclude", "description"} {
		if _, err := os.Lstat(filepath.Join(b.Work, ".git", name)); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf(".git/%s: got %v, want it absent", name, err)
		}
	}
}

func TestSameFixtureSameStart(t *testing.T) {
	t.Parallel()
	base := testenv.OpenDir(t)
	a, b := newBox(t, options(t, base)), newBox(t, options(t, base))
	if got, want := inGit(t, a, "rev-parse", "HEAD"), inGit(t, b, "rev-parse", "HEAD"); got != want {
		t.Errorf("commits %s and %s of one fixture differ", got, want)
	}
	if filepath.Base(a.Work) == filepath.Base(b.Work) {
		t.Errorf("both projects are called %s", filepath.Base(a.Work))
	}
}

func TestBoxBelongsToTheSessionUser(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("changing owners needs root")
	}
	o := options(t, testenv.OpenDir(t))
	o.UID, o.GID = 65534, 65534
	b := newBox(t, o)
	for _, top := range []string{b.Work, b.Home, b.Config, b.Tmp, b.Plugin, filepath.Dir(b.Plugin)} {
		err := filepath.WalkDir(top, func(p string, d fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			info, err := d.Info()
			if err != nil {
				return err
			}
			if st := info.Sys().(*syscall.Stat_t); st.Uid != 65534 || st.Gid != 65534 {
				t.Errorf("%s belongs to %d:%d", p, st.Uid, st.Gid)
			}
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	}
	info, err := os.Stat(b.Root)
	testenv.Must(t, err)
	if st := info.Sys().(*syscall.Stat_t); st.Uid != 0 || info.Mode().Perm() != 0o711 {
		t.Errorf("root of the box: owner %d mode %o, want 0 and 711", st.Uid, info.Mode().Perm())
	}
}

func TestNewRefuses(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"CLAUDE.md", "AGENTS.md", ".claude", ".git"} {
		base := testenv.OpenDir(t)
		testenv.Must(t, os.MkdirAll(filepath.Join(base, "a/b"), 0o755))
		testenv.Must(t, os.WriteFile(filepath.Join(base, name), nil, 0o600))
		_, err := New(t.Context(), options(t, filepath.Join(base, "a/b")))
		if e, ok := errors.AsType[*BaseError](err); !ok || e.Path != filepath.Join(base, name) {
			t.Errorf("%s above the base: got %v, want a *BaseError naming it", name, err)
		}
	}
	o := options(t, testenv.OpenDir(t))
	o.Fixture = harness.Tree{"other.txt": {Mode: 0o644}}
	if _, err := New(t.Context(), o); !errors.Is(err, ErrOtherFixture) {
		t.Errorf("template of another fixture: got %v, want ErrOtherFixture", err)
	}
	for _, name := range []string{"", "..", "a/b", "."} {
		o := options(t, testenv.OpenDir(t))
		o.PluginName = name
		if b, err := New(t.Context(), o); err == nil {
			t.Errorf("plugin name %q: got box %s, want an error", name, b.Root)
		}
	}
}

func TestNewLeavesNothingBehindOnError(t *testing.T) {
	t.Parallel()
	for _, bad := range []string{"../up", "/abs", "a/../../b", "bin/post/below-a-file"} {
		o := options(t, testenv.OpenDir(t))
		o.Plugin = harness.Tree{"bin/post": {Mode: 0o644}, bad: {Mode: 0o644, Data: []byte("x")}}
		if _, err := New(t.Context(), o); err == nil {
			t.Errorf("plugin file %q: got no error", bad)
		}
		if entries, err := os.ReadDir(o.Base); err != nil || len(entries) != 0 {
			t.Errorf("plugin file %q: %d entries left in the base, %v", bad, len(entries), err)
		}
	}
}

// childLeave makes a box, says where, and ends without removing it.
func childLeave(base string) int {
	lock, err := claim(base)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	fmt.Println(lock.Root)
	bufio.NewReader(os.Stdin).ReadString('\n')
	return 0
}

func TestSweepTellsDeadFromLiving(t *testing.T) {
	t.Parallel()
	base := testenv.OpenDir(t)
	mine := newBox(t, options(t, base))
	for _, name := range []string{"abcdefghijklmnopqr", "photos", boxName()[:nameLen+checkLen-1]} {
		testenv.Must(t, os.Mkdir(filepath.Join(base, name), 0o755))
	}
	cmd := exec.Command(os.Args[0], base)
	cmd.Env = append(os.Environ(), childEnv+"=leave")
	in, _ := cmd.StdinPipe()
	out, _ := cmd.StdoutPipe()
	testenv.Must(t, cmd.Start())
	line, err := bufio.NewReader(out).ReadString('\n')
	testenv.Must(t, err)
	theirs := strings.TrimSpace(line)
	if n, err := Sweep(base); n != 0 || err != nil {
		t.Errorf("both owners alive: swept %d, %v, want none", n, err)
	}
	in.Close()
	testenv.Must(t, cmd.Wait())
	if n, err := Sweep(base); n != 1 || err != nil {
		t.Errorf("one owner dead: swept %d, %v, want 1", n, err)
	}
	if _, err := os.Lstat(theirs); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%s: got %v, want it gone", theirs, err)
	}
	if entries, _ := os.ReadDir(base); len(entries) != 4 {
		t.Errorf("%d entries left in the base, want my box and three foreign directories", len(entries))
	}
	if _, err := mine.Snapshot(t.Context()); err != nil {
		t.Errorf("my box after the sweep: %v", err)
	}
}

// childReadOnly reads and removes a box whose directories were closed.
func childReadOnly(base string) int {
	b, err := claim(base)
	if err == nil {
		deep := filepath.Join(b.Root, "a", "b")
		err = errors.Join(
			os.MkdirAll(deep, 0o755), os.WriteFile(filepath.Join(deep, "f"), []byte("kept"), 0),
			os.Chmod(deep, 0), os.Chmod(filepath.Dir(deep), 0o500), childSnapshot(b.Root),
			os.Chmod(deep, 0), b.Remove(),
		)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// childSnapshot reads what a session closed to everybody, itself included.
func childSnapshot(dir string) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	tree, err := snapshot(context.Background(), root, wide(), "")
	if f := tree["a/b/f"]; err == nil && (f.Mode != 0 || string(f.Data) != "kept") {
		return fmt.Errorf("locked file: got mode %v and %q", f.Mode, f.Data)
	}
	return err
}

func TestLockedByTheSession(t *testing.T) {
	t.Parallel()
	base := testenv.OpenDir(t)
	cmd := exec.Command(os.Args[0], base)
	cmd.Env = append(os.Environ(), childEnv+"=readonly")
	if os.Geteuid() == 0 { // root may write anywhere, so a lesser user must try
		self, err := os.Open(os.Args[0])
		testenv.Must(t, err)
		defer self.Close()
		testenv.Must(t, os.Chown(base, 65534, 65534))
		cmd.Path, cmd.ExtraFiles = "/proc/self/fd/3", []*os.File{self}
		cmd.Dir = base
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	}
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("remove: %v: %s", err, out)
	}
	if entries, err := os.ReadDir(base); err != nil || len(entries) != 0 {
		t.Errorf("base still holds %v, %v", entries, err)
	}
}

func TestRemoveTwice(t *testing.T) {
	t.Parallel()
	b := newBox(t, options(t, testenv.OpenDir(t)))
	for range 2 {
		if err := b.Remove(); err != nil {
			t.Error(err)
		}
	}
	if _, err := os.Lstat(b.Root); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("box after Remove: got %v, want it gone", err)
	}
}

func BenchmarkNew(b *testing.B) {
	big := make(harness.Tree)
	for i := range 70 {
		big[fmt.Sprintf("lib/part%d/file%d.rb", i%7, i)] = harness.File{Mode: 0o644, Data: make([]byte, 2000+i)}
	}
	g, err := NewGitTemplate(b.Context(), big)
	testenv.Must(b, err)
	o := Options{Base: b.TempDir(), Fixture: big, Git: g, PluginName: "p", UID: 65534, GID: 65534}
	b.ReportAllocs()
	for b.Loop() {
		box, err := New(b.Context(), o)
		testenv.Must(b, err)
		b.StopTimer()
		testenv.Must(b, box.Remove())
		b.StartTimer()
	}
}
