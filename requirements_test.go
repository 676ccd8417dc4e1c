package loopd_test

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// requirementCount is how many lines the source documents come to.
const requirementCount = 140

// requirementRow is a line of the table: number, requirement, shown by.
var requirementRow = regexp.MustCompile(`(?m)^\| (\d+) \| ([^|]+) \| ([^|]*) \|$`)

// TestRequirementsAreShown wants every requirement once, with tests that exist
// or the word that it is not shown yet.
func TestRequirementsAreShown(t *testing.T) {
	t.Parallel()
	for _, complaint := range unshown(document(t, "docs/requirements.md"), requirementCount, tree(t)) {
		t.Error(complaint)
	}
}

// TestRequirementsDamage breaks a good table in one place at a time.
func TestRequirementsDamage(t *testing.T) {
	t.Parallel()
	have := sources(t, map[string]string{"a/a_test.go": "package a\nfunc TestA(t *testing.T) {}"})
	const good = "| 1 | boats float | `TestA` (a) |\n| 2 | boats sail | `planned` |\n"
	if got := unshown(good, 2, have); len(got) != 0 {
		t.Errorf("a good table: got %q", got)
	}
	for name, c := range map[string]struct{ old, new, want string }{
		"no such test":     {"`TestA` (a)", "`TestB` (a)", "no test TestB in a"},
		"no such folder":   {"`TestA` (a)", "`TestA` (b)", "no test TestA in b"},
		"one of two":       {"`TestA` (a)", "`TestA` (a), `TestC` (a)", "no test TestC in a"},
		"nothing named":    {"`planned`", "", "requirement 2: neither a test nor planned"},
		"only words":       {"`planned`", "surely", "requirement 2: neither a test nor planned"},
		"no folder":        {"`TestA` (a)", "`TestA`", "requirement 1: neither a test nor planned"},
		"both":             {"`planned`", "`planned` `TestA` (a)", "requirement 2: a test and planned"},
		"a number twice":   {"| 2 |", "| 1 |", "requirement 1: stands 2 times"},
		"a number beyond":  {"| 2 |", "| 3 |", "requirement 3: there are 2"},
		"a number missing": {"| 2 | boats sail | `planned` |\n", "", "requirement 2: stands 0 times"},
	} {
		got := unshown(strings.Replace(good, c.old, c.new, 1), 2, have)
		if !slices.Contains(got, c.want) {
			t.Errorf("%s: got %q, want %q", name, got, c.want)
		}
	}
}

// unshown lists what is wrong with a table of n requirements.
func unshown(doc string, n int, files []source) []string {
	var out []string
	stands := make(map[int]int)
	for i := range n {
		stands[i+1] = 0
	}
	for _, row := range requirementRow.FindAllStringSubmatch(doc, -1) {
		number, err := strconv.Atoi(row[1])
		if err != nil || number < 1 || number > n {
			out = append(out, fmt.Sprintf("requirement %s: there are %d", row[1], n))
			continue
		}
		stands[number]++
		tests, planned := testName.MatchString(row[3]), strings.Contains(row[3], "`planned`")
		switch {
		case tests && planned:
			out = append(out, fmt.Sprintf("requirement %d: a test and planned", number))
		case !tests && !planned:
			out = append(out, fmt.Sprintf("requirement %d: neither a test nor planned", number))
		}
		out = append(out, namesRealTests(row[3], files)...)
	}
	for _, number := range slices.Sorted(maps.Keys(stands)) {
		if stands[number] != 1 {
			out = append(out, fmt.Sprintf("requirement %d: stands %d times", number, stands[number]))
		}
	}
	return out
}
