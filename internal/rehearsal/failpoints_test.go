package rehearsal

import (
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"loopd/internal/atomicfile"
	"loopd/internal/campaign"
	"loopd/internal/daemon"
	"loopd/internal/testenv"
)

// point is a failpoint and the hit at which it kills.
type point struct {
	name string
	hit  int
}

func (p point) String() string { return fmt.Sprintf("%s:%d", p.name, p.hit) }

// early are the points of the first steps, in their order: each is passed but
// once, so a rehearsal that was killed behind one does not come by it again.
var early = []point{
	{"agent.pin.copied", 1}, {"agent.pin.renamed", 1}, {"prune.noted", 1},
	{"materialise.written", 1}, {"materialise.renamed", 1}, // the user's repository, which is then made anew
	{"seal.scanned", 1}, {"seal.written", 1}, // the suite
	{"materialise.written", 1}, {"materialise.renamed", 1},
	{"ledger.locked", 1}, {"ledger.created", 1}, {"ledger.schema", 1},
	{"git.init.written", 1}, {"git.init.renamed", 1},
}

// atIntake are those of the spool, in an order in which what dropInto leaves is
// enough for all: a file that is out of the way is not moved again.
var atIntake = []point{
	{"spool.aside", 1}, {"spool.aside", 2}, {"spool.setaside", 1}, {"spool.setaside", 2}, {"spool.undrop", 1}, {"spool.undropped", 1},
}

// perCandidate are passed once for each candidate, in this order.
var perCandidate = []string{
	"prepare.written", "git.ref.locked", "git.ref.written", "git.ref.renamed", "git.publish.sent", "git.publish.done",
}

// afterCrash are passed only where an earlier crash left something, the last one
// where it left two candidates.
var afterCrash = []point{{"sandbox.swept", 1}, {"mend.commit", 1}, {"mend.commit", 2}}

// middle is the hit, beside the first, at which every other point kills: such a
// point is passed many times between two candidates.
const middle = 4

// hits lists the names of every failpoint of the program, from its source. A
// name that is no literal could not be listed, and one that stands in two places
// would be tried in one of them only.
func hits(t *testing.T) []string {
	t.Helper()
	var out []string
	err := filepath.WalkDir(filepath.Join("..", ".."), func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && strings.HasPrefix(d.Name(), ".") && d.Name() != "..":
			return filepath.SkipDir
		case !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go"):
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		names, err := hitsOf(file)
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		out = append(out, names...)
		return nil
	})
	testenv.Must(t, err)
	slices.Sort(out)
	for i := range out[:max(len(out)-1, 0)] {
		if out[i] == out[i+1] {
			t.Errorf("the failpoint %s is in two places", out[i])
		}
	}
	return out
}

func hitsOf(file *ast.File) ([]string, error) {
	var out []string
	var bad error
	ast.Inspect(file, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok {
			return true
		}
		called := types.ExprString(call.Fun)
		if called != "atomicfile.Failpoint" && (called != "Failpoint" || file.Name.Name != "atomicfile") {
			return true
		}
		lit, ok := call.Args[0].(*ast.BasicLit)
		if !ok {
			bad = errors.Join(bad, errors.New("a failpoint whose name is no literal"))
			return true
		}
		name, err := strconv.Unquote(lit.Value)
		out, bad = append(out, name), errors.Join(bad, err)
		return true
	})
	return out, bad
}

func TestHitsAreFound(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`atomicfile.Failpoint("a"); g(func() { atomicfile.Failpoint("b") })`: "a b",
		`atomicfile.Failpoint(name)`:                                         "error",
		`other.Failpoint("a"); Failpoint("b"); f.x.y()`:                      "",
	} {
		file, err := parser.ParseFile(token.NewFileSet(), "a.go", "package a\nfunc f() {"+text+"}", 0)
		testenv.Must(t, err)
		names, err := hitsOf(file)
		got := strings.Join(names, " ")
		if err != nil {
			got = "error"
		}
		if got != want {
			t.Errorf("%s: got %q, want %q", text, got, want)
		}
	}
}

// points are all there are: every one at its first hit, and in the middle unless
// it is passed but once. Those of a candidate are spread over the others, which
// are passed meanwhile.
func points(t *testing.T) []point {
	t.Helper()
	names := hits(t)
	if len(names) < 20 {
		t.Fatalf("only %d failpoints: %q", len(names), names)
	}
	out := slices.Concat(early, atIntake)
	for _, n := range perCandidate {
		out = append(out, point{n, 1})
	}
	out = append(out, afterCrash[:2]...)
	listed := func(n string) bool {
		return slices.Contains(perCandidate, n) || slices.ContainsFunc(out, func(p point) bool { return p.name == n })
	}
	var often []point
	for _, n := range names {
		if !listed(n) {
			often = append(often, point{n, 1}, point{n, middle})
		}
	}
	share := len(often)/len(perCandidate) + 1
	for i, n := range perCandidate {
		out = append(out, often[min(i*share, len(often)):min((i+1)*share, len(often))]...)
		out = append(out, point{n, 2})
	}
	out = append(out, afterCrash[2:]...)
	for _, p := range out {
		if !slices.Contains(names, p.name) {
			t.Errorf("no failpoint is called %s any more", p.name)
		}
	}
	return out
}

