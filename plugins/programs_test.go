package plugins_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"loopd/internal/testenv"
)

// record is the front matter the programs write.
type record struct {
	ID            string   `yaml:"id"`
	Title         string   `yaml:"title"`
	Status        string   `yaml:"status"`
	Date          string   `yaml:"date"`
	Supersedes    string   `yaml:"supersedes"`
	SupersededBy  string   `yaml:"superseded-by"`
	AffectedPaths []string `yaml:"affected-paths"`
}

func (p project) record(name string) record {
	p.t.Helper()
	var r record
	frontMatter(p.t, p.read(name), &r)
	return r
}

func TestInitIsRepeatableAndKeepsRecords(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	p.ok("", "adr-new", "Use one queue")
	before := p.snapshot()
	if got := p.ok("", "adr-init"); got != "docs/adr is already there\n" {
		t.Errorf("second adr-init printed %q", got)
	}
	testenv.Same(t, "result", before, p.snapshot())
	index := filepath.Join(p.dir, "docs/adr/README.md")
	testenv.Must(t, os.Remove(index))
	p.ok("", "adr-init")
	testenv.Same(t, "index made anew", before, p.snapshot())
}

func TestNewWritesRecordAndIndex(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	title := `Quote "this" \ that | Grüße: #1`
	got := p.ok("## Decision\n\nText with $HOME and `ticks`.\n", "adr-new", title,
		"--affects", "./app/main.go", "--affects", `odd "name"`, "--status", "Proposed", "--body", "-")
	name := strings.TrimSpace(got)
	if want := "docs/adr/0001-quote-this-that-gr-e-1.md"; name != want {
		t.Fatalf("path: got %s, want %s", name, want)
	}
	want := record{
		ID: "0001", Title: title, Status: "Proposed", Date: "2031-05-28",
		AffectedPaths: []string{"app/main.go", `odd "name"`},
	}
	testenv.Same(t, "result", want, p.record(name))
	text := p.read(name)
	if want := "---\n\n# 0001. " + title + "\n\n## Decision\n\nText with $HOME and `ticks`.\n"; !strings.HasSuffix(text, want) {
		t.Errorf("got %q, want it to end with %q", text, want)
	}
	row := `| [0001](0001-quote-this-that-gr-e-1.md) | Quote "this" \ that \| Grüße: #1 | Proposed | 2031-05-28 |`
	if index := p.read("docs/adr/README.md"); !strings.Contains(index, "\n"+row+"\n") {
		t.Errorf("index %q lacks %q", index, row)
	}
}

func TestNewWithoutBodyHasHeadings(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	name := strings.TrimSpace(p.ok("", "adr-new", "Plain"))
	want := record{ID: "0001", Title: "Plain", Status: "Accepted", Date: "2031-05-28", AffectedPaths: []string{}}
	testenv.Same(t, "result", want, p.record(name))
	if !strings.Contains(p.read(name), "## Context\n\n## Decision\n\n## Consequences\n") {
		t.Errorf("no headings in %q", p.read(name))
	}
}

func TestNewNumbersAfterTheLastOne(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	p.write("docs/adr/0077-old.md", "---\nid: \"0077\"\ntitle: Old\nstatus: Accepted\ndate: 2030-01-01\n---\n")
	if got := p.ok("", "adr-new", "--", "--dashed title"); got != "docs/adr/0078-dashed-title.md\n" {
		t.Errorf("got %q", got)
	}
	if got := p.ok("", "adr-new", "決定"); got != "docs/adr/0079-record.md\n" {
		t.Errorf("title without ASCII letters: got %q", got)
	}
	p.write("docs/adr/9999-last.md", "---\nid: \"9999\"\n---\n")
	if r := p.run("", "adr-new", "One more"); r.code != 2 {
		t.Errorf("after 9999: got %+v, want exit 2", r)
	}
}

