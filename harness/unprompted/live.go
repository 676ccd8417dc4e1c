package unprompted

import (
	"regexp"
	"strings"

	"loopd/harness"
)

// A record that a sentence sets aside is not cited either: it "does not apply",
// is "irrelevant", or was not found.
var (
	setAside = regexp.MustCompile(`(?i)^[)\]"'*_` + "`" + `]*,?\s+((is|are|was|were|seems?)\s+(irrelevant|unrelated|inapplicable|missing)|` +
		`(is|are|was|were)(n't|\s+not)\s+(relevant|related|applicable|found|there|about this)|` +
		`(do|does|did)(n't|\s+not)\s+(really |actually |seem to |appear to )?(apply|exist|matter))\b`)
	notThere = regexp.MustCompile(`(?i)(\b(no|without any)\s+((relevant|applicable|matching|related|such)\s+)?|` +
		`(\bnot|\bnever|n't|\bcannot|\bunable to)\s+(find|see|locate)\s+((any|an|a|the)\s+)?((relevant|applicable|matching|related|such)\s+)?)[("'*_` + "`" + `]*$`)
)

// A record is spoken of as no longer in force in four ways: something happened
// to it ("superseded by"), another record did it to it ("supersedes 0001"), the
// other is the subject and it is "it", or a word says so beside its name
// ("0001 (obsolete)").
var (
	deadWord = regexp.MustCompile(`(?i)\b(supersed(?:e|es|ed|ing)|replac(?:e|es|ed|ing)|overrid(?:es|den|ing)|overrul(?:es|ed|ing)|obsolet(?:e|es|ed)|outdated|deprecated|retired|withdrawn|revoked|historical|no longer)\b`)
	passive  = regexp.MustCompile(`(?i)^\W{0,4}(by|with|in favou?r|since)\b`)
	pronoun  = regexp.MustCompile(`(?i)^\s+(it|that|this|them|the (old|older|earlier|former|previous)( \w+)?)\b`)
	negated  = regexp.MustCompile(`(?i)(\bnot|\bnever|n't)( \w+)?\s+$`)
	joined   = regexp.MustCompile(`(?i)^[\s,/&*_` + "`" + `]*(and|or|und|through|to)?[\s,/&*_` + "`" + `]*$`)
	active   = regexp.MustCompile(`(?i)^(supersedes?|superseded|superseding|replac(es?|ed|ing)|overrid(es|ing)|overrul(es|ed|ing)|obsoletes)$`)
)

// between recognises what may stand between a verb and the record it is about,
// or between "superseded" and the name it belongs to: small words and the
// suite's own words for a record. A comma ends it.
func between(form harness.Citation) *regexp.Regexp {
	words := []string{"the", "our", "an?", "old", "older", "earlier", "former", "previous", "original", "both", regexp.QuoteMeta(form.Prefix) + "s?"}
	for _, noun := range form.Nouns {
		words = append(words, regexp.QuoteMeta(noun))
	}
	return regexp.MustCompile(`(?i)^\s+((` + strings.Join(words, "|") + `)\s+){0,4}[(\["'` + "`" + `*]*$`)
}

// judgeLive marks the citations of one sentence that it speaks of as no longer
// in force, or sets aside.
func (c citer) judgeLive(sentence string, found []citation) {
	if len(found) == 0 {
		return
	}
	groups := group(sentence, found)
	for _, g := range groups {
		if notThere.MatchString(sentence[:found[g.from].start]) || setAside.MatchString(sentence[found[g.to-1].end:]) {
			g.bury(found)
		}
	}
	for _, m := range deadWord.FindAllStringIndex(sentence, -1) {
		if !negated.MatchString(sentence[:m[0]]) {
			c.retire(sentence, m, found, groups)
		}
	}
}

// span is a run of citations found[from:to] named in one breath.
type span struct{ from, to int }

// group joins citations with nothing but "and", commas or slashes between.
func group(sentence string, found []citation) []span {
	out := []span{{0, 1}}
	for i := 1; i < len(found); i++ {
		if last := &out[len(out)-1]; found[i].start < found[i-1].end || joined.MatchString(sentence[found[i-1].end:found[i].start]) {
			last.to = i + 1
			continue
		}
		out = append(out, span{i, i + 1})
	}
	return out
}

// retire finds the group that the word at m is about.
func (c citer) retire(sentence string, m []int, found []citation, groups []span) {
	before, after := -1, -1
	for i, g := range groups {
		if found[g.from].start < m[0] {
			before = i
		} else if after < 0 {
			after = i
		}
	}
	rest := sentence[m[1]:]
	target := before
	switch word := sentence[m[0]:m[1]]; {
	case passive.MatchString(rest):
	case after >= 0 && c.between.MatchString(sentence[m[1]:found[groups[after].from].start]):
		target = after
	case active.MatchString(word) && pronoun.MatchString(rest):
		target = before - 1
	case before < 0:
		target = after
	}
	if target < 0 {
		return
	}
	groups[target].bury(found)
}

// bury marks the citations of a group as not in force.
func (g span) bury(found []citation) {
	for i := g.from; i < g.to; i++ {
		found[i].live = false
	}
}
