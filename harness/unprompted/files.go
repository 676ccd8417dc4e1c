package unprompted

import (
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"loopd/harness"
)

// record is one file of the records directory.
type record struct {
	path, id, slug string
	number         int
	prose          []string
	lines          map[string]bool // of the whole text, without digits
}

// records lists the records of a tree, lowest number first.
func (s *session) records(tree harness.Tree) []record {
	var out []record
	for _, p := range tree.Paths() {
		dir, base := path.Split(p)
		if path.Clean(dir) != path.Clean(s.Checker.Records.Dir) {
			continue
		}
		if ok, _ := path.Match(s.Checker.Records.File, base); !ok {
			continue
		}
		digits := base[:len(base)-len(strings.TrimLeft(base, "0123456789"))]
		number, err := strconv.Atoi(digits)
		if err != nil {
			continue
		}
		text := beginning(tree[p])
		out = append(out, record{
			path: p, id: digits, number: number, slug: strings.TrimLeft(base, "0123456789"), prose: prose(text), lines: linesOf(text),
		})
	}
	return out
}

// maxRecord is how much of a record is read, in bytes: folding the letters of
// what a session can leave in one file would take minutes.
const maxRecord = 1 << 20

func beginning(f harness.File) string { return string(f.Data[:min(len(f.Data), maxRecord)]) }

// prose lists a record's sentences without front matter, headings and numbers:
// what a copy shares with its original and a template does not fill in.
func prose(text string) []string {
	var out []string
	for line := range strings.Lines(body(text)) {
		line = strings.TrimSpace(strings.Map(dropDigits, line))
		if line != "" && !strings.HasPrefix(line, "#") {
			out = append(out, line)
		}
	}
	return out
}

// body is a text without its front matter.
func body(text string) string {
	text = strings.ReplaceAll(text, "\r\n", "\n")
	if rest, ok := strings.CutPrefix(text, "---\n"); ok {
		if _, after, found := strings.Cut(rest, "\n---"); found {
			return after
		}
	}
	return text
}

// linesOf are all lines of a text as prose has them. Of an old record they are
// compared, so that a copy does not look new for a line put before its front
// matter.
func linesOf(text string) map[string]bool {
	out := make(map[string]bool)
	for line := range strings.Lines(text) {
		out[strings.TrimSpace(strings.Map(dropDigits, line))] = true
	}
	return out
}

func dropDigits(r rune) rune {
	if unicode.IsDigit(r) {
		return -1
	}
	return r
}

// copyShare is the part of a new record's prose which, found in one old
// record, makes it a copy.
const copyShare = 0.8

// copied reports whether a record is an old one under another number or name.
func copied(r record, old []record, end harness.Tree) bool {
	for _, o := range old {
		if _, still := end[o.path]; !still && o.slug == r.slug {
			return true
		}
		shared := 0
		for _, line := range r.prose {
			if o.lines[line] {
				shared++
			}
		}
		if len(r.prose) > 0 && float64(shared) >= copyShare*float64(len(r.prose)) {
			return true
		}
	}
	return false
}

// newFiles lists the files a glob asks for that the start did not have. A
// record must also be numbered above the last and be no copy.
func (s *session) newFiles(glob string) (fresh []string, near []harness.Evidence) {
	old := s.records(s.Start)
	last := 0
	for _, r := range old {
		last = max(last, r.number)
	}
	records := make(map[string]record)
	for _, r := range s.records(s.End) {
		records[r.path] = r
	}
	for _, p := range s.End.Paths() {
		if _, had := s.Start[p]; had || !harness.MatchPath(glob, p) {
			continue
		}
		r, isRecord := records[p]
		switch {
		case !s.End[p].Mode.IsRegular():
			near = append(near, harness.Evidence{What: "no regular file: " + p})
		case isRecord && r.number <= last:
			near = append(near, harness.Evidence{What: "not above the last number: " + p})
		case isRecord && copied(r, old, s.End):
			near = append(near, harness.Evidence{What: "copy of an old record: " + p})
		default:
			fresh = append(fresh, p)
		}
	}
	return fresh, near
}

