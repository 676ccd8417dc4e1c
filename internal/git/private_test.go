package git

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"loopd/candidates"
	"loopd/internal/testenv"
)

func simple(text string) Commit {
	return Commit{
		Tree: map[string]File{
			"a.txt":     {Regular, []byte(text)},
			"a/b":       {Executable, []byte("#!/bin/sh\n")},
			"a-b":       {Symlink, []byte("a/b")},
			"a.d/empty": {Regular, nil},
		},
		AuthorName: "loopd", AuthorEmail: "loopd@localhost",
		Time: time.Unix(1700000000, 999), Message: "subject\n\nTrailer: value\n\n\n",
	}
}

func TestCommitIsAPureFunction(t *testing.T) {
	t.Parallel()
	const want = "7ac4aeacb6b4125677ab3604765dad74dc6de3ea"
	for range 2 {
		p := newPrivate(t)
		c := simple("text\n")
		c.Time = c.Time.In(time.FixedZone("elsewhere", 5*3600))
		for range 2 {
			got, err := p.WriteCommit(c)
			if err != nil || got != want {
				t.Fatalf("got %s and error %v, want %s", got, err, want)
			}
		}
		fsck(t, p.Dir())
	}
}

// The same files committed by git itself give the same tree, and git reads back what was written.
func TestCommitAgreesWithGit(t *testing.T) {
	t.Parallel()
	p := newPrivate(t)
	hash, err := p.WriteCommit(simple("text\n"))
	testenv.Must(t, err)
	dir := t.TempDir()
	testenv.Git(t, dir, "init", "-q")
	testenv.Write(t, filepath.Join(dir, "a.txt"), "text\n")
	testenv.WriteMode(t, filepath.Join(dir, "a/b"), "#!/bin/sh\n", 0o755)
	testenv.Write(t, filepath.Join(dir, "a.d/empty"), "")
	testenv.Must(t, os.Symlink("a/b", filepath.Join(dir, "a-b")))
	testenv.Git(t, dir, "add", ".")
	tree := testenv.Git(t, dir, "write-tree")
	want := "tree " + tree + "\nauthor loopd <loopd@localhost> 1700000000 +0000\ncommitter loopd <loopd@localhost> 1700000000 +0000\n\nsubject\n\nTrailer: value"
	if got := testenv.Git(t, p.Dir(), "cat-file", "-p", hash); got != want {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
}

func TestTreeReturnsWhatWasWritten(t *testing.T) {
	t.Parallel()
	p := newPrivate(t)
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.SampledFrom([]string{"a", "a.", "a-", "a0", "ab", "é", " ", "B"})
		tree := map[string]File{}
		for range rapid.IntRange(1, 6).Draw(t, "files") {
			parts := rapid.SliceOfN(name, 1, 3).Draw(t, "path")
			mode := rapid.SampledFrom([]Mode{Regular, Executable, Symlink}).Draw(t, "mode")
			tree[strings.Join(parts, "/")] = File{mode, rapid.SliceOfN(rapid.Byte(), 0, 20).Draw(t, "data")}
		}
		c := simple("")
		c.Tree = tree
		hash, err := p.WriteCommit(c)
		if collides(tree) {
			if err == nil {
				t.Fatalf("a file below a file was written: %v", tree)
			}
			return
		}
		testenv.Must(t, err)
		got, err := p.Tree(hash)
		equal := cmp.Equal(tree, got, cmp.Comparer(func(a, b File) bool { return a.Mode == b.Mode && bytes.Equal(a.Data, b.Data) }))
		if err != nil || !equal {
			t.Errorf("got %v and error %v, want %v", got, err, tree)
		}
	})
	fsck(t, p.Dir())
}

func collides(tree map[string]File) bool {
	for a := range tree {
		for b := range tree {
			if strings.HasPrefix(b, a+"/") {
				return true
			}
		}
	}
	return false
}