func TestSupersedeEditsBothRecordsAndTheIndex(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	old := strings.TrimSpace(p.ok("status: not this line\n", "adr-new", "First", "--affects", "a.rb", "--body", "-"))
	p.ok("", "adr-new", "Unrelated")
	before := p.read(old)
	name := strings.TrimSpace(p.ok("", "adr-new", "Second", "--supersedes", "1"))

	want := strings.Replace(before, "status: Accepted\n", "status: Superseded\n", 1)
	want = strings.Replace(want, `superseded-by: ""`, `superseded-by: "0003"`, 1)
	testenv.Same(t, "old record", want, p.read(old))
	if got := p.record(name); got.Supersedes != "0001" || got.Status != "Accepted" {
		t.Errorf("new record: got %+v", got)
	}
	index := p.read("docs/adr/README.md")
	for _, row := range []string{
		"| [0001](0001-first.md) | First | Superseded by 0003 | 2031-05-28 |",
		"| [0002](0002-unrelated.md) | Unrelated | Accepted | 2031-05-28 |",
		"| [0003](0003-second.md) | Second | Accepted | 2031-05-28 |",
	} {
		if !strings.Contains(index, row+"\n") {
			t.Errorf("index %q lacks %q", index, row)
		}
	}
}

func TestSupersedeAddsTheKeyToAHandWrittenRecord(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	p.write("docs/adr/0001-hand.md", "---\nid: \"0001\"\ntitle: 'By hand'\nstatus: Accepted\n---\nstatus: text\n")
	p.ok("", "adr-new", "Next", "--supersedes", "0001")
	want := "---\nid: \"0001\"\ntitle: 'By hand'\nstatus: Superseded\nsuperseded-by: \"0002\"\n---\nstatus: text\n"
	testenv.Same(t, "result", want, p.read("docs/adr/0001-hand.md"))
}

func TestIndexKeepsWordsAroundTheTable(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	index := p.read("docs/adr/README.md")
	p.write("docs/adr/README.md", "Our own words.\n\n"+index+"\nMore words.\n")
	p.ok("", "adr-new", "One")
	got := p.read("docs/adr/README.md")
	if !strings.HasPrefix(got, "Our own words.\n\n# ") || !strings.HasSuffix(got, "\nMore words.\n") {
		t.Errorf("words are lost: %q", got)
	}
	p.ok("", "adr-new", "Two")
	if n := strings.Count(p.read("docs/adr/README.md"), "| One |"); n != 1 {
		t.Errorf("rows of One: got %d, want 1", n)
	}
}

func TestBadInputChangesNothing(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	p.ok("", "adr-new", "First")
	p.ok("", "adr-new", "Second", "--supersedes", "0001")
	p.write("docs/adr/0009-broken.md", "no front matter\n")
	p.write("empty.md", " \n\t\n")
	before := p.snapshot()
	cases := []struct {
		args []string
		says string
	}{
		{[]string{"adr-new"}, "needs a title"},
		{[]string{"adr-new", "  "}, "needs a title"},
		{[]string{"adr-new", "two", "titles"}, "second title"},
		{[]string{"adr-new", "a\nb"}, "control character"},
		{[]string{"adr-new", strings.Repeat("x", 201)}, "longer than 200"},
		{[]string{"adr-new", "T", "--colour", "red"}, "unknown option --colour"},
		{[]string{"adr-new", "T", "--affects"}, "--affects needs a value"},
		{[]string{"adr-new", "T", "--affects", "/etc/passwd"}, "inside the project"},
		{[]string{"adr-new", "T", "--affects", "a/../../b"}, "inside the project"},
		{[]string{"adr-new", "T", "--status", "accepted"}, "--status is"},
		{[]string{"adr-new", "T", "--supersedes", "x1"}, "record number"},
		{[]string{"adr-new", "T", "--supersedes", "00012"}, "record number"},
		{[]string{"adr-new", "T", "--supersedes", "0042"}, "no record 0042"},
		{[]string{"adr-new", "T", "--supersedes", "0001"}, "already superseded"},
		{[]string{"adr-new", "T", "--supersedes", "0009"}, "no status line"},
		{[]string{"adr-new", "T", "--supersedes", "2", "--supersedes", "2"}, "given twice"},
		{[]string{"adr-new", "T", "--body", "missing.md"}, "cannot read the body"},
		{[]string{"adr-new", "T", "--body", "empty.md"}, "body is empty"},
		{[]string{"adr-new", "T", "--body", "-"}, "body is empty"},
		{[]string{"adr-find"}, "needs a word"},
		{[]string{"adr-find", " "}, "needs a word"},
		{[]string{"adr-find", "--all"}, "unknown option"},
		{[]string{"adr-list", "--status", "Open"}, "--status is"},
		{[]string{"adr-list", "extra"}, "no argument extra"},
		{[]string{"adr-init", "here"}, "takes no arguments"},
	}
	for _, c := range cases {
		r := p.run("", c.args[0], c.args[1:]...)
		p.wantRefusal(r, c.args, c.says)
		if diff := cmp.Diff(before, p.snapshot()); diff != "" {
			t.Fatalf("%q changed: %s", c.args, diff)
		}
	}
}