// TestKilledAtEveryStep kills a rehearsal at every failpoint, goes on, and wants
// in the end what an undisturbed one gives. One rehearsal takes as many kills as
// it has steps for; in a nightly run each point has a rehearsal of its own.
func TestKilledAtEveryStep(t *testing.T) {
	if w := undisturbed(); w.err != nil {
		t.Fatal(w.err)
	}
	all := points(t)
	if testenv.Raced() {
		all = slices.DeleteFunc(all, func(p point) bool { return p.hit > 1 })
	}
	if testenv.Nightly() {
		for _, p := range all {
			t.Run(p.String(), func(t *testing.T) { killedAt(t, p) })
		}
		return
	}
	for len(all) > 0 {
		before := len(all)
		if all = killedAt(t, all...); len(all) == before {
			t.Fatalf("%s was never reached", all[0])
		}
	}
}

// killedAt runs one rehearsal that is killed at each of the points in turn, as
// far as it comes to them, and returns the points that are left.
func killedAt(t *testing.T, all ...point) []point {
	t.Helper()
	root := testenv.OpenDir(t)
	prepareKill(t, root, all[0])
	for len(all) > 0 {
		began := time.Now()
		if !step(t, root, all[0]) {
			break
		}
		t.Logf("killed at %s, %v after the start", all[0], time.Since(began).Round(time.Millisecond))
		if all = all[1:]; len(all) > 0 && all[0] == atIntake[0] {
			dropInto(t, home(filepath.Join(root, "work")))
		}
	}
	var r Result
	out := goOn(t, root)
	testenv.Must(t, json.Unmarshal(out, &r))
	sameEverywhere(t, r, home(filepath.Join(root, "work")).Results())
	nothingLeft(t, filepath.Join(root, "tmp"))
	noLeftovers(t, filepath.Join(root, "work"))
	return all
}

// prepareKill brings a new rehearsal to where a point that mends something has
// something to mend.
func prepareKill(t *testing.T, root string, p point) {
	t.Helper()
	if slices.Contains(early, p) {
		return
	}
	if !step(t, root, point{"trial.session.noted", 5}) {
		t.Fatal("the rehearsal came to its end before the fifth session")
	}
	dropInto(t, home(filepath.Join(root, "work")))
}

// armed starts or continues the rehearsal with a point armed; "" arms none.
func armed(t *testing.T, root, point string) *exec.Cmd {
	t.Helper()
	work := filepath.Join(root, "work")
	_, err := os.Stat(filepath.Join(work, "rehearsal.json"))
	resume := err == nil
	if !resume { // killed before it was set up: begin anew
		testenv.Must(t, os.RemoveAll(work))
	}
	cmd := command(t.Context(), t, small(), root, resume)
	cmd.Env = append(cmd.Env, atomicfile.CrashVariable+"="+point, pinVariable+"="+filepath.Join(root, "pin"))
	return cmd
}

// step goes on with a point armed and says whether the rehearsal was killed there;
// false when it came to its end first.
func step(t *testing.T, root string, p point) bool {
	t.Helper()
	cmd := armed(t, root, p.String())
	err := cmd.Run()
	exit, failed := errors.AsType[*exec.ExitError](err)
	switch {
	case err == nil:
		return false
	case failed && exit.ExitCode() == -1:
		soundLedger(t, home(filepath.Join(root, "work")))
		return true
	}
	t.Fatalf("with %s: %v: %s", p, err, cmd.Stderr)
	return false
}

// goOn continues the rehearsal to its end and returns what it printed.
func goOn(t *testing.T, root string) []byte {
	t.Helper()
	cmd := armed(t, root, "")
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go on: %v: %s", err, cmd.Stderr)
	}
	return out
}

// dropInto leaves in the spool what a person may drop there: a candidate that
// leaves the Surface, and files that are none.
func dropInto(t *testing.T, h campaign.Home) {
	t.Helper()
	testenv.Must(t, os.MkdirAll(h.Spool(), 0o700))
	if _, err := h.Drop(campaign.Dropped{Rationale: "leaves the surface", Files: map[string]string{"README.md": "ours\n"}}); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"b-binary": "\x00\xff\xfe", "c-half": "rationale: \"half a fi", "d-empty": "", "e-list": "- a\n", "f-unknown": "wording: better\n",
	} {
		testenv.Must(t, os.WriteFile(filepath.Join(h.Spool(), name+".yaml"), []byte(text), 0o600))
	}
}

// unfinished is the name of what was being made.
var unfinished = regexp.MustCompile(`^\.(.+[0-9]{12,}|new-repo-.*|.*\.partial-.*)$|\.lock$`)

// noLeftovers wants no temporary file of ours in a directory, which a crash may
// leave and the next start removes.
func noLeftovers(t *testing.T, dir string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if ours := unfinished.FindString(d.Name()); err == nil && ours != "" && d.Name() != daemon.LockName {
			t.Errorf("left behind: %s", path)
		}
		return err
	})
	testenv.Must(t, err)
}

// soundLedger wants every hash right, whenever it is looked at.
func soundLedger(t *testing.T, h campaign.Home) {
	t.Helper()
	if err := ledgerError(t, h); err != nil {
		t.Errorf("after the kill: %v", err)
	}
}
