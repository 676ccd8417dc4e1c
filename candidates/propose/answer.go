package propose

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"loopd/candidates"
)

// Why names the kind of a Refusal.
type Why string

// The ways in which an ask brings no candidate.
const (
	Nothing   Why = "nothing"   // the answer holds no candidate
	Garbage   Why = "garbage"   // it is not the JSON of an answer
	Identical Why = "identical" // it changes nothing but white space, or was tried before
	Hung      Why = "hung"      // no answer within the time
	Failed    Why = "failed"    // the proposer ended with an error or said too much
	// Interrupted is no failure of the proposer: the loop was told to stop while it
	// was asked.
	Interrupted Why = "interrupted"
)

// Refusal is an ask that brought no candidate. Detail is in our own words.
type Refusal struct {
	Why    Why
	Detail string
}

// Error says what was wrong.
func (e *Refusal) Error() string { return fmt.Sprintf("ask proposer: %s: %s", e.Why, e.Detail) }

func refuse(why Why, format string, args ...any) *Refusal {
	return &Refusal{Why: why, Detail: fmt.Sprintf(format, args...)}
}

// Bounds of an answer. A rationale is read by people, and goes into a commit message.
const (
	MaxAnswer     = 1 << 20 // bytes
	MaxCandidates = 5
	MaxRationale  = 2000 // bytes
)

// answer is the JSON of an answer.
type answer struct {
	Candidates []proposed `json:"candidates"`
}

type proposed struct {
	Rationale string            `json:"rationale"`
	Edits     []candidates.Edit `json:"edits"`
}

// ParseAnswer reads the answer to a brief: one JSON document, alone or in a fence of Markdown. What changes nothing and
// what was tried before is left out. The error is a *Refusal.
func ParseAnswer(b Brief, data []byte) ([]candidates.Candidate, error) {
	a, refusal := read(data)
	if refusal != nil {
		return nil, refusal
	}
	var out []candidates.Candidate
	for i, p := range a.Candidates {
		c := candidates.Candidate{Source: candidates.Proposer, Rationale: p.Rationale, Edits: b.withLineEnds(p.Edits), Simplify: b.Ask == Delete}
		if err := c.Validate(); err != nil {
			return nil, refuse(Garbage, "candidate %d is not well formed", i+1)
		}
		if !b.repeats(c) && !slices.ContainsFunc(out, func(o candidates.Candidate) bool { return candidates.Digest(o.Edits) == candidates.Digest(c.Edits) }) {
			out = append(out, c)
		}
	}
	if len(out) == 0 {
		return nil, refuse(Identical, "each of %d changes nothing or was tried before", len(a.Candidates))
	}
	return out, nil
}

func read(data []byte) (answer, *Refusal) {
	var a answer
	switch {
	case len(data) > MaxAnswer:
		return a, refuse(Failed, "more than %d KiB of output", MaxAnswer>>10)
	case len(bytes.TrimSpace(data)) == 0:
		return a, refuse(Nothing, "the answer is empty")
	case !utf8.Valid(data):
		return a, refuse(Garbage, "the answer is not UTF-8 text")
	}
	d := json.NewDecoder(bytes.NewReader(unfenced(data)))
	d.DisallowUnknownFields()
	if err := d.Decode(&a); err != nil {
		return a, refuse(Garbage, "the answer is not the JSON that was asked for (%d bytes)", len(data))
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return a, refuse(Garbage, "text follows the JSON")
	}
	switch n := len(a.Candidates); {
	case n == 0:
		return a, refuse(Nothing, "the answer holds no candidate")
	case n > MaxCandidates:
		return a, refuse(Garbage, "%d candidates, at most %d", n, MaxCandidates)
	}
	for i, c := range a.Candidates {
		if len(c.Rationale) > MaxRationale {
			return a, refuse(Garbage, "candidate %d: the rationale has %d bytes, at most %d", i+1, len(c.Rationale), MaxRationale)
		}
	}
	return a, nil
}

// unfenced takes a Markdown fence off: models put one around JSON whatever they are told.
func unfenced(data []byte) []byte {
	text := strings.TrimSpace(string(data))
	first, rest, more := strings.Cut(text, "\n")
	inner, closed := strings.CutSuffix(rest, "```")
	if !more || !closed || !strings.HasPrefix(first, "```") {
		return []byte(text)
	}
	return []byte(inner)
}

// repeats says whether a candidate's wording is the one kept now, but for white space, or was tried before. One that
// cannot be applied is left to the lint, which says why.
func (b Brief) repeats(c candidates.Candidate) bool {
	return slices.ContainsFunc(b.Lint(c), func(f candidates.Finding) bool { return f.Class == candidates.NoOp || f.Class == candidates.Duplicate })
}

// withLineEnds gives whole texts the line ends of their file: models write line feeds, whatever they were shown.
func (b Brief) withLineEnds(edits []candidates.Edit) []candidates.Edit {
	out := slices.Clone(edits)
	base := b.Base()
	for i, e := range out {
		was := string(base[e.Path])
		if e.Whole == nil || !strings.Contains(was, "\r\n") || strings.Count(was, "\n") != strings.Count(was, "\r\n") {
			continue
		}
		text := strings.ReplaceAll(strings.ReplaceAll(*e.Whole, "\r\n", "\n"), "\n", "\r\n")
		out[i].Whole = &text
	}
	return out
}
