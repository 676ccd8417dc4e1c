package report

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"loopd/harness"
	"loopd/internal/testenv"
	"loopd/loop"
)

// hostile is what a suite, a model, a tool or a person may have written that means
// something on GitHub.
var hostile = []string{
	"@octocat please", "see #123 and GH-7", "octocat/repo#9", "<img src=x onerror=alert(1)>", "![x](https://example.org/x.png)", "[x](javascript:x)",
	"https://example.org", "www.example.org", "a | b || c\\| d", "-->", "</details>", "<!-- loopd report os-adr -->", "```\n# head\n```", "`@octocat`", "``x`` @octocat `",
	"&commat;octocat", "\u202e@octocat", "*bold* _it_ ~~no~~", "$x$", ":+1:", "line\n- [ ] @octocat\r\n", "\x1b[31m@octocat", "\xff\xfe@octocat", "[x]: https://example.org", "@", "`", "\\", "👩‍🔧 数据库 שלום",
	strings.Repeat("`", 400), strings.Repeat("👩", 5000), "",
}

func TestCommentGoldens(t *testing.T) {
	s := fullStory(t)
	d := BuildDigest(s, Texts{"skills/a/SKILL.md": "old line\nsame\n"}, Texts{"skills/a/SKILL.md": "new ``` line\nsame\n"})
	testenv.Golden(t, "testdata/comment.md", d.Comment())
	testenv.Golden(t, "testdata/comment-halted.md", BuildDigest(haltedStory(t), nil, nil).Comment())
	again := d
	again.Headline = "under way"
	first, _, _ := strings.Cut(string(d.Comment()), "\n")
	if second, _, _ := strings.Cut(string(again.Comment()), "\n"); first != second || first != "<!-- loopd report os-adr -->" {
		t.Errorf("the marker is %q and %q", first, second)
	}
	e := evalSample()
	text, err := e.Comment(e.each)
	testenv.Must(t, err)
	testenv.Golden(t, "testdata/comment-eval.md", text)
	testenv.Golden(t, "testdata/comment-diff.md", compared(t, Build(s), Build(s), false).Comment())
	testenv.Golden(t, "testdata/comment-diff-eval.md", compared(t, e, evalOf(e.Results[:1]...), false).Comment())
}

// Nothing that somebody else wrote calls a person, links, loads or ends anything,
// whatever it is and wherever it stands.
func TestCommentsHoldAnything(t *testing.T) {
	t.Parallel()
	s := fullStory(t)
	for _, bad := range hostile {
		for name, text := range hostileComments(t, s, bad) {
			if len(text) > longestComment || !utf8.Valid(text) {
				t.Errorf("%q in %s: %d bytes", bad, name, len(text))
			}
			holds(t, fmt.Sprintf("%.40q in %s", bad, name), string(text))
		}
	}
}

// hostileComments are comments of every kind with a text wherever one can stand.
func hostileComments(t *testing.T, s *loop.State, bad string) map[string][]byte {
	t.Helper()
	d := BuildDigest(s, Texts{"a": "x\n"}, Texts{"a": bad + "\n" + bad})
	d.Headline, d.Plugin, d.ID, d.Warnings = bad, bad, bad, []string{bad, bad}
	d.Lost = []Lost{{Class: harness.Hang, Count: 1, Why: bad}}
	for range commentRows + 1 {
		d.Candidates = append(d.Candidates, Summary{ID: bad, Rationale: bad, Verdict: loop.Keep})
		d.Cells = append(d.Cells, Cell{Name: bad})
	}
	side := Side{Campaign: bad}
	campaigns := CampaignDiff{A: side, B: side, Readings: []ReadOn{{Name: bad, A: Reading(bad)}}, Invalid: []CountedOn{{Name: bad}}}
	evaluators := EvalDiff{A: EvalSide{Name: bad}, B: EvalSide{Name: bad}}
	diff, saved := Diff{Harness: harness.Unprompted, Notes: []string{bad}}, Diff{Harness: harness.Trace, Notes: []string{bad}, Evals: &evaluators}
	var results []harness.Evaluated
	for range foldedRows + 1 {
		diff.Regressions, campaigns.Cells = append(diff.Regressions, bad), append(campaigns.Cells, Change{Name: bad, Trend: Trend(bad)})
		saved.Regressions, evaluators.Items = append(saved.Regressions, bad), append(evaluators.Items, Item{Case: bad, Document: bad, Name: bad, A: bad, B: bad})
		results = append(results, evaluated(bad, harness.Fail, func(e *harness.Evaluated) { e.Trace, e.Verdict = bad, bad }))
	}
	diff.Tables, saved.Tables = campaigns.tables(), evaluators.tables()
	e := evalOf(results...)
	e.Cases = bad
	evals, err := e.Comment(e.each)
	testenv.Must(t, err)
	return map[string][]byte{"report": d.Comment(), "diff": diff.Comment(), "saved diff": saved.Comment(), "eval": evals}
}

var (
	ticks  = regexp.MustCompile("`+")
	fenced = regexp.MustCompile("(?ms)^(`{3,})diff\n.*?^(`{3,})\n")
	ours   = regexp.MustCompile(`(?m)^<!-- loopd [a-z ]+ [A-Za-z0-9._-]+ -->$|^</?details>$|^<summary>[A-Za-z, ]+</summary>$|^## `)
	means  = regexp.MustCompile("(?i)[@#<>!&*~$\\\\`\x1b\u202e]|://|www\\.|\\]\\(|\\bgh-|:\\+1:")
)

// holds fails where a comment has anything beside its own frame and code that means
// something, or a row with more cells than its table.
func holds(t *testing.T, where, text string) {
	t.Helper()
	if got := strings.Count(text, "\n</details>\n"); got != strings.Count(text, "<details>\n<summary>") || strings.Count(text, "<!--") > 1 && !strings.Contains(where, "<!--") {
		t.Errorf("%s: %d parts are closed in\n%s", where, got, text)
	}
	plain := withoutCode(fenced.ReplaceAllStringFunc(text, func(block string) string {
		m := fenced.FindStringSubmatch(block)
		if m[1] != m[2] {
			t.Errorf("%s: a fence is ended early in\n%s", where, text)
		}
		return ""
	}))
	if got := means.FindString(ours.ReplaceAllString(plain, "")); got != "" {
		t.Errorf("%s: %q stands open in\n%.2000s", where, got, plain)
	}
	bars := 0
	for line := range strings.Lines(text) {
		if !strings.HasPrefix(line, "| ") && !strings.HasPrefix(line, "|-") {
			bars = 0
			continue
		}
		if n := strings.Count(line, "|"); bars != 0 && n != bars {
			t.Errorf("%s: a row of %d bars where %d are wanted: %s", where, n, bars, line)
		} else {
			bars = n
		}
	}
}

// withoutCode takes the code spans out: a run of backticks up to the next run of
// the same length.
func withoutCode(text string) string {
	var out []string
	for line := range strings.Lines(text) {
		runs := ticks.FindAllStringIndex(line, -1)
		at := 0
		for len(runs) > 0 {
			begin := runs[0]
			end := slices.IndexFunc(runs[1:], func(r []int) bool { return r[1]-r[0] == begin[1]-begin[0] })
			if end < 0 {
				runs = runs[1:]
				continue
			}
			out = append(out, line[at:begin[0]])
			at = runs[end+1][1]
			runs = runs[end+2:]
		}
		out = append(out, line[at:])
	}
	return strings.Join(out, "")
}
