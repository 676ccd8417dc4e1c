package testenv

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"testing/fstest"
	"time"
)

// witness is a test that a helper ends; it remembers how.
type witness struct {
	testing.TB
	said string
}

func (w *witness) Helper()                   {}
func (w *witness) Logf(string, ...any)       {}
func (w *witness) Skip(args ...any)          { w.end("skip", fmt.Sprint(args...)) }
func (w *witness) Fatal(args ...any)         { w.end("fatal", fmt.Sprint(args...)) }
func (w *witness) end(how, what string)      { w.said += how + ": " + what; runtime.Goexit() }
func (w *witness) Skipf(f string, a ...any)  { w.end("skip", fmt.Sprintf(f, a...)) }
func (w *witness) Fatalf(f string, a ...any) { w.end("fatal", fmt.Sprintf(f, a...)) }
func (w *witness) Errorf(f string, a ...any) { w.said += "error: " + fmt.Sprintf(f, a...) }

// says runs a helper under a witness and returns what it said.
func says(t *testing.T, helper func(testing.TB)) string {
	t.Helper()
	w, done := &witness{TB: t}, make(chan struct{})
	go func() {
		defer close(done)
		helper(w)
	}()
	<-done
	return w.said
}

func TestNeed(t *testing.T) {
	t.Setenv("LOOPD_REQUIRE", "bwrap, chromium")
	t.Setenv("LOOPD_CLAUDE", "")
	missing := errors.New("not found")
	for _, c := range []struct {
		what, want string
		err        error
	}{
		{"bwrap", "", nil},
		{"bwrap", "fatal: LOOPD_REQUIRE names bwrap: not found", missing},
		{"chromium", "fatal: LOOPD_REQUIRE names chromium: not found", missing},
		{"chrom", "skip: without chrom: not found", missing},
	} {
		if got := says(t, func(t testing.TB) { Need(t, c.what, c.err) }); got != c.want {
			t.Errorf("%s, %v: got %q, want %q", c.what, c.err, got, c.want)
		}
	}
	if got := says(t, func(t testing.TB) { NeedClaude(t) }); got != "skip: LOOPD_CLAUDE names no program" {
		t.Errorf("without claude: got %q", got)
	}
	t.Setenv("LOOPD_REQUIRE", "claude")
	if got := says(t, func(t testing.TB) { Claude(t) }); !strings.HasPrefix(got, "fatal: LOOPD_REQUIRE names claude") {
		t.Errorf("claude is required: got %q", got)
	}
}

func TestSeed(t *testing.T) {
	t.Setenv("LOOPD_SEED", "11")
	if a, b := Rand(t).Uint64(), Rand(t).Uint64(); a != b {
		t.Errorf("one seed: got %d and %d", a, b)
	}
	t.Setenv("LOOPD_SEED", "")
	if a, b := Seed(t), Seed(t); a == b {
		t.Error("without LOOPD_SEED two seeds are the same")
	}
	t.Setenv("LOOPD_SEED", "eleven")
	if got := says(t, func(t testing.TB) { Seed(t) }); !strings.HasPrefix(got, "fatal: LOOPD_SEED") {
		t.Errorf("a seed that is no number: got %q", got)
	}
}

func TestTree(t *testing.T) {
	t.Parallel()
	files := map[string]string{"a/b.txt": "text\n", "run": "#!/bin/sh\n", "to": "->run"}
	dir := Tree(t, t.TempDir(), files)
	before := Snapshot(t, dir)
	for name, want := range map[string]string{"a": "drwx", "a/b.txt": "-rw-r--r--", "run": "-rwxr-xr-x", "to": "Lrwxrwxrwx run"} {
		if !strings.HasPrefix(before[name], want) {
			t.Errorf("%s: got %q, want %q", name, before[name], want)
		}
	}
	delete(files, "to")
	Same(t, "the tree that was written", files, ReadTree(t, os.DirFS(dir), "."))
	Write(t, filepath.Join(dir, "a/b.txt"), "Text\n")
	if Snapshot(t, dir)["a/b.txt"] == before["a/b.txt"] {
		t.Error("a changed file looks the same in a snapshot")
	}
	if got := Snapshot(t, dir, "a", "run"); len(got) != 2 {
		t.Errorf("got %v, want the folder and the link", got)
	}
	empty, uneven := t.TempDir(), t.TempDir()
	for name, helper := range map[string]func(testing.TB){
		"ReadTree": func(t testing.TB) { ReadTree(t, fstest.MapFS{}, ".") },
		"Snapshot": func(t testing.TB) { Snapshot(t, empty) },
		"Glob":     func(t testing.TB) { Glob(t, filepath.Join(empty, "*")) },
		"Table":    func(t testing.TB) { Table(t, Tree(t, uneven, map[string]string{"t": "# a\nb\tc\nd\n"})+"/t") },
		"Golden":   func(t testing.TB) { Golden(t, filepath.Join(dir, "a/b.txt"), []byte("text\n")) },
		"Same":     func(t testing.TB) { Same(t, "two numbers", 1, 2) },
	} {
		if says(t, helper) == "" {
			t.Errorf("%s is content with nothing", name)
		}
	}
}

func TestRepo(t *testing.T) {
	t.Parallel()
	dir := Tree(t, t.TempDir(), map[string]string{"README": "read me\n"})
	Repo(t, dir)
	if got := Git(t, dir, "log", "--format=%an %s", "--name-only", "main"); got != "Ada first\n\nREADME" {
		t.Errorf("got %q", got)
	}
	if got := says(t, func(t testing.TB) { Git(t, dir, "no-such-verb") }); !strings.Contains(got, "no-such-verb") {
		t.Errorf("a verb that is not there: got %q", got)
	}
}

// childVariable makes this test binary a child that prints lines until it is
// killed.
const childVariable = "TESTENV_CHILD"

func TestMain(m *testing.M) {
	for os.Getenv(childVariable) == "1" {
		fmt.Println("line")
	}
	m.Run()
}

func TestKillAfter(t *testing.T) {
	t.Parallel()
	if got := KillAfter(t, Self(t, childVariable+"=1"), 3, time.Millisecond); len(got) < 3 || got[2] != "line" {
		t.Errorf("got %d lines, want 3 at least", len(got))
	}
	ends := Self(t, childVariable+"=0")
	ends.Args, ends.Stderr = append(ends.Args, "-test.run=^$"), nil
	if got := says(t, func(t testing.TB) { KillAfter(t, ends, 99, 0) }); !strings.HasPrefix(got, "fatal: the child ended by itself") {
		t.Errorf("a child that ends: got %q", got)
	}
}
