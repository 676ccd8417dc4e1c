package exchange

import (
	"regexp"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"loopd/internal/testenv"
)

func TestPatternsOfJavaScript(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ pattern, flags, yes, no string }{
		{`\bA2\b`, "", "tray A2.", "tray A21"},
		{`a b`, "gi", "x A B", "ab"},
		{`^b$`, "m", "a\nb\nc", "ab"},
		{`a.b`, "s", "a\nb", "ab"},
		{`a.b`, "", "axb", "a\nb"},
		{`a\sb`, "", "a\u00a0b", "ab"},
		{`a[\s_]b`, "", "a\ufeffb", "ab"},
		{`a\Sb`, "", "a-b", "a\u2003b"},
		{`[[:x]+z`, "", ":[xz", "y"},
		{`a[\b]`, "", "a\b", "ab"},
		{`\d+\/\d+`, "u", "1/2", "1-2"},
		{`(?<n>a)b`, "", "ab", "ba"},
		{`a{,2}`, "", "a{,2}", "aa"},
	} {
		got, err := fromJS(tc.pattern, tc.flags)
		if err != nil {
			t.Errorf("%s: %v", tc.pattern, err)
			continue
		}
		re := regexp.MustCompile(got)
		if !re.MatchString(tc.yes) || re.MatchString(tc.no) {
			t.Errorf("%s /%s: got %s, which matches %q: %t, %q: %t", tc.pattern, tc.flags, got, tc.yes, re.MatchString(tc.yes), tc.no, re.MatchString(tc.no))
		}
	}
}

// What would match something else here is refused, not loosened.
func TestPatternsWithoutAForm(t *testing.T) {
	t.Parallel()
	for _, p := range []string{
		`(?=a)`, `(?!a)`, `(?<=a)b`, `(?<!a)b`, `(a)\1`, `\u0041`, `\cA`, `\k<n>`, `(?i)a`, `(?i:a)`, `[]`, `[^]`, `\A`, `\z`, `\Z`, `\Qa\E`, `\pL`, `\0`, `a\`, `(`, `[\S]`, `\é`,
		`a{1001}`, `(?P<n>a)`, `(?U)a`,
	} {
		if got, err := fromJS(p, ""); err == nil {
			t.Errorf("%s: got %s, want a refusal", p, got)
		}
	}
	for _, flags := range []string{"y", "v", "x"} {
		if _, err := fromJS("a", flags); err == nil {
			t.Errorf("the flag %s is taken", flags)
		}
	}
	for _, patterns := range [][]string{
		{`(?i)a`, `b`}, {`(?m)^a`, `^b`}, {`(?s)a.`, `b.`}, {`(?i:a)`}, {`\Aa`}, {`a\z`}, {`\pL`}, {`[[:alpha:]]`}, {`(?P<n>a)`}, {`\x{1f6de}`}, {"🛞"}, {`\Qa`}, {`(?U)a`},
	} {
		if got, flags, err := toJS(patterns); err == nil {
			t.Errorf("%q: got %s /%s, want a refusal", patterns, got, flags)
		}
	}
}

func TestAlternativesAreSplitOnlyWhereTheyAreWhole(t *testing.T) {
	t.Parallel()
	for pattern, want := range map[string][]string{
		`(?:a)|(?:b)`:             {"a", "b"},
		`(?im)(?:a)|(?:b)`:        {"(?im)a", "(?im)b"},
		`(?:a)`:                   {"(?:a)"},
		`(?:a)b|(?:c)`:            {"(?:a)b|(?:c)"},
		`(?:a)|b`:                 {"(?:a)|b"},
		`(?:a)|(?:b)+`:            {"(?:a)|(?:b)+"},
		`(?:[)]\))|(?:(c)|(?:d))`: {`[)]\)`, "(c)|(?:d)"},
		`(?:a)|`:                  {"(?:a)|"},
		`a|b`:                     {"a|b"},
	} {
		testenv.Same(t, pattern, want, alternatives(pattern))
	}
}

// A name is found bare or of any plugin, and never inside another.
func TestNamesOfSkills(t *testing.T) {
	t.Parallel()
	for pattern, want := range map[string][]string{
		`true-wheel`:                             {"true-wheel", "*:true-wheel"},
		`"skill"\s*:\s*"(?:[\w-]+:)?true-wheel"`: {"true-wheel", "*:true-wheel"},
		`"skill": "shop:true-wheel"`:             {"shop:true-wheel"},
		`shop:true-wheel`:                        {"shop:true-wheel"},
		`"skill"\s*:\s*"/?(?:p:[^"/]*|q\.r)"`:    {"p:*", "q.r"},
		`wheel|spoke`:                            nil,
		`true.wheel`:                             nil,
		`^true`:                                  nil,
		`"skill"\s*:\s*"/?(?:a+)"`:               nil,
		``:                                       nil,
	} {
		got, ok := globsOfPattern(pattern)
		if diff := cmp.Diff(want, got); diff != "" || ok != (want != nil) {
			t.Errorf("%s: %t, -want +got:\n%s", pattern, ok, diff)
		}
	}
}

func TestSkillPatternsGoRound(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		globs := rapid.SliceOfN(rapid.StringMatching(`[a-z*?][a-z0-9.:*?_+()^$-]{0,8}`), 1, 3).Draw(t, "globs")
		pattern, err := skillPattern(globs)
		testenv.Must(t, err)
		if got, ok := globsOfPattern(pattern); !ok || !slices.Equal(got, globs) {
			t.Fatalf("%q became %s and came back as %q", globs, pattern, got)
		}
	})
}

// What goes to JavaScript and back matches what it did.
func TestPatternsGoRound(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		p := rapid.StringMatching(`(\(\?[im]\))?([ab.]|\\[sSdDwWb.]|\[[ab\\s-]{1,3}\]|\(\?:[ab]\|b\)[?*+]?){1,5}`).Draw(t, "pattern")
		if _, err := regexp.Compile(p); err != nil {
			return
		}
		js, flags, err := toJS([]string{p})
		if err != nil {
			return
		}
		back, err := fromJS(js, flags)
		if err != nil {
			t.Fatalf("%s became %s /%s, which does not come back: %v", p, js, flags, err)
		}
		text := rapid.StringMatching(`[abAB1 .\n\x{a0}-]{0,6}`).Draw(t, "text")
		if regexp.MustCompile(p).MatchString(text) != regexp.MustCompile(back).MatchString(text) {
			t.Fatalf("%s and %s differ on %q", p, back, text)
		}
	})
}
