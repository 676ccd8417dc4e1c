package campaign

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"loopd/candidates"
	"loopd/internal/testenv"
	"loopd/loop"
)

// spool writes a file into the spool as a person's editor would.
func (n *night) spool(name, text string) {
	n.t.Helper()
	testenv.Must(n.t, os.MkdirAll(n.home.Spool(), 0o700))
	overwrite(n.t, filepath.Join(n.home.Spool(), name), text)
}

// spooled lists the names in the spool.
func (n *night) spooled() []string {
	n.t.Helper()
	entries, err := os.ReadDir(n.home.Spool())
	testenv.Must(n.t, err)
	var out []string
	for _, e := range entries {
		out = append(out, e.Name())
	}
	return out
}

// takeIn asks for what has arrived and queues it.
func (n *night) takeIn(c *Campaign) []candidates.Candidate {
	n.t.Helper()
	got, err := c.intake(n.t.Context(), c.Current())
	testenv.Must(n.t, err)
	for _, cand := range got {
		testenv.Must(n.t, c.Queue(n.t.Context(), cand))
	}
	return got
}

func TestSpoolTakesFilesAndPatches(t *testing.T) {
	t.Parallel()
	n := newNight(t, "")
	c := n.open()
	defer c.Close()
	n.begin(c)
	text := "[os-adr] Look.\n"
	n.spool("b-files.yaml", "rationale: plain\nauthor: ann\ntargets: [R1/sonnet]\nfiles:\n  hooks/session-start-note.md: |\n    [os-adr] Look.\n")
	patch := sentence(t, "It is quick.")
	n.spool("a-patch.yaml", "patch: |\n  "+strings.ReplaceAll(strings.TrimSpace(patch.Patch), "\n", "\n  ")+"\n")
	got := n.takeIn(c)
	edits, err := candidates.ParsePatch(patch.Patch)
	testenv.Must(t, err)
	want := []candidates.Candidate{
		{ // weighed on the cells of the one skill it edits
			ID: "c001", Source: candidates.Person, Targets: []string{"R1/sonnet"}, TargetsFrom: "the skill find-decision", Edits: edits,
		},
		{
			ID: "c002", Source: candidates.Person, Author: "ann", Rationale: "plain", Targets: []string{"R1/sonnet"},
			Edits: []candidates.Edit{{Path: "hooks/session-start-note.md", Whole: &text}},
		},
	}
	testenv.Same(t, "result", want, got)
	if again := n.takeIn(c); len(again) > 0 || len(n.spooled()) > 0 {
		t.Errorf("a second look found %v and left %v", again, n.spooled())
	}
}

// What a candidate is weighed on is settled before its first trial, and is in
// its commit.
func TestTargetsFollowTheSkill(t *testing.T) {
	t.Parallel()
	n := newNight(t, "")
	c := n.open()
	defer c.Close()
	n.begin(c)
	find, record := candidates.Edit{Path: findSkill}, candidates.Edit{Path: "skills/record-decision/SKILL.md"}
	note := candidates.Edit{Path: "hooks/session-start-note.md"}
	for name, tc := range map[string]struct {
		edits    []candidates.Edit
		declared []string
		want     []string
		from     string
	}{
		"one skill":       {[]candidates.Edit{find, find}, nil, []string{"R1/sonnet"}, "the skill find-decision"},
		"another skill":   {[]candidates.Edit{record}, nil, []string{"W1/haiku"}, "the skill record-decision"},
		"two skills":      {[]candidates.Edit{find, record}, nil, nil, ""},
		"skill and note":  {[]candidates.Edit{find, note}, nil, nil, ""},
		"the note":        {[]candidates.Edit{note}, nil, nil, ""},
		"declared all":    {[]candidates.Edit{find}, []string{"all"}, []string{"all"}, ""},
		"declared a cell": {[]candidates.Edit{find}, []string{"W1/haiku"}, []string{"W1/haiku"}, ""},
	} {
		got, err := c.aim(c.Current(), candidates.Candidate{Edits: tc.edits, Targets: tc.declared})
		if err != nil || !slices.Equal(got.Targets, tc.want) || got.TargetsFrom != tc.from {
			t.Errorf("%s: got %v from %q, %v, want %v from %q", name, got.Targets, got.TargetsFrom, err, tc.want, tc.from)
		}
	}
}