// wantRefusal checks the one line on stderr and the exit code of bad input.
func (p project) wantRefusal(r result, args []string, says string) {
	p.t.Helper()
	line, rest, _ := strings.Cut(r.stderr, "\n")
	if r.code != 2 || r.stdout != "" || rest != "" || !strings.HasPrefix(line, args[0]+": ") || !strings.Contains(line, says) {
		p.t.Errorf("%q: got %+v, want exit 2 and one line with %q", args, r, says)
	}
}

func TestOutsideAProjectProgramsSaySo(t *testing.T) {
	t.Parallel()
	p := project{t: t, plugin: materialise(t), dir: t.TempDir()}
	for _, args := range [][]string{{"adr-new", "T"}, {"adr-find", "w"}, {"adr-list"}} {
		p.wantRefusal(p.run("", args[0], args[1:]...), args, "run adr-init first")
	}
	if len(p.snapshot()) != 1 {
		t.Errorf("something was written: %v", p.snapshot())
	}
	p.write("docs", "in the way")
	p.wantRefusal(p.run("", "adr-init"), []string{"adr-init"}, "cannot make docs/adr")
}

func TestDamagedIndexIsRefused(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	for _, index := range []string{"no markers\n", "<!-- records -->\n", "<!-- end of records -->\n<!-- records -->\n"} {
		p.write("docs/adr/README.md", index)
		before := p.snapshot()
		p.wantRefusal(p.run("", "adr-new", "T"), []string{"adr-new"}, "lacks the lines")
		testenv.Same(t, "result", before, p.snapshot())
	}
}

func TestBadDateIsRefused(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	cmd := exec.CommandContext(t.Context(), filepath.Join(p.plugin, "bin/adr-new"), "T")
	cmd.Dir = p.dir
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "ADR_DATE=28.5.2031"}
	p.wantRefusal(finish(t, cmd, ""), []string{"adr-new"}, "ADR_DATE")
}

func TestProgramsWorkFromASubdirectory(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	inner := p
	inner.dir = filepath.Join(p.dir, "app/deep")
	testenv.Must(t, os.MkdirAll(inner.dir, 0o755))
	inner.write("body.md", "From a file.\n")
	if got := inner.ok("", "adr-new", "Deep", "--body", "body.md"); got != "docs/adr/0001-deep.md\n" {
		t.Errorf("got %q", got)
	}
	if !strings.HasSuffix(p.read("docs/adr/0001-deep.md"), "\nFrom a file.\n") {
		t.Error("the body is not the file's text")
	}
}

func TestHelpShowsUsage(t *testing.T) {
	t.Parallel()
	p := project{t: t, plugin: materialise(t), dir: t.TempDir()}
	for _, name := range []string{"adr-init", "adr-new", "adr-find", "adr-list"} {
		if got := p.ok("", name, "--help"); !strings.HasPrefix(got, "usage: "+name) {
			t.Errorf("%s --help: got %q", name, got)
		}
	}
}

