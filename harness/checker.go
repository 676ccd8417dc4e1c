package harness

import (
	"errors"
	"fmt"
	"path"
	"strings"
)

// maxDigits bounds the digits of a record's id.
const maxDigits = 9

// validate finds what would make the checker look for nothing in silence: a
// glob no path can match, an assertion that names no act, an id of no digits.
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
	if c.Citation.Digits < 0 || c.Citation.Digits > maxDigits || c.Citation.Prefix != "" && c.Citation.Digits == 0 {
		bad("citation: digits: %d, want 1 to %d", c.Citation.Digits, maxDigits)
	}
	if c.Citation.MaxLive < 0 {
		bad("citation: max_live: %d is below 0", c.Citation.MaxLive)
	}
	return errors.Join(errs...)
}

// validate finds a profile under which no session could be told from another
// or bounded.
func (l Launch) validate() error {
	var errs []error
	seen := make(map[string]bool)
	for i, t := range l.Tiers {
		if t.Name == "" || t.Model == "" || strings.Contains(t.Name, "/") || seen[t.Name] {
			errs = append(errs, fmt.Errorf("tiers: entry %d needs a name of its own without / and a model", i+1))
		}
		seen[t.Name] = true
	}
	for _, d := range []struct {
		key string
		bad bool
	}{
		{"max_turns", l.MaxTurns < 0}, {"max_retries", l.MaxRetries < 0}, {"clocks: startup", l.Clocks.Startup < 0},
		{"clocks: idle", l.Clocks.Idle < 0}, {"clocks: total", l.Clocks.Total < 0}, {"clocks: grace", l.Clocks.Grace < 0},
	} {
		if d.bad {
			errs = append(errs, fmt.Errorf("%s: is below 0", d.key))
		}
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