func TestSpoolSetsAsideWhatItCannotRead(t *testing.T) {
	t.Parallel()
	n := newNight(t, "")
	c := n.open()
	defer c.Close()
	n.begin(c)
	secret := filepath.Join(t.TempDir(), "outside.yaml")
	whole := "files: {hooks/session-start-note.md: \"[os-adr] %s\"}\n"
	overwrite(t, secret, fmt.Sprintf(whole, "outside"))
	n.spool("good.yaml", fmt.Sprintf(whole, "good"))
	for name, text := range map[string]string{
		"garbage.yaml":   "\x00\x01 : [",
		"unknown.yaml":   "rational: misspelt\n" + fmt.Sprintf(whole, "x"),
		"empty.yaml":     "",
		"nothing.yaml":   "rationale: nothing to change\n",
		"both.yaml":      "patch: not a patch\n",
		"source.yaml":    "source: stranger\n" + fmt.Sprintf(whole, "x"),
		"target.yaml":    "targets: [somewhere]\n" + fmt.Sprintf(whole, "x"),
		"cell.yaml":      "targets: [R1/sonnet, R9/sonnet]\n" + fmt.Sprintf(whole, "x"),
		"large.yaml":     fmt.Sprintf(whole, strings.Repeat("n", 2<<20)),
		"latin1.yaml":    fmt.Sprintf(whole, "caf\xe9"),
		"rationale.yaml": "rationale: \"caf\xe9\"\n" + fmt.Sprintf(whole, "x"),
	} {
		n.spool(name, text)
	}
	testenv.Must(t, os.Symlink(secret, filepath.Join(n.home.Spool(), "link.yaml")))
	testenv.Must(t, os.MkdirAll(filepath.Join(n.home.Spool(), "dir.yaml", "more"), 0o700))
	testenv.Must(t, syscall.Mkfifo(filepath.Join(n.home.Spool(), "pipe.yaml"), 0o600))
	if got := n.takeIn(c); len(got) != 1 || !strings.HasSuffix(*got[0].Edits[0].Whole, "good") {
		t.Errorf("taken in: got %+v, want the good one", got)
	}
	want := []string{"good.yaml"}
	for _, bad := range []string{
		"both", "cell", "dir", "empty", "garbage", "large", "latin1", "link", "nothing", "pipe", "rationale", "source", "target", "unknown",
	} {
		want = append(want, bad+".yaml.refused")
		if said := strings.Count(n.log.String(), filepath.Join(n.home.Spool(), bad+".yaml")+" "); said != 1 {
			t.Errorf("%s: said %d times", bad, said)
		}
	}
	for _, reason := range []string{"bytes, at most 1048576", "not a regular file", "not UTF-8 text", "neither a patch nor files", "target R9/sonnet is no cell of the metric"} {
		if !strings.Contains(n.log.String(), reason) {
			t.Errorf("%q was never the reason", reason)
		}
	}
	slices.Sort(want)
	testenv.Same(t, "result", want, n.spooled())
	n.takeIn(c)
	if got := strings.Count(n.log.String(), "spool file refused"); got != len(want)-1 {
		t.Errorf("refusals said: got %d, want each once, %d", got, len(want)-1)
	}
}

