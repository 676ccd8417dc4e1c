package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/testscript"

	"loopd/fixtures"
	"loopd/frozen"
	"loopd/harness"
	"loopd/internal/campaign"
	"loopd/internal/hint"
)

type treesKey struct{}

// exits runs a program and wants its exit code: "exits 2 loopd run". A refusal
// (code 2) must be one line and one hint, and leave every file as it was. What is
// printed as JSON must fit its schema. Task text must not be in what is printed.
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE program [args...]")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	before := files(ts, ts.Getenv("WORK"))
	got, err := codeOf(ts.Exec(args[1], args[2:]...))
	ts.Check(err)
	if got != want {
		ts.Fatalf("got exit code %d, want %d", got, want)
	}
	stderr := ts.ReadFile("stderr")
	noTask(ts, "stdout", ts.ReadFile("stdout"))
	noTask(ts, "stderr", stderr)
	wantSchema(ts, args[2:])
	if want != hint.Usage {
		return
	}
	lines := strings.Split(strings.TrimSuffix(stderr, "\n"), "\n")
	if len(lines) != 2 || !strings.HasPrefix(lines[0], "loopd: ") || !strings.HasPrefix(lines[1], "loopd: hint: ") {
		ts.Fatalf("got %q, want one line and one hint", stderr)
	}
	if diff := cmp.Diff(before, files(ts, ts.Getenv("WORK"))); diff != "" {
		ts.Fatalf("a refused command changed files (-before +after):\n%s", diff)
	}
}

func codeOf(err error) (int, error) {
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return exit.ExitCode(), nil
	}
	return 0, err
}

// interruptedLimit bounds a program that does not stop when told to.
const interruptedLimit = 3 * time.Minute

// interrupted runs a program while the model holds its answers, interrupts it
// once N requests wait, lets the answers go and wants exit code 130:
// "interrupted N loopd run".
func interrupted(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: interrupted N program [args...]")
	}
	n, err := strconv.Atoi(args[0])
	ts.Check(err)
	a := ts.Value(apiKey{}).(*api)
	a.mu.Lock()
	n += a.seen
	a.held = true
	a.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), interruptedLimit)
	defer cancel()
	path, err := exec.LookPath(args[1])
	ts.Check(err)
	cmd := exec.CommandContext(ctx, path, args[2:]...)
	cmd.Args[0], cmd.Dir, cmd.Env = args[1], ts.MkAbs("."), os.Environ()
	for _, name := range []string{"PATH", "HOME", "TMPDIR", "XDG_STATE_HOME", "XDG_CACHE_HOME", "ANTHROPIC_BASE_URL", "ANTHROPIC_API_KEY", "LOOPD_JUDGE_CMD"} {
		cmd.Env = append(cmd.Env, name+"="+ts.Getenv(name))
	}
	var talk bytes.Buffer
	ready, writer := io.Pipe()
	cmd.Stderr = io.MultiWriter(&talk, writer)
	ts.Check(cmd.Start())
	go func() {
		a.wait(n)
		_ = cmd.Process.Signal(os.Interrupt)
	}()
	heard := make(chan struct{})
	go func() {
		defer close(heard)
		buf := make([]byte, 1)
		_, _ = ready.Read(buf) // the program says that it is stopping
		a.hold(false)
		_, _ = io.Copy(io.Discard, ready)
	}()
	code, err := codeOf(cmd.Wait())
	writer.Close()
	<-heard
	ts.Check(err)
	if code != hint.Interrupted {
		ts.Fatalf("got exit code %d, want %d:\n%s", code, hint.Interrupted, talk.String())
	}
	ts.Check(os.WriteFile(ts.MkAbs("interrupted.txt"), talk.Bytes(), 0o644))
}

// makePlugin writes a bundled plugin into a new directory and commits it:
// "plugin DIR [NAME]".
func makePlugin(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) != 1 && len(args) != 2 {
		ts.Fatalf("usage: plugin DIR [NAME]")
	}
	name := append(args, campaign.BundledSuite)[1]
	sub, err := fs.Sub(fixtures.Plugins(), name)
	ts.Check(err)
	dir := ts.MkAbs(args[0])
	ts.Check(frozen.Materialise(sub, fixtures.PluginMode, dir))
	for _, step := range []string{"init --quiet --initial-branch=main", "add --all", "commit --quiet --message start"} {
		ts.Check(ts.Exec("git", append([]string{"-C", dir}, strings.Fields(step)...)...))
	}
}

// files maps every path below dir to its type, mode and content. The cache and
// temporary files are nobody's property.
func files(ts *testscript.TestScript, dir string) map[string]string {
	out := make(map[string]string)
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		if rel == ".tmp" || rel == ".git/objects" || rel == ".git/refs/heads/loopd" {
			return filepath.SkipDir
		}
		if strings.HasSuffix(rel, "ledger.db-shm") || strings.HasSuffix(rel, "ledger.db-wal") {
			return nil // come and go with whoever reads the ledger
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		out[rel] = info.Mode().String()
		if info.Mode().IsRegular() {
			data, err := os.ReadFile(path)
			out[rel] += fmt.Sprintf(" %x", sha256.Sum256(data))
			return err
		}
		return nil
	})
	ts.Check(err)
	return out
}

