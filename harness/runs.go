package harness

import (
	"slices"
	"unicode"
)

// Runs finds texts that repeat a run of words of any of several held-out
// texts. It reads a text once, however many held-out ones there are.
type Runs struct {
	n     int
	known map[uint64]bool // of every run of n words
	maybe [512]uint64     // a bit for each of them: most runs are ruled out by it
	texts []HeldOut
}

// NewRuns prepares the search for runs of n words, at least 1.
func NewRuns(texts []HeldOut, n int) *Runs {
	r := &Runs{n: max(n, 1), known: make(map[uint64]bool), texts: texts}
	for _, h := range texts {
		r.each(h.sealed(), func(run uint64) bool {
			r.known[run] = true
			r.maybe[run>>6%512] |= 1 << (run & 63)
			return true
		})
	}
	return r
}

// In reports whether a text shares a run of n words with one of the held-out
// texts, as HeldOut.Overlap compares them.
func (r *Runs) In(text string) bool {
	found := false
	r.each(text, func(run uint64) bool {
		found = r.maybe[run>>6%512]>>(run&63)&1 == 1 && r.known[run]
		return !found
	})
	// Two runs may have one number, so what was found is looked at word by word.
	return found && slices.ContainsFunc(r.texts, func(h HeldOut) bool { return len(h.Overlap(text, r.n)) > 0 })
}

const (
	prime = 1099511628211 // of FNV-1a, for the letters of a word
	base  = 0x9E3779B97F4A7C15
)

// each numbers the runs of n words of a text in order, until yield says stop.
// The number of a run follows from that of the run before, so that a word is
// read once.
func (r *Runs) each(text string, yield func(run uint64) bool) {
	top := uint64(1) // what the first word of a run is multiplied by
	for range r.n - 1 {
		top *= base
	}
	ring := make([]uint64, r.n)
	run, seen := uint64(0), 0
	word, inside := uint64(0), false
	end := func() bool {
		if !inside {
			return true
		}
		at := seen % r.n
		run = (run-ring[at]*top)*base + word
		ring[at], inside = word, false
		seen++
		return seen < r.n || yield(run)
	}
	for _, c := range text {
		if c < unicode.MaxASCII {
			c = rune(lowerASCII[c])
		} else if unicode.IsLetter(c) || unicode.IsDigit(c) {
			c = unicode.ToLower(c)
		} else {
			c = 0
		}
		if c == 0 {
			if !end() {
				return
			}
			continue
		}
		if !inside {
			word, inside = 14695981039346656037, true
		}
		word = (word ^ uint64(c)) * prime
	}
	end()
}

// lowerASCII maps letters to small ones, digits to themselves and all else to 0.
var lowerASCII = func() (t [unicode.MaxASCII + 1]byte) {
	for c := range t {
		if r := rune(c); unicode.IsLetter(r) || unicode.IsDigit(r) {
			t[c] = byte(unicode.ToLower(r))
		}
	}
	return t
}()