func TestWriteCommitRefuses(t *testing.T) {
	t.Parallel()
	file := map[string]File{"f": {Regular, nil}}
	for name, test := range map[string]struct {
		spoil func(*Commit)
		want  string
	}{
		"no files":        {func(c *Commit) { c.Tree = nil }, "tree is empty"},
		"up":              {func(c *Commit) { c.Tree = map[string]File{"../f": {Regular, nil}} }, "not valid"},
		"absolute":        {func(c *Commit) { c.Tree = map[string]File{"/f": {Regular, nil}} }, "not valid"},
		"backslash":       {func(c *Commit) { c.Tree = map[string]File{`a\..\f`: {Regular, nil}} }, "not valid"},
		"git":             {func(c *Commit) { c.Tree = map[string]File{"a/.GIT./config": {Regular, nil}} }, "not valid"},
		"short name":      {func(c *Commit) { c.Tree = map[string]File{"GIT~1/config": {Regular, nil}} }, "not valid"},
		"NUL":             {func(c *Commit) { c.Tree = map[string]File{"a\x00b": {Regular, nil}} }, "not valid"},
		"mode":            {func(c *Commit) { c.Tree = map[string]File{"f": {"100600", nil}} }, "unknown file mode"},
		"no mode":         {func(c *Commit) { c.Tree = map[string]File{"f": {}} }, "unknown file mode"},
		"submodule":       {func(c *Commit) { c.Tree = map[string]File{"f": {Submodule, []byte("x")}} }, "not an object hash"},
		"subdir":          {func(c *Commit) { c.Tree, c.Subdir = file, "../x" }, "not valid"},
		"no message":      {func(c *Commit) { c.Message = " \n" }, "message is empty"},
		"author":          {func(c *Commit) { c.AuthorName = "a\nparent x" }, "author"},
		"email":           {func(c *Commit) { c.AuthorEmail = "a> 0 +0000" }, "author"},
		"no author":       {func(c *Commit) { c.AuthorName = "" }, "author"},
		"time":            {func(c *Commit) { c.Time = time.Time{} }, "before 1970"},
		"parent":          {func(c *Commit) { c.Parents = []string{strings.Repeat("1", 40)} }, "import it first"},
		"parent, no hash": {func(c *Commit) { c.Parents = []string{"main"} }, "not an object hash"},
		"base":            {func(c *Commit) { c.Base = strings.Repeat("1", 40) }, "import it first"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := simple("x")
			test.spoil(&c)
			if hash, err := newPrivate(t).WriteCommit(c); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %q and error %v, want an error with %q", hash, err, test.want)
			}
		})
	}
}

func TestSetRefComparesAndSwaps(t *testing.T) {
	t.Parallel()
	p := newPrivate(t)
	const ref = "refs/heads/loopd/night/1"
	one, _ := p.WriteCommit(simple("1"))
	two, _ := p.WriteCommit(simple("2"))
	for i, step := range []struct {
		hash, old string
		conflict  bool
		after     string
	}{
		{one, two, true, ""},
		{one, "", false, one},
		{one, "", false, one}, // repeated after a crash
		{two, "", true, one},
		{two, two, true, one},
		{two, one, false, two},
	} {
		err := p.SetRef(ref, step.hash, step.old)
		if conflict, ok := errors.AsType[*ConflictError](err); ok != step.conflict || !ok && err != nil {
			t.Errorf("step %d: got error %v (%v), want conflict %v", i, err, conflict, step.conflict)
		}
		if got, err := p.Ref(ref); err != nil || got != step.after {
			t.Errorf("step %d: got %s and error %v, want %s", i, got, err, step.after)
		}
		if locks, _ := filepath.Glob(filepath.Join(p.Dir(), ref+".lock")); len(locks) > 0 {
			t.Errorf("step %d left %v", i, locks)
		}
	}
	if got := testenv.Git(t, p.Dir(), "rev-parse", ref); got != two {
		t.Errorf("git reads %s, want %s", got, two)
	}
	testenv.Git(t, p.Dir(), "pack-refs", "--all")
	if err := p.SetRef(ref, one, two); err != nil {
		t.Errorf("over a packed reference: %v", err)
	}
	fsck(t, p.Dir())
}

func TestSetRefRefusesNames(t *testing.T) {
	t.Parallel()
	p := newPrivate(t)
	hash, _ := p.WriteCommit(simple("1"))
	for _, name := range []string{"", "HEAD", "refs", "refs/", "refs/heads/a..b", "refs/heads/-rf", "refs/heads/a b",
		"refs/heads/x.lock", "refs/heads/../../config", "refs/heads/.a", "refs/heads/a@{1}", "refs/heads/a\nb", "/refs/heads/a",
		"refs//heads", "config", "refs/heads/a\\b", "refs/heads/a/"} {
		if err := p.SetRef(name, hash, ""); err == nil {
			t.Errorf("%q was taken", name)
		}
	}
	for _, hash := range []string{"", "abc", strings.Repeat("g", 40), strings.Repeat("1", 40), strings.ToUpper(hash)} {
		if err := p.SetRef("refs/heads/a", hash, ""); err == nil {
			t.Errorf("hash %q was taken", hash)
		}
	}
	testenv.Must(t, p.SetRef("refs/heads/a", hash, ""))
	if err := p.SetRef("refs/heads/a/b", hash, ""); err == nil {
		t.Error("a reference below a reference was taken")
	}
}