// remember keeps the state of a directory: "remember DIR". What loopd may write
// in a user's repository, objects and its own branches, is left out.
func remember(ts *testscript.TestScript, _ bool, args []string) {
	for _, dir := range args {
		ts.Value(treesKey{}).(map[string]map[string]string)[dir] = files(ts, ts.MkAbs(dir))
	}
}

// same wants a directory to be as it was remembered: "same DIR".
func same(ts *testscript.TestScript, _ bool, args []string) {
	for _, dir := range args {
		before := ts.Value(treesKey{}).(map[string]map[string]string)[dir]
		if len(before) == 0 {
			ts.Fatalf("%s was never remembered", dir)
		}
		if diff := cmp.Diff(before, files(ts, ts.MkAbs(dir))); diff != "" {
			ts.Fatalf("%s has changed (-before +after):\n%s", dir, diff)
		}
	}
}

// wantJSON wants exactly one document with the keys or values named:
// "json stdout phase budget=14 candidates.0.id". FILE may be stdout.
func wantJSON(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) < 2 {
		ts.Fatalf("usage: json FILE key[=value]...")
	}
	dec := json.NewDecoder(strings.NewReader(ts.ReadFile(args[0])))
	var doc any
	ts.Check(dec.Decode(&doc))
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		ts.Fatalf("%s: more than one document", args[0])
	}
	for _, arg := range args[1:] {
		key, want, exact := strings.Cut(arg, "=")
		got, ok := lookUp(doc, strings.Split(key, "."))
		if !ok {
			ts.Fatalf("%s: no %s", args[0], key)
		}
		if exact && fmt.Sprint(got) != want {
			ts.Fatalf("%s: %s: got %v, want %s", args[0], key, got, want)
		}
	}
}

func lookUp(doc any, path []string) (any, bool) {
	if len(path) == 0 {
		return doc, true
	}
	switch v := doc.(type) {
	case map[string]any:
		next, ok := v[path[0]]
		if !ok {
			return nil, false
		}
		return lookUp(next, path[1:])
	case []any:
		i, err := strconv.Atoi(path[0])
		if err != nil || i >= len(v) {
			return nil, false
		}
		return lookUp(v[i], path[1:])
	}
	return nil, false
}

// replace changes text wherever it stands in a file: "replace FILE OLD NEW". It must be
// there.
func replace(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) != 3 {
		ts.Fatalf("usage: replace FILE OLD NEW")
	}
	path := ts.MkAbs(args[0])
	data, err := os.ReadFile(path)
	ts.Check(err)
	if !bytes.Contains(data, []byte(args[1])) {
		ts.Fatalf("%s: no %q", args[0], args[1])
	}
	info, err := os.Stat(path)
	ts.Check(err)
	ts.Check(os.WriteFile(path, bytes.ReplaceAll(data, []byte(args[1]), []byte(args[2])), info.Mode()))
}

// heldOut is how many words in a row of a task give it away.
const heldOut = 5

// noTask wants a text to share no run of words with a held-out task.
func noTask(ts *testscript.TestScript, name, text string) {
	if found := taskIn(ts, text); found != "" {
		ts.Fatalf("%s shows %s", name, found)
	}
}

// taskIn names the first task that a text shows, and where.
func taskIn(ts *testscript.TestScript, text string) string {
	suites, err := bundled()
	ts.Check(err)
	for _, suite := range suites {
		for _, sc := range suite.Scenarios {
			for _, span := range sc.Task.Overlap(text, heldOut) {
				return fmt.Sprintf("the task of %s: %q", sc.ID, text[span.Start:span.End])
			}
		}
	}
	return ""
}

// bundled reads the suites inside the program once.
var bundled = sync.OnceValues(func() (suites []harness.Suite, err error) {
	names, err := campaign.BundledSuites()
	for _, name := range names {
		suite, readErr := campaign.ReadBundled(name)
		suites, err = append(suites, suite), errors.Join(err, readErr)
	}
	return suites, err
})

// nothingHeldOut wants no task in the files below the directories given, a
// state directory's suite left out: "nothingheldout DIR...". With "!" it wants
// one, which proves that it would be found.
func nothingHeldOut(ts *testscript.TestScript, neg bool, args []string) {
	read, found := 0, ""
	for _, dir := range args {
		err := filepath.WalkDir(ts.MkAbs(dir), func(path string, d fs.DirEntry, err error) error {
			switch {
			case err != nil:
				return err
			case d.IsDir() && d.Name() == "suite":
				return fs.SkipDir
			case !d.Type().IsRegular():
				return nil
			}
			data, err := os.ReadFile(path)
			read++
			if task := taskIn(ts, string(data)); task != "" && found == "" {
				found = path + " shows " + task
			}
			return err
		})
		ts.Check(err)
	}
	switch {
	case read == 0:
		ts.Fatalf("no file in %s", strings.Join(args, ", "))
	case neg && found == "":
		ts.Fatalf("no task is found in %s", strings.Join(args, ", "))
	case !neg && found != "":
		ts.Fatalf("%s", found)
	}
}
