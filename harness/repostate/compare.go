package repostate

import (
	"fmt"
	"maps"
	"slices"

	"loopd/harness"
)

// The names of the checks. A read task has one check a fact, fact_1 and on.
const (
	Readable   = "state"          // the submission can be read; only listed when it cannot
	Expected   = "expected_state" // nothing of the expected state is missing
	Collateral = "no_collateral"  // nothing is there that was not expected
)

// mostFindings bounds what one check says.
const mostFindings = 20

// residue is the key under which a capture lists files nobody made on purpose.
// They are shown and not compared.
const residue = "residue"

// comparison walks two states side by side, and a third to tell the change that
// was asked for from damage.
type comparison struct {
	missing, collateral list
}

// list counts findings and keeps the first.
type list struct {
	texts []string
	n     int
}

func (l *list) add(format string, args ...any) {
	if l.n++; l.n <= mostFindings {
		l.texts = append(l.texts, fmt.Sprintf(format, args...))
	}
}

// check is the list as a check, passed when it is empty.
func (l list) check(name, reason string) harness.Check {
	if l.n == 0 {
		return harness.Check{Name: name, Outcome: harness.Pass}
	}
	if more := l.n - len(l.texts); more > 0 {
		l.texts = append(l.texts, fmt.Sprintf("and %d more", more))
	}
	return harness.Check{Name: name, Outcome: harness.Fail, Reason: reason, Findings: l.texts}
}

func (s Spec) compare(out *harness.Evaluated, state map[string]any) {
	var c comparison
	want := s.expected.(map[string]any)
	var left []any
	if _, expected := want[residue]; !expected {
		left, _ = state[residue].([]any)
		delete(state, residue)
	}
	c.values(place{}, want, state, s.before)
	missing, collateral := c.missing.check(Expected, "missing"), c.collateral.check(Collateral, "collateral")
	if len(left) > 0 {
		collateral.Findings = append(collateral.Findings, fmt.Sprintf("residue, not compared: %s", clip(canonical(left))))
	}
	out.Checks = []harness.Check{missing, collateral}
	out.Metrics = map[string]float64{harness.Differences: float64(c.missing.n + c.collateral.n)}
}

// values compares what is at one place. A nil is nothing there.
func (c *comparison) values(at place, want, got, before any) {
	switch w := want.(type) {
	case map[string]any:
		if g, ok := got.(map[string]any); ok {
			c.objects(at, w, g, before)
			return
		}
	case []any:
		g, ok := got.([]any)
		if ok || got == nil {
			c.lists(at, w, g, before)
			return
		}
	case nil:
		if g, ok := got.([]any); ok {
			c.lists(at, nil, g, before)
			return
		}
	default:
		if want == got {
			return
		}
	}
	c.differ(at, want, got, before)
}

func (c *comparison) objects(at place, want, got map[string]any, before any) {
	was, _ := before.(map[string]any)
	keys := slices.Collect(maps.Keys(want))
	for key := range got {
		if _, both := want[key]; !both {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	for _, key := range keys {
		c.values(at.key(key), want[key], got[key], was[key])
	}
}

// differ records two values that are not the same. What was there before and is
// wanted still is damage when it is not; what was there and is not wanted any
// more is a change that was not made. Where nobody says what was there, a value in
// the place of another is that too: nothing says that anybody touched it.
func (c *comparison) differ(at place, want, got, before any) {
	was := canonical(before) // null without a before, which nothing equals
	stays, remains := was == canonical(want), was == canonical(got)
	switch {
	case want == nil && remains:
		c.missing.add("unexpected %s%s, which was to go", at.noun(got), at.on())
	case want == nil:
		c.collateral.add("unexpected %s%s (collateral)", at.noun(got), at.on())
	case got == nil && stays:
		c.collateral.add("missing %s%s, which was to stay (collateral)", at.noun(want), at.on())
	case got == nil:
		c.missing.add("missing %s%s", at.noun(want), at.on())
	case stays:
		c.collateral.add("unexpected %s%s, which was to stay %s (collateral)", at.noun(got), at.on(), short(want))
	default:
		c.missing.add("missing %s%s, which has %s", at.noun(want), at.on(), short(got))
	}
}

// lists compares two lists as multisets of what their entries are.
func (c *comparison) lists(at place, want, got []any, before any) {
	was, _ := before.([]any)
	wanted, order := group(want, nil)
	there, order := group(got, order)
	old, _ := group(was, nil)
	for _, id := range order {
		c.entries(at, wanted[id], there[id], old[id])
	}
}

// group files the entries of a list by what they are, and appends the names to
// those known in the order of their first appearance.
func group(list []any, order []string) (map[string][]any, []string) {
	out := make(map[string][]any, len(list))
	known := make(map[string]bool, len(order))
	for _, id := range order {
		known[id] = true
	}
	for _, entry := range list {
		id := identity(entry)
		if !known[id] {
			known[id] = true
			order = append(order, id)
		}
		out[id] = append(out[id], entry)
	}
	return out, order
}

// entries compares the entries of one name, usually one on each side. Of several
// the equal ones are paired first, then the others in order.
func (c *comparison) entries(at place, want, got, was []any) {
	if len(want) != 1 || len(got) != 1 {
		wanted := len(want)
		want, got = unequal(want, got)
		was = was[min(len(was), wanted-len(want)):] // what is paired is accounted for
	}
	for i := range max(len(want), len(got)) {
		var w, g, b any
		if i < len(want) {
			w = want[i]
		}
		if i < len(got) {
			g = got[i]
		}
		if i < len(was) {
			b = was[i]
		}
		if w != nil && g != nil {
			c.values(at.entry(w), w, g, b)
		} else {
			c.differ(at.loosely(), w, g, b)
		}
	}
}

// unequal leaves out what both lists hold, as often as both hold it.
func unequal(want, got []any) (w, g []any) {
	counts := make(map[string]int)
	for _, v := range want {
		counts[canonical(v)]++
	}
	both := make(map[string]int)
	for _, v := range got {
		if k := canonical(v); counts[k] > 0 {
			counts[k]--
			both[k]++
		} else {
			g = append(g, v)
		}
	}
	for _, v := range want {
		if k := canonical(v); both[k] > 0 {
			both[k]--
		} else {
			w = append(w, v)
		}
	}
	return w, g
}