func TestSetRefByManyAtOnce(t *testing.T) {
	t.Parallel()
	p := newPrivate(t)
	var hashes []string
	for _, text := range strings.Split("abcdefgh", "") {
		hash, err := p.WriteCommit(simple(text))
		testenv.Must(t, err)
		hashes = append(hashes, hash)
	}
	won := make([]error, len(hashes))
	var wg sync.WaitGroup
	for i, hash := range hashes {
		wg.Go(func() { won[i] = p.SetRef("refs/heads/race", hash, "") })
	}
	wg.Wait()
	winners := 0
	for _, err := range won {
		if err == nil {
			winners++
		} else if _, ok := errors.AsType[*ConflictError](err); !ok {
			t.Errorf("got %v, want a conflict", err)
		}
	}
	if winners != 1 {
		t.Errorf("got %d winners, want 1", winners)
	}
}

func TestLeftoversOfACrash(t *testing.T) {
	t.Parallel()
	p := newPrivate(t)
	hash, _ := p.WriteCommit(simple("1"))
	const ref = "refs/heads/loopd/a"
	path := filepath.Join(p.Dir(), ref)
	testenv.WriteMode(t, path, "", 0o600)
	testenv.WriteMode(t, filepath.Join(p.Dir(), "refs/heads/loopd/nul"), strings.Repeat("\x00", 41), 0o600)
	testenv.WriteMode(t, path+".lock", hash[:10], 0o600)
	testenv.WriteMode(t, filepath.Join(p.Dir(), "objects/pack/tmp_obj_1"), "half", 0o600)

	if got, err := p.Ref(ref); err != nil || got != "" {
		t.Errorf("broken reference: got %q and error %v, want none", got, err)
	}
	if _, ok := errors.AsType[*LockedError](p.SetRef(ref, hash, "")); !ok {
		t.Error("a lock was ignored")
	}
	if got, err := p.SweepLocks(); err != nil || len(got) != 2 {
		t.Errorf("sweep: got %v and error %v, want the lock and the half object", got, err)
	}
	for _, name := range []string{ref, "refs/heads/loopd/nul"} {
		if err := p.SetRef(name, hash, ""); err != nil {
			t.Errorf("after the sweep: %v", err)
		}
	}
	fsck(t, p.Dir())
}

func TestOpenPrivate(t *testing.T) {
	t.Parallel()
	for _, dir := range []string{t.TempDir(), filepath.Join(t.TempDir(), "absent")} {
		_, err := OpenPrivate(dir)
		if _, ok := errors.AsType[*NotRepositoryError](err); !ok {
			t.Errorf("got %v, want a NotRepositoryError", err)
		}
	}
	p := newPrivate(t)
	if _, err := InitPrivate(p.Dir()); err == nil {
		t.Error("a repository was made over another")
	}
	if left, _ := filepath.Glob(filepath.Join(filepath.Dir(p.Dir()), ".new-repo-*")); len(left) > 0 {
		t.Errorf("left over: %v", left)
	}
	if _, err := OpenPrivate(p.Dir()); err != nil {
		t.Errorf("after the refusal: %v", err)
	}
	info, err := os.Stat(p.Dir())
	if err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("got mode %v and error %v, want 0700", info.Mode(), err)
	}
	if got := testenv.Git(t, p.Dir(), "rev-parse", "--is-bare-repository"); got != "true" {
		t.Errorf("git says bare: %s", got)
	}
}

func TestGitReadsTheTrailers(t *testing.T) {
	t.Parallel()
	p := newPrivate(t)
	c := simple("1")
	c.Message = candidates.Message(candidates.Candidate{ID: "c001", Source: candidates.Proposer, Targets: []string{"W3/sonnet"},
		Rationale: "Why: because\nSource: person"}, "night-1")
	hash, err := p.WriteCommit(c)
	testenv.Must(t, err)
	want := "Campaign: night-1\nCandidate: c001\nSource: proposer\nTargets: W3/sonnet\nRationale: Why: because Source: person"
	if got := testenv.Git(t, p.Dir(), "log", "-1", "--format=%(trailers)", hash); strings.TrimSpace(got) != want {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
	if got := testenv.Git(t, p.Dir(), "log", "-1", "--format=%s", hash); got != "loopd: candidate c001" {
		t.Errorf("got subject %q", got)
	}
}

func TestObjectsAreNotLeftUnderTemporaryNames(t *testing.T) {
	t.Parallel()
	p := newPrivate(t)
	if _, err := p.WriteCommit(simple("1")); err != nil {
		t.Fatal(err)
	}
	err := walkFiles(filepath.Join(p.Dir(), "objects"), func(path string, _ fs.DirEntry) error {
		if strings.HasPrefix(filepath.Base(path), "tmp_") {
			t.Errorf("left over: %s", path)
		}
		return nil
	})
	testenv.Must(t, err)
}
