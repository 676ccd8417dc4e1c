package exchange

import (
	"errors"
	"regexp"
	"strings"

	"loopd/harness"
)

// skillName is the name of one skill, bare or with its plugin before it.
var skillName = regexp.MustCompile(`^/?([a-zA-Z0-9][\w.-]*:)?[a-zA-Z0-9][\w.-]*$`)

// skillGlobs are the globs over full names that a name of a suite stands for:
// a bare name is that skill of any plugin, and nothing that merely contains it.
func skillGlobs(name string) []string {
	name = strings.TrimPrefix(name, "/")
	if strings.Contains(name, ":") {
		return []string{name}
	}
	return []string{name, "*:" + name}
}

// skillAssertions asks that one of the globs is invoked.
func skillAssertions(globs []string) []harness.Assertion {
	var out []harness.Assertion
	for _, g := range globs {
		out = append(out, harness.Assertion{Skill: g})
	}
	return out
}

// bareSkill is the name without its plugin, "" where a glob leaves it open.
func bareSkill(glob string) string {
	name := glob[strings.LastIndexByte(glob, ':')+1:]
	if strings.ContainsAny(name, `*?[\`) {
		return ""
	}
	return name
}

// How a pattern over the input of the Skill tool is written and read back.
const (
	callBegin = `"skill"\s*:\s*"/?(?:`
	callEnd   = `)"`
)

// skillPattern is a JavaScript pattern over the JSON text of the Skill tool's
// input that matches what any of the globs does.
func skillPattern(globs []string) (string, error) {
	var parts []string
	for _, g := range globs {
		if strings.ContainsAny(g, `[\|`) {
			return "", errors.New("a glob with a class has no plain pattern")
		}
		part := regexp.QuoteMeta(g)
		part = strings.ReplaceAll(part, `\*`, `[^"/]*`)
		parts = append(parts, strings.ReplaceAll(part, `\?`, `[^"/]`))
	}
	return callBegin + strings.Join(parts, "|") + callEnd, nil
}

// wrapped is how suites write one name, bare or of any plugin, into a pattern.
var wrapped = regexp.MustCompile(`^"skill"(?:\\s\*)?:(?:\\s\*)? ?"(?:\(\?:\[[^\]]*\]\+:\)\?)?([\w:.-]+)"$`)

// globsOfPattern reads the globs a pattern over the Skill tool's input stands
// for; ok is false where no plain names can be read from it.
func globsOfPattern(pattern string) (globs []string, ok bool) {
	if inner, found := strings.CutPrefix(pattern, callBegin); found {
		if inner, found = strings.CutSuffix(inner, callEnd); found {
			return globsOfOurs(inner)
		}
	}
	if m := wrapped.FindStringSubmatch(pattern); m != nil {
		return skillGlobs(m[1]), true
	}
	if plain := strings.ReplaceAll(pattern, `\-`, "-"); skillName.MatchString(plain) && !strings.Contains(plain, ".") {
		return skillGlobs(plain), true
	}
	return nil, false
}

// globsOfOurs inverts skillPattern.
func globsOfOurs(inner string) ([]string, bool) {
	var out []string
	for part := range strings.SplitSeq(inner, "|") {
		glob := strings.ReplaceAll(part, `[^"/]*`, "*")
		glob = strings.ReplaceAll(glob, `[^"/]`, "?")
		glob = escapedMeta.ReplaceAllString(glob, "$1")
		if again, err := skillPattern([]string{glob}); err != nil || again != callBegin+part+callEnd {
			return nil, false
		}
		out = append(out, glob)
	}
	return out, true
}

var escapedMeta = regexp.MustCompile(`\\([.+()^$])`)