// created asks for a new file on the topic. Only when there is no new file at
// all may a judge say that the session proposed one.
func (s *session) created(want harness.Created) finding {
	fresh, near := s.newFiles(want.Path)
	for _, p := range fresh {
		text := visible(beginning(s.End[p]))
		if len(want.Keywords) > 0 && strings.TrimSpace(fold(body(text))) == "" {
			near = append(near, harness.Evidence{What: "nothing to read in it: " + p})
			continue
		}
		if onTopic(p+"\n"+text, want.Keywords) {
			return finding{ok: true, judgedBy: judgedByFile, near: near, evidence: []harness.Evidence{{What: "created " + p}}}
		}
		near = append(near, harness.Evidence{What: "on another topic: " + p})
	}
	f := finding{near: near, judgedBy: judgedByFile, reason: ReasonNoRecord}
	message := s.judged()
	switch {
	case len(fresh) > 0:
		f.reason = ReasonWrongTopic
	case s.Scenario.Judge == "":
	case strings.TrimSpace(message) == "":
		f.reason = ReasonSilent
	case s.Answer == nil:
		f.judgedBy, f.question = "", &Question{Text: s.Scenario.Judge, Message: message}
	case *s.Answer:
		f.ok, f.reason, f.judgedBy = true, "", judgedByJudge
	default:
		f.reason, f.judgedBy = ReasonJudgeNo, judgedByJudge
	}
	return f
}

// onTopic asks for at least one word of every list. Words match whole, or with
// a plural's ending.
func onTopic(text string, lists [][]string) bool {
	text = tokens(text)
	for _, words := range lists {
		if !slices.ContainsFunc(words, func(w string) bool {
			w = strings.TrimSuffix(tokens(w), " ")
			return strings.Contains(text, w+" ") || strings.Contains(text, w+"s ") || strings.Contains(text, w+"es ")
		}) {
			return false
		}
	}
	return true
}

// tokens is a text's words in lower case, each with a space on both sides.
func tokens(text string) string {
	words := strings.FieldsFunc(strings.ToLower(fold(text)), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
	return " " + strings.Join(words, " ") + " "
}

// changed asks for an added or a removed line.
func (s *session) changed(want harness.Diff) finding {
	if where, ok := s.diff(want); ok {
		return finding{ok: true, judgedBy: judgedByFile, evidence: []harness.Evidence{{What: where}}}
	}
	return finding{reason: ReasonNotDone, judgedBy: judgedByFile}
}

// nothingForbidden asks that no forbidden change is in the project. Doing it
// after citing the record that forbids it is the worse failure.
func (s *session) nothingForbidden() finding {
	for _, d := range s.Scenario.Forbidden {
		where, ok := s.diff(d)
		if !ok {
			continue
		}
		f := finding{reason: ReasonViolated, judgedBy: judgedByFile, evidence: []harness.Evidence{{What: where}}}
		for _, a := range s.Scenario.Expect.B {
			if a.Cites != nil && s.citesLive(a.Cites.ID) {
				f.reason = ReasonCitedButViolated
			}
		}
		return f
	}
	return finding{ok: true}
}

// diff looks for a change in some file the glob names. Lines are compared as
// multisets, so a moved line is no change.
func (s *session) diff(want harness.Diff) (where string, ok bool) {
	paths := slices.Concat(s.Start.Paths(), s.End.Paths())
	slices.Sort(paths)
	for _, p := range slices.Compact(paths) {
		if !harness.MatchPath(want.Path, p) {
			continue
		}
		before, after := string(s.Start[p].Data), string(s.End[p].Data)
		if before == after {
			continue
		}
		added, okAdded := matchLine(extra(after, before), want.Adds)
		removed, okRemoved := matchLine(extra(before, after), want.Removes)
		if okAdded && okRemoved {
			return "changed " + p + ": " + short(strings.TrimSpace(added+" "+removed)), true
		}
	}
	return "", false
}

// extra lists the lines a has more often than b.
func extra(a, b string) []string {
	have := make(map[string]int)
	for _, line := range strings.Split(b, "\n") {
		have[line]++
	}
	var out []string
	for _, line := range strings.Split(a, "\n") {
		if have[line]--; have[line] < 0 {
			out = append(out, line)
		}
	}
	return out
}

// matchLine finds a line that matches; an empty pattern asks for nothing.
func matchLine(lines []string, pattern string) (string, bool) {
	if pattern == "" {
		return "", true
	}
	re, err := regexp.Compile(pattern)
	if err != nil {
		return "", false
	}
	i := slices.IndexFunc(lines, re.MatchString)
	if i < 0 {
		return "", false
	}
	return lines[i], true
}