// Thousands of files, most of them the same by another name or nothing at all,
// hold a night up no longer than it takes to read them.
func TestSpoolOfThousands(t *testing.T) {
	t.Parallel()
	n := newNight(t, "")
	c := n.open()
	defer c.Close()
	n.begin(c)
	files := testenv.Count(200, 10_000)
	for i := range files {
		text := fmt.Sprintf("files: {hooks/session-start-note.md: \"[os-adr] Look %d times.\"}\n", i/2)
		if i%10 == 9 {
			text = text[:20]
		}
		n.spool(fmt.Sprintf("f%05d.yaml", i), text)
	}
	began := time.Now()
	got, err := c.intake(t.Context(), c.Current())
	testenv.Must(t, err)
	t.Logf("%d files in %v", files, time.Since(began).Round(time.Millisecond))
	left := n.spooled()
	refused := slices.DeleteFunc(slices.Clone(left), func(name string) bool { return !strings.HasSuffix(name, ".refused") })
	if len(got) != files/2 || len(refused) != files/10 || len(left) != len(got)+len(refused) || strings.Count(n.log.String(), "spool file refused") != files/10 {
		t.Errorf("got %d candidates and %d refused of %d files, %d left", len(got), len(refused), files, len(left))
	}
	if took := time.Since(began); took > 5*time.Minute { // far more than it may, for machines that do much else
		t.Errorf("took %v", took)
	}
}

func TestSpoolLeavesUnfinishedFilesAlone(t *testing.T) {
	t.Parallel()
	n := newNight(t, "")
	c := n.open()
	defer c.Close()
	n.begin(c)
	names := []string{".half.yaml", ".half.yaml123", "c.yaml.refused", "c.yaml.tmp", "c.yaml~"}
	for _, name := range names {
		n.spool(name, "files: {hooks/sess")
	}
	if got := n.takeIn(c); len(got) > 0 || n.log.Len() > 0 {
		t.Errorf("taken in %v, said %q", got, n.log.String())
	}
	testenv.Same(t, "result", names, n.spooled())
}

func TestSettingAsideNeverOverwrites(t *testing.T) {
	t.Parallel()
	n := newNight(t, "")
	c := n.open()
	defer c.Close()
	n.begin(c)
	testenv.Must(t, os.MkdirAll(filepath.Join(n.home.Spool(), "x.yaml.refused", "full"), 0o700))
	n.spool("x.yaml", "one")
	n.takeIn(c)
	n.spool("x.yaml", "two")
	n.takeIn(c)
	for name, want := range map[string]string{"x.yaml.refused-2": "one", "x.yaml.refused-3": "two"} {
		if got := testenv.Read(t, filepath.Join(n.home.Spool(), name)); got != want {
			t.Errorf("%s: got %q, want %q", name, got, want)
		}
	}
}

func TestTheSameFileIsQueuedOnce(t *testing.T) {
	t.Parallel()
	n := newNight(t, "")
	c := n.open()
	defer c.Close()
	n.begin(c)
	d := sentence(t, "It is quick.")
	name := n.drop(d)
	n.spool("copy.yaml", testenv.Read(t, filepath.Join(n.home.Spool(), name+".yaml")))
	if got := n.takeIn(c); len(got) != 1 {
		t.Errorf("first look: got %d, want 1", len(got))
	}
	n.drop(d) // what a crash between recording and removing leaves
	if got := n.takeIn(c); len(got) != 0 || len(n.spooled()) != 0 {
		t.Errorf("second look: got %d, left %v", len(got), n.spooled())
	}
	d.Rationale = "another reason"
	n.drop(d)
	if got := n.takeIn(c); len(got) != 1 || got[0].ID != "c002" {
		t.Errorf("another reason: got %v, want one more", got)
	}
}

func TestIDsGoOnAfterTheHighest(t *testing.T) {
	t.Parallel()
	n := newNight(t, "")
	c := n.open()
	defer c.Close()
	n.begin(c)
	cand, err := sentence(t, "It is quick.").Candidate()
	testenv.Must(t, err)
	cand.ID = "c041"
	testenv.Must(t, c.Queue(t.Context(), cand))
	n.drop(sentence(t, "It is small."))
	n.drop(sentence(t, "It is plain."))
	got := n.takeIn(c)
	if len(got) != 2 || got[0].ID != "c042" || got[1].ID != "c043" {
		t.Errorf("got %v, want c042 and c043", got)
	}
}