func searchProject(t *testing.T) project {
	p := newProject(t)
	p.ok("Cookies are signed. Cookie cookie cookie.\n", "adr-new", "Sign cookies", "--affects", "app/web", "--body", "-")
	p.ok("A session lives in Redis; no cookie.\n", "adr-new", "Keep sessions in Redis", "--affects", "app/session.py", "--body", "-")
	p.ok("Undelivered mail is dropped.\n", "adr-new", "Drop mail", "--body", "-", "--affects", "app/cookie.py")
	p.ok("Sign with another key.\n", "adr-new", "Sign with Ed25519", "--supersedes", "1", "--body", "-")
	return p
}

func ids(out string) []string {
	var got []string
	for line := range strings.Lines(out) {
		id, _, _ := strings.Cut(line, "\t")
		got = append(got, id)
	}
	return got
}

func TestFindRanks(t *testing.T) {
	t.Parallel()
	p := searchProject(t)
	cases := []struct {
		words []string
		want  []string
	}{
		{[]string{"REDIS"}, []string{"0002"}},
		{[]string{"cookie"}, []string{"0003", "0002", "0001"}},            // affected path, then text, then superseded
		{[]string{"session", "cookie"}, []string{"0002", "0003", "0001"}}, // both words first
		{[]string{"app/web/form.py"}, []string{"0001"}},                   // a file in an affected directory
		{[]string{"app/webhook.py"}, nil},
		{[]string{"deliver"}, nil}, // not at the start of a word
		{[]string{"."}, []string{"0002", "0003", "0004", "0001"}},
	}
	for _, c := range cases {
		got := p.ok("", "adr-find", c.words...)
		if c.want == nil {
			if !strings.HasPrefix(got, "no record mentions: ") {
				t.Errorf("%q: got %q, want none", c.words, got)
			}
			continue
		}
		gotIDs := ids(got)
		if c.words[0] == "." {
			slices.Sort(gotIDs)
			slices.Sort(c.want)
		}
		testenv.Same(t, fmt.Sprintf("%q", c.words), c.want, gotIDs)
	}
}

func TestFindAndListPrintFields(t *testing.T) {
	t.Parallel()
	p := searchProject(t)
	want := "0001\tSuperseded by 0004\tSign cookies\tdocs/adr/0001-sign-cookies.md\n"
	if got := p.ok("", "adr-find", "signed"); got != want {
		t.Errorf("adr-find: got %q, want %q", got, want)
	}
	if got := p.ok("", "adr-list", "--status", "Superseded"); got != want {
		t.Errorf("adr-list: got %q, want %q", got, want)
	}
	testenv.Same(t, "result", []string{"0001", "0002", "0003", "0004"}, ids(p.ok("", "adr-list")))
}

func TestConcurrentWritersNeverShareANumber(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	var wg sync.WaitGroup
	results := make([]result, 8)
	for i := range results {
		wg.Go(func() { results[i] = p.run("", "adr-new", fmt.Sprintf("Writer %d", i)) })
	}
	wg.Wait()
	var written []string
	for _, r := range results {
		if r.code == 0 {
			written = append(written, strings.TrimSpace(r.stdout))
		} else if r.code != 2 || !strings.Contains(r.stderr, "another adr program is writing") {
			t.Errorf("got %+v", r)
		}
	}
	index := p.read("docs/adr/README.md")
	seen := map[string]bool{}
	for _, name := range written {
		id := filepath.Base(name)[:4]
		if seen[id] || !strings.Contains(index, "("+filepath.Base(name)+")") {
			t.Errorf("%s: number used twice or missing in the index", name)
		}
		seen[id] = true
	}
	if len(written) == 0 || len(p.snapshot()) != len(written)+4 {
		t.Errorf("written %d, files %v", len(written), p.snapshot())
	}
}
