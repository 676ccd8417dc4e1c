package harness

import (
	"errors"
	"fmt"
	"path"
	"strings"
)

// validate finds what would make the checker look for nothing in silence, and
// what no schema can say: a glob no path can match, an id of no digits.
func (c Checker) validate() error {
	var errs []error
	bad := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	if !goodGlob(c.Records.File) {
		bad("records: file: %q is no glob", c.Records.File)
	}
	for i, a := range c.Consult {
		switch {
		case a.Skill == "" && a.Command == "" && a.Touches == "":
			bad("consult: entry %d: is none of skill, command, touches", i+1)
		default:
			if err := a.validate(); err != nil {
				bad("consult: entry %d: %w", i+1, err)
			}
		}
	}
	if c.Citation.Prefix != "" && c.Citation.Digits == 0 {
		bad("citation: digits: 0, and the prefix is %s", c.Citation.Prefix)
	}
	return errors.Join(errs...)
}

// validate finds a profile under which one session could not be told from
// another. That its numbers bound something is its schema's to say.
func (l Launch) validate() error {
	var errs []error
	seen := make(map[string]bool)
	for i, t := range l.Tiers {
		if t.Name == "" || t.Model == "" || strings.Contains(t.Name, "/") || seen[t.Name] {
			errs = append(errs, fmt.Errorf("tiers: entry %d needs a name of its own without / and a model", i+1))
		}
		seen[t.Name] = true
	}
	return errors.Join(errs...)
}

// goodGlob reports whether every element of a glob is one that can be matched.
func goodGlob(glob string) bool {
	for element := range strings.SplitSeq(glob, "/") {
		if _, err := path.Match(element, ""); err != nil {
			return false
		}
	}
	return true
}