func TestDropRefuses(t *testing.T) {
	t.Parallel()
	h := Home{Dir: t.TempDir()}
	for name, d := range map[string]Dropped{
		"empty":  {Rationale: "nothing"},
		"patch":  {Patch: "no patch"},
		"large":  {Files: map[string]string{"a": strings.Repeat("n", maxDropped)}},
		"latin1": {Files: map[string]string{"a": "caf\xe9"}},
	} {
		if _, err := h.Drop(d); err == nil || !strings.HasPrefix(err.Error(), "add candidate: ") {
			t.Errorf("%s: got %v", name, err)
		}
	}
	if _, err := os.Stat(h.Spool()); err == nil {
		t.Error("a refused candidate left something")
	}
	if err := h.Undrop("../ledger"); err == nil {
		t.Error("a name outside the spool was taken")
	}
	name, err := h.Drop(sentence(t, "It is quick."))
	testenv.Must(t, err)
	if got, err := h.Spooled(); err != nil || len(got) != 1 || got[0].Name != name || got[0].Err != nil {
		t.Errorf("got %+v, %v", got, err)
	}
	if err := h.Undrop(name); err != nil {
		t.Error(err)
	}
	if got, err := h.Spooled(); err != nil || len(got) != 0 {
		t.Errorf("after undrop: got %+v, %v", got, err)
	}
}

// taskOf is the held-out text of a scenario, read from the sealed file as its
// author wrote it.
func (n *night) taskOf(id string) string {
	n.t.Helper()
	_, task, found := strings.Cut(testenv.Read(n.t, filepath.Join(n.sealed.Dir, "scenarios", id+".md")), "## Task\n")
	if !found || len(strings.Fields(task)) < 12 {
		n.t.Fatalf("scenario %s has no task to echo", id)
	}
	return strings.Join(strings.Fields(task), " ")
}

func TestAnEchoOfATaskCostsNothingAndGoesNowhere(t *testing.T) {
	t.Parallel()
	n := newNight(t, "")
	task := n.taskOf("R1")
	words := strings.Fields(task)
	stretch := strings.Join(words[3:9], " ")
	c := n.open()
	n.begin(c)
	wording := sentence(t, "Think of "+strings.ToUpper(stretch)+".")
	wording.Rationale = "plain"
	n.drop(wording)
	reason := sentence(t, "It is quick.")
	reason.Rationale = "helps when " + stretch
	n.drop(reason)
	n.run(c)
	s := c.Current()
	for _, p := range s.Progress {
		if p.Decided == nil || p.Decided.Reason != loop.ByLint || p.Decided.Sessions != 0 || p.Commit != "" {
			t.Errorf("%s: got %+v with commit %q, want a lint without one", p.Candidate.ID, p.Decided, p.Commit)
			continue
		}
		if f := p.Decided.Findings; len(f) != 1 || f[0].Class != candidates.Echo || holds(jsonOf(t, f), stretch) {
			t.Errorf("%s: findings %+v, want an echo that repeats nothing", p.Candidate.ID, f)
		}
	}
	if len(s.Progress) != 2 || n.git("for-each-ref", "refs/heads/loopd") != "" {
		t.Errorf("progress %v, branches %q", verdicts(s), n.git("for-each-ref", "refs/heads/loopd"))
	}
	n.wantNowhere(c, stretch)
	n.close(c)
	testenv.Same(t, "the user's repository changed", n.before, n.user())
}

func holds(text, words string) bool {
	return strings.Contains(strings.ToLower(text), strings.ToLower(words))
}

