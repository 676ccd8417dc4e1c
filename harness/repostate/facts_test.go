package repostate_test

import (
	"encoding/json"
	"testing"

	"loopd/harness"
	"loopd/internal/testenv"
)

// TestFactsAreWholeWords looks for one phrase in reports. req 134, 140
func TestFactsAreWholeWords(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		phrase, report string
		want           bool
	}{
		{"#42", "See #42.", true}, {"#42", "See #420.", false}, {"#42", "(#42)", true}, {"#42", "`#42`", true}, {"#42", "#42a", false},
		{"2 open", "There are **2** open issues", true}, {"2 open", "There are 12 open issues", false}, {"2 open", "2\nopen", true},
		{"2 open", "2 opened", false}, {"2 OPEN", "2  Open", true}, {"2", "_2_ of them", true}, {"2", "__2__", true}, {"2", "snake_2_case", false},
		{"2", "2.5", false}, {"2", "1.2", false}, {"2", "1,2", false}, {"2", "2,000", false}, {"2", "it is 2.", true}, {"2", "1, 2, 3", true},
		{"2", "-2 degrees", false}, {"2", "a-2", true}, {"2", "2026-07-2", false}, {"2", "- 2", true}, {"2", "10:2", false}, {"2", "2%", true},
		{"jon", "Jon.", true}, {"jon", "jonas", false}, {"jon", "@jon", true}, {"café", "the CAFE\u0301 is open", true},
		{"bug-fix", "bug\u2011fix", true}, {"\u6771\u4eac", "\u5927\u6771\u4eac\u90fd", true}, {"open", "re\u200bopen", false},
		{"it's", "it\u2019s", true}, {"hidden", "<!-- hidden --> shown", false}, {"hidden", "shown <!-- hidden", false},
		{"shown", "<!-- a --> shown <!-- b --> too", true}, {"**", "anything", false}, {"#42", "repo#42", true}, {"2%", "2%x", true},
		{"a", "1.a", true}, {"a", " -a", true}, {"a", "a.1", true}, {"snake_case", "use snake_case here", true}, {"snake_case", "snake case", false},
		{"__init__", "in __init__.py", true}, {"a_1", "a_1", true}, {"a_1", "a1", false}, {"1_a", "1a", false}, {"snake_case", "snakecase", false}, {"_x_", "an x", true},
		{"x", "", false}, {"#1", "\xff#1\xff", true}, {"aa", "aaa aa", true}, {"\u00e9", "e\u0301t\u00e9 \u00e9", true},
	} {
		text, err := json.Marshal(map[string]any{"kind": "read", "facts": []any{map[string]any{"description": "d", "anyOf": []string{c.phrase}}}})
		testenv.Must(t, err)
		r, err := mustParse(t, string(text)).Evaluate("a.txt", []byte(c.report))
		if err != nil || (r.Outcome == harness.Pass) != c.want {
			t.Errorf("%q in %q: got %s, %v; want %v", c.phrase, c.report, r.Outcome, err, c.want)
		}
	}
}

// TestFactRules: any of the ways or the pattern says it, and nothing may take it
// back. req 134, 135, 140
func TestFactRules(t *testing.T) {
	t.Parallel()
	s := mustParse(t, `{"kind": "read", "facts": [
		{"description": "the count", "anyOf": ["2 open", "two open"], "pattern": "\\b2(?: [a-z]+){0,4} open\\b", "noneOf": ["not 2 open", "3 open"]},
		{"description": "the line", "pattern": "^count: \\d+$"}]}`)
	for report, want := range map[string][2]string{
		"2 open\ncount: 2":                           {"", ""},
		"Two open.\nCount: 2\nbye":                   {"", ""},
		"2 issues that are OPEN\ncount: 2":           {"", ""},
		"2 issues that\nare open\ncount: 2":          {"", ""},
		"2 issues in total, and 1 open\ncount: 2":    {"not_said", ""},
		"it is not 2 open\ncount: 2":                 {"taken_back", ""},
		"2 open, or 3 open with the draft\ncount: 2": {"taken_back", ""},
		"2 open, the count: 2 of them":               {"", "not_said"},
		"nothing":                                    {"not_said", "not_said"},
	} {
		r, err := s.Evaluate("a.md", []byte(report))
		testenv.Must(t, err)
		if got := [2]string{r.Check("fact_1").Reason, r.Check("fact_2").Reason}; got != want {
			t.Errorf("%q: got %q, want %q", report, got, want)
		}
		if passed := r.Outcome == harness.Pass; passed != (want == [2]string{}) {
			t.Errorf("%q: got %s", report, r.Outcome)
		}
	}
}
