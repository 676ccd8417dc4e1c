package harness_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"loopd/internal/testenv"
)

// variant is a regular expression with one part left out.
type variant struct{ pattern, change string }

// variants leaves out, one at a time: an alternative, an anchor, a flag, a
// member of a class, and the part that may be missing, which then may not.
// What comes out must compile; a variant that does not is not counted.
func variants(pattern string) []variant {
	s := scan(pattern)
	var out []variant
	add := func(from, to int, with, change string) {
		v := variant{pattern[:from] + with + pattern[to:], change}
		same := func(o variant) bool { return o.pattern == v.pattern }
		if _, err := regexp.Compile(v.pattern); err == nil && !slices.ContainsFunc(out, same) {
			out = append(out, v)
		}
	}
	for _, a := range s.alternatives {
		add(a[0], a[1], "", "without alternative "+strings.Trim(pattern[a[0]:a[1]], "|"))
	}
	for _, a := range s.anchors {
		add(a[0], a[1], "", "without "+pattern[a[0]:a[1]])
	}
	for _, a := range s.members {
		add(a[0], a[1], "", "without "+pattern[a[0]:a[1]]+" in its class")
	}
	for _, a := range s.options {
		add(a[0], a[1], "", "with what goes before "+pattern[max(0, a[0]-12):a[1]])
	}
	return out
}

// scanned holds the places of the parts, as offsets from and to.
type scanned struct{ alternatives, anchors, members, options [][2]int }

// scan reads a pattern as far as it must: groups, bars, classes, escapes.
func scan(p string) scanned {
	var s scanned
	type group struct{ bars []int }
	open := []group{{bars: []int{0}}}
	finish := func(end int) {
		g := open[len(open)-1]
		open = open[:len(open)-1]
		s.alternatives = append(s.alternatives, cut(g.bars, end)...)
	}
	for i := 0; i < len(p); {
		n := 1
		switch {
		case p[i] == '\\':
			n = 2
			if p[i+1] == 'b' {
				s.anchors = append(s.anchors, [2]int{i, i + 2})
			}
		case strings.HasPrefix(p[i:], "(?i)"):
			n = 4
			s.anchors = append(s.anchors, [2]int{i, i + 4})
			open[len(open)-1].bars[0] = i + 4
		case p[i] == '(':
			if strings.HasPrefix(p[i:], "(?:") {
				n = 3
			}
			open = append(open, group{bars: []int{i + n}})
		case p[i] == ')':
			finish(i)
		case p[i] == '|':
			g := &open[len(open)-1]
			g.bars = append(g.bars, i)
		case p[i] == '^', p[i] == '$':
			s.anchors = append(s.anchors, [2]int{i, i + 1})
		case p[i] == '?':
			s.options = append(s.options, [2]int{i, i + 1})
		case p[i] == '[':
			members, end := class(p, i)
			s.members = append(s.members, members...)
			n = end - i
		}
		i += n
	}
	finish(len(p))
	return s
}

// cut turns where a group's body begins and its bars into alternatives, each
// with a bar of its own, when there are two at least.
func cut(bars []int, end int) [][2]int {
	if len(bars) < 2 {
		return nil
	}
	out := [][2]int{{bars[0], bars[1] + 1}}
	for i, from := range bars[1:] {
		to := end
		if i+2 < len(bars) {
			to = bars[i+2]
		}
		out = append(out, [2]int{from, to})
	}
	return out
}

// class lists the members of the class that opens at i, and where it ends.
func class(p string, i int) (members [][2]int, end int) {
	i++
	if p[i] == '^' {
		i++
	}
	for p[i] != ']' {
		n := 1
		if p[i] == '\\' {
			n = 2
		}
		if i+n+1 < len(p) && p[i+n] == '-' && p[i+n+1] != ']' {
			n += 2
		}
		members = append(members, [2]int{i, i + n})
		i += n
	}
	if len(members) < 2 {
		members = nil
	}
	return members, i + 1
}

func TestMutants_Variants(t *testing.T) {
	for pattern, want := range map[string][]string{
		`a|bc|d`:      {`bc|d`, `a|d`, `a|bc`},
		`(?i)(x|y)z`:  {`(?i)(y)z`, `(?i)(x)z`, `(x|y)z`},
		`^a\b\|[b|]$`: {`a\b\|[b|]$`, `^a\|[b|]$`, `^a\b\|[b|]`, `^a\b\|[|]$`, `^a\b\|[b]$`},
		`s?[a-z\s-]`:  {`s?[\s-]`, `s?[a-z-]`, `s?[a-z\s]`, `s[a-z\s-]`},
		`(?:a|(b|c))`: {`(?:a|(c))`, `(?:a|(b))`, `(?:(b|c))`, `(?:a)`},
	} {
		var got []string
		for _, v := range variants(pattern) {
			got = append(got, v.pattern)
		}
		testenv.Same(t, pattern, want, got)
	}
}