// wantNowhere checks that the words of a task are in no event but those that
// queued the wording they were written in, and in no table or page but under
// the rationale a person gave; and the task as a whole in none at all.
func (n *night) wantNowhere(c *Campaign, stretch string) {
	n.t.Helper()
	queued := 0
	for e, err := range c.ledger.Entries(n.t.Context(), 1) {
		testenv.Must(n.t, err)
		if !holds(string(e.Payload), stretch) {
			continue
		}
		if queued++; loop.Kind(e.Kind) != loop.KindQueued {
			n.t.Errorf("event %d, %s, repeats the task", e.Seq, e.Kind)
		}
	}
	if queued != 2 {
		n.t.Errorf("queued with an echo: got %d, want 2", queued)
	}
	withheld := 0
	for path, text := range n.following(&loop.State{}) {
		if holds(text, stretch) {
			n.t.Errorf("%s repeats the task", path)
		}
		withheld += strings.Count(text, "[withheld")
		for _, sc := range c.Sealed.Suite.Scenarios {
			if len(sc.Task.Overlap(text, 9)) > 0 {
				n.t.Errorf("%s holds the task of %s", path, sc.ID)
			}
		}
	}
	if withheld == 0 {
		n.t.Error("no page withholds a rationale, so nothing was looked through")
	}
}

func TestNoTaskIsWrittenDown(t *testing.T) {
	t.Parallel()
	n := newNight(t, "")
	c := n.whole()
	s := c.Current()
	defer c.Close()
	texts := n.following(s)
	var payloads bytes.Buffer
	for e, err := range c.ledger.Entries(t.Context(), 1) {
		testenv.Must(t, err)
		payloads.Write(e.Payload)
	}
	texts["ledger"], texts["log"] = payloads.String(), n.log.String()
	for name, text := range texts {
		for _, sc := range c.Sealed.Suite.Scenarios {
			if spans := sc.Task.Overlap(text, EchoWords); len(spans) > 0 {
				t.Errorf("%s repeats the task of %s in %d places", name, sc.ID, len(spans))
			}
		}
	}
	if payloads.Len() == 0 || time.Since(s.StartedAt) > time.Hour {
		t.Error("nothing was looked through")
	}
}

// TestNoSecretIsTakenIn: a candidate that holds a secret is refused wherever it
// stands, and what is set aside of it is without.
func TestNoSecretIsTakenIn(t *testing.T) {
	t.Parallel()
	key := "gh" + "p_Q7w2E9r4T6y1U3i5O8p0A2s4"
	n := newNight(t, "")
	c := n.open()
	defer c.Close()
	n.begin(c)
	for where, d := range map[string]Dropped{
		"the rationale holds": {Rationale: "use " + key, Files: map[string]string{findSkill: "x\n"}},
		"the author holds":    {Author: key, Files: map[string]string{findSkill: "x\n"}},
		"edit 1 holds":        {Files: map[string]string{findSkill: "x " + key + "\n"}},
	} {
		if _, err := n.home.Drop(d); err == nil || !strings.Contains(err.Error(), where) || strings.Contains(err.Error(), key) {
			t.Errorf("%s: got %v", where, err)
		}
	}
	patched := sentence(t, "Use "+key+".")
	if _, err := n.home.Drop(patched); err == nil || !strings.Contains(err.Error(), "edit 1 holds") {
		t.Errorf("patch: got %v", err)
	}
	n.spool("by-hand.yaml", "rationale: r\nfiles:\n  "+findSkill+": use "+key+"\n")
	if got := n.takeIn(c); len(got) != 0 {
		t.Errorf("taken in: %+v", got)
	}
	data, err := os.ReadFile(filepath.Join(n.home.Spool(), "by-hand.yaml.refused"))
	if err != nil || bytes.Contains(data, []byte(key)) || !bytes.Contains(data, []byte("use [redacted:github]")) {
		t.Errorf("set aside: %q, %v", data, err)
	}
	if strings.Contains(n.log.String(), key) {
		t.Error("the log holds it")
	}
}
