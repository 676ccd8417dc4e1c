package campaign

import (
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"loopd/candidates"
	"loopd/harness"
)

// leaks finds in a text what only the sealed suite could have told: a run of
// words of a task or of what judges it, a path or a constant of an expectation,
// the number of a record that must be cited, the title of a record, the id of a
// scenario, or a GUID, which is what a canary looks like. What the plugin's own
// files say as well is no leak. It gives away no more than where in the text.
type leaks struct {
	// prose and judging are texts whose runs of words count, all those whose names
	// and numbers count too.
	prose, judging, all []harness.HeldOut
	runs, judgingRuns   *harness.Runs
	names               map[int]*harness.Runs // of all, by how many words a name has
	titles              []title
	marks               []*regexp.Regexp // ids
	own                 []harness.HeldOut
	ownRaw              string // in lower case, with the paths
}

// newLeaks reads a suite. own are the plugin's files, without a suite that lies
// among them.
func newLeaks(suite harness.Suite, own harness.Tree) *leaks {
	l := &leaks{names: make(map[int]*harness.Runs), marks: []*regexp.Regexp{guid}}
	l.addJudging(suite.Rubric)
	for _, g := range suite.Gold {
		l.addJudging(g.Message)
	}
	for _, sc := range suite.Scenarios {
		if sc.Role != harness.Practice { // may be shown to a proposer
			l.addScenario(suite, sc)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(suite.Fixtures)) {
		l.addRecords(suite.Checker.Records, suite.Fixtures[name])
		l.addID(name)
	}
	l.all = slices.Concat(l.all, l.prose, l.judging)
	l.runs, l.judgingRuns = harness.NewRuns(l.prose, EchoWords), harness.NewRuns(l.judging, judgingWords)
	var raw strings.Builder
	for _, name := range own.Paths() {
		l.own = append(l.own, harness.NewHeldOut(string(own[name].Data)))
		raw.WriteString(name + "\n" + string(own[name].Data) + "\n")
	}
	l.ownRaw = strings.ToLower(raw.String())
	return l
}

// guid is how canaries are written.
var guid = regexp.MustCompile(`(?i)\b[0-9a-f]{8}[- ]?[0-9a-f]{4}[- ]?[0-9a-f]{4}[- ]?[0-9a-f]{4}[- ]?[0-9a-f]{12}\b`)

func (l *leaks) addProse(texts ...string) {
	for _, t := range texts {
		l.prose = append(l.prose, harness.NewHeldOut(t))
	}
}

// judgingWords is how long a run of what judges must be. Its words are those of
// the plugin's own subject, and shorter runs of them are anyone's.
const judgingWords = 10

func (l *leaks) addJudging(texts ...string) {
	for _, t := range texts {
		l.judging = append(l.judging, harness.NewHeldOut(t))
	}
}

func (l *leaks) addNames(texts ...string) {
	for _, t := range texts {
		l.all = append(l.all, harness.NewHeldOut(t))
	}
}

func (l *leaks) addScenario(suite harness.Suite, sc harness.Scenario) {
	l.prose = append(l.prose, sc.Task)
	l.addJudging(sc.Judge)
	l.addID(sc.ID)
	for _, a := range slices.Concat(sc.Expect.A, sc.Expect.B) {
		l.addNames(a.Touches, plainPattern(strings.Join(append(slices.Clone(a.Says), a.NeverSays...), " \n ")))
		if a.Created != nil {
			l.addNames(a.Created.Path)
		}
		if a.Changed != nil {
			l.addNames(a.Changed.Path, plainPattern(a.Changed.Adds), plainPattern(a.Changed.Removes))
		}
		if a.Cites != nil {
			l.addRecordIDs(suite.Checker.Citation, append([]string{a.Cites.ID}, a.Cites.NotLive...))
		}
	}
	for _, d := range sc.Forbidden {
		l.addNames(d.Path, plainPattern(d.Adds), plainPattern(d.Removes))
	}
	for _, s := range slices.Concat(sc.Oracle, sc.Nop) {
		l.addJudging(s.Text)
		l.addNames(s.Bash, s.Read)
		if s.Write != nil {
			l.addNames(s.Write.Path, s.Write.Content)
		}
		if s.Edit != nil {
			l.addNames(s.Edit.Path, s.Edit.New)
		}
	}
}

// addID adds the id of a scenario or fixture. One that is a plain word could be
// anyone's and is left out.
func (l *leaks) addID(id string) {
	if strings.ContainsAny(id, "0123456789-_") {
		l.marks = append(l.marks, regexp.MustCompile(`\b`+regexp.QuoteMeta(id)+`\b`))
	}
}

// addRecordIDs adds numbers of records as people write them.
func (l *leaks) addRecordIDs(c harness.Citation, ids []string) {
	words := append([]string{c.Prefix}, c.Nouns...)
	for i, w := range words {
		words[i] = regexp.QuoteMeta(w) + "s?"
	}
	for _, id := range ids {
		bare := strings.TrimLeft(id, "0")
		if bare == "" || strings.Trim(bare, "0123456789") != "" {
			l.addID(id)
			continue
		}
		// Number, sign or both may stand between the noun and the digits.
		const gap = `[^0-9A-Za-z]{0,3}(?:(?:number|no|nr)[^0-9A-Za-z]{1,3})?`
		mark := fmt.Sprintf(`(?i)\b(?:%s)%s0{0,%d}%s\b`, strings.Join(words, "|"), gap, len(id), bare)
		if len(id) > 2 {
			mark += `|\b` + id + `\b`
		}
		if n, ok := numbers()[bare]; ok {
			// A noun that is a plain word needs more than a number word: "record two things".
			mark += fmt.Sprintf(`|\b%s%s(?:%s)\b|\b(?:%s)[^0-9A-Za-z]{1,3}(?:number|no|nr)[^0-9A-Za-z]{1,3}(?:%s)\b`, words[0], gap, n.cardinal, strings.Join(words, "|"), n.cardinal)
			mark += fmt.Sprintf(`|\b(?:%s)[^0-9A-Za-z]{1,3}%s\b`, n.ordinal, words[0])
		}
		l.marks = append(l.marks, regexp.MustCompile(mark))
	}
}

// spelled is a number in words, as parts of a pattern.
type spelled struct{ cardinal, ordinal string }

// numbers are the small numbers in words and as Roman ones; letters that stand
// alone, "one" and "first" are said of anything.
func numbers() map[string]spelled {
	return map[string]spelled{
		"1": {`1`, `1st`}, "2": {`two|ii`, `second|2nd`}, "3": {`three|iii`, `third|3rd`}, "4": {`four|iv`, `fourth|4th`},
		"5": {`five`, `fifth|5th`}, "6": {`six|vi`, `sixth|6th`}, "7": {`seven|vii`, `seventh|7th`}, "8": {`eight|viii`, `eighth|8th`},
		"9": {`nine|ix`, `ninth|9th`}, "10": {`ten`, `tenth|10th`}, "11": {`eleven|xi`, `eleventh|11th`}, "12": {`twelve|xii`, `twelfth|12th`},
	}
}

// addRecords adds the records of a fixture, which hold the answers.
func (l *leaks) addRecords(r harness.Records, files harness.Tree) {
	for _, name := range files.Paths() {
		if ok, err := path.Match(r.File, path.Base(name)); r.Dir == "" || path.Dir(name) != r.Dir || !ok || err != nil {
			continue
		}
		slug := strings.TrimLeft(strings.TrimSuffix(path.Base(name), path.Ext(name)), "0123456789-_. ")
		l.addProse(string(files[name].Data), slug)
		l.addNames(name)
		if n := len(words.FindAllString(slug, -1)); n >= shortTitle && n < EchoWords {
			l.titles = append(l.titles, title{harness.NewHeldOut(slug), n})
		}
	}
}

// shortTitle is how many words the title of a record has at least to be known by
// all of them.
const shortTitle = 3

// title is the title of a record in fewer words than a run has.
type title struct {
	text harness.HeldOut
	n    int
}

var (
	words = regexp.MustCompile(`[\pL\pN]+`)
	// nameLike finds what could be a path, a constant, an option or a method: no prose.
	nameLike = regexp.MustCompile(`(?:--)?[\pL\pN_](?:[\pL\pN_./:#*-]*[\pL\pN_])?`)
)

// anyWord is what a name has at least: "A/B" is none.
var anyWord = regexp.MustCompile(`[\pL\pN]{3}|\d\.\d+\.\d`)

// telling says whether a word is more than a word: a path, a name of code, an
// option, a version or a number of three digits and more.
func telling(name string) bool {
	if !anyWord.MatchString(name) {
		return false
	}
	letters, digits := strings.ContainsFunc(name, unicode.IsLetter), strings.ContainsFunc(name, unicode.IsDigit)
	if digits && (letters || !strings.ContainsAny(name, ".:-/") || strings.Count(name, ".") > 1) || strings.HasPrefix(name, "--") {
		return true
	}
	humps := strings.ContainsFunc(string([]rune(name)[1:]), unicode.IsUpper) && strings.ContainsFunc(name, unicode.IsLower)
	return letters && (strings.ContainsAny(name, "_/#.") || strings.Contains(name, "::") || humps)
}

// parts are a name and what stands between its signs, one and two at a time: a
// path may be the end of an address, or a method that of an object's name.
func parts(text string, name []int) [][]int {
	out := [][]int{name}
	words := between.FindAllStringIndex(text[name[0]:name[1]], -1)
	for i, w := range words {
		out = append(out, []int{name[0] + w[0], name[0] + w[1]})
		if i > 0 {
			out = append(out, []int{name[0] + words[i-1][0], name[0] + w[1]})
		}
	}
	return out
}

// between finds what stands between the signs of a name.
var between = regexp.MustCompile(`[^/#:.*]+`)

// sealed says whether a name stands in a text of the suite.
func (l *leaks) sealed(name string) bool {
	n := len(words.FindAllString(name, -1))
	if n == 0 {
		return false
	}
	if l.names[n] == nil {
		l.names[n] = harness.NewRuns(l.all, n)
	}
	return l.names[n].In(name)
}

// ours says whether the plugin's own files say the same.
func (l *leaks) ours(text string) bool {
	if strings.Contains(l.ownRaw, strings.ToLower(text)) {
		return true
	}
	n := len(words.FindAllString(text, -1))
	return n > 1 && slices.ContainsFunc(l.own, func(h harness.HeldOut) bool { return len(h.Overlap(text, n)) > 0 })
}

// patternSigns are what a regular expression has beside the words it looks for.
var patternSigns = regexp.MustCompile(`\\[a-zA-Z]|\(\?[a-zA-Z:]*|\[[^\]]*\]`)

// plainPattern leaves the words of a pattern.
func plainPattern(p string) string {
	return strings.ReplaceAll(patternSigns.ReplaceAllString(p, " "), `\`, "")
}

// find lists where a text holds something of the suite.
func (l *leaks) find(text string) []candidates.Span {
	var out []candidates.Span
	ours := make(map[string]bool) // asked once for each stretch, however often it stands there
	add := func(start, end int) bool {
		own, asked := ours[text[start:end]]
		if !asked {
			own = l.ours(text[start:end])
			ours[text[start:end]] = own
		}
		if !own {
			out = append(out, candidates.Span{Start: start, End: end})
		}
		return !own
	}
	repeated := func(runs *harness.Runs, texts []harness.HeldOut, n int) {
		if !runs.In(text) {
			return
		}
		for _, h := range texts {
			for _, s := range h.Overlap(text, n) {
				add(s.Start, s.End)
			}
		}
	}
	repeated(l.runs, l.prose, EchoWords)
	repeated(l.judgingRuns, l.judging, judgingWords)
	for _, t := range l.titles {
		for _, s := range t.text.Overlap(text, t.n) {
			add(s.Start, s.End)
		}
	}
	known := make(map[string]bool)
	for _, at := range nameLike.FindAllStringIndex(text, -1) {
		for _, part := range parts(text, at) {
			name := text[part[0]:part[1]]
			sealed, asked := known[name]
			if !asked {
				sealed = telling(name) && l.sealed(name)
				known[name] = sealed
			}
			if sealed && add(part[0], part[1]) {
				break
			}
		}
	}
	for _, m := range l.marks {
		for _, at := range m.FindAllStringIndex(text, -1) {
			add(at[0], at[1])
		}
	}
	return out
}
