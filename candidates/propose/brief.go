package propose

import (
	"context"
	"math"

	"loopd/candidates"
)

// Version is the version of the formats of Brief and answer.
const Version = 1

// Model proposes wording changes. The candidates have neither an id nor targets. An error that is a *Refusal is an
// answer without a candidate; any other says that loopd could not do its part.
type Model interface {
	Propose(ctx context.Context, b Brief) ([]candidates.Candidate, error)
}

// Spender is a model that knows what its last ask used: tokens, and the list price in USD, nil for unknown.
type Spender interface {
	Spent() (tokens int, usd *float64)
}

// Ask is what a proposer is asked for.
type Ask string

// What can be asked for.
const (
	Edit   Ask = "edit"   // any change of the wording
	Delete Ask = "delete" // a deletion that simplifies: the wording must get shorter
)

// AskOf returns what the n-th ask of a campaign is for, n from 1. A share of them, in [0,1], spread evenly, are
// deletions: a loop that only ever adds ends with text nobody reads.
func AskOf(n int, share float64) Ask {
	if math.Floor(float64(n)*share) > math.Floor(float64(n-1)*share) {
		return Delete
	}
	return Edit
}

// Brief is all that a proposer is told.
type Brief struct {
	Version int `json:"version"`
	N       int `json:"n"` // the number of this ask in its campaign, from 1
	Ask     Ask `json:"ask"`
	// Wording is the Surface as it is kept now, in the order of the paths.
	Wording []File `json:"wording"`
	Limits  Limits `json:"limits"`
	// Cells are the rates of that wording on the cells of the metric, under names that say nothing.
	Cells []Cell `json:"cells"`
	// Failures counts why sessions under that wording failed or were no evidence, Tools the tools they called before;
	// both the most frequent first.
	Failures []Tally `json:"failures"`
	Tools    []Tally `json:"tools"`
	// Practice are sessions of practice scenarios, which are never measured by.
	Practice []Practice `json:"practice"`
	Rejected []Rejected `json:"rejected"` // oldest first
	Left     Left       `json:"left"`
	// Tried are the digests of every wording tried so far, by candidates.Surface.
	Tried []string `json:"tried"`
}

// File is one file of the Surface.
type File struct {
	Path string `json:"path"`
	Text string `json:"text"`
	// Note: this is the text that the session-start hook puts in front of the model.
	Note bool `json:"note,omitempty"`
}

// Limits bound the wording: characters of the note, characters of a description, bytes of a file.
type Limits struct {
	Note        int `json:"note"`
	Description int `json:"description"`
	File        int `json:"file"`
}

// LimitsOf are the limits the lint holds.
func LimitsOf() Limits {
	return Limits{Note: candidates.MaxNote, Description: candidates.MaxDescription, File: candidates.MaxFile}
}

// Cell is what valid sessions of one cell came to: of N sessions A used the plugin unasked, B did or wrote the right
// thing, Both did both.
type Cell struct {
	Name string `json:"name"` // such as "cell 1"
	N    int    `json:"n"`
	A    int    `json:"a"`
	B    int    `json:"b"`
	Both int    `json:"both"`
}

// Tally is a word and how often it was met.
type Tally struct {
	Word string `json:"word"`
	N    int    `json:"n"`
}

// Practice is one session of a practice scenario under the wording kept now.
type Practice struct {
	Task       string `json:"task"`
	Passed     bool   `json:"passed"`
	Transcript string `json:"transcript"` // what was said and called, without secrets, cut to a bound
}

// Rejected is a candidate that was tried and not kept.
type Rejected struct {
	Verdict string `json:"verdict"`
	Reason  string `json:"reason,omitempty"`
	// Classes are set where the lint refused it, and then there is nothing else: a detail would be a way to ask about
	// held-out text.
	Classes   []candidates.Class `json:"classes,omitempty"`
	Rationale string             `json:"rationale,omitempty"`
	Edits     []candidates.Edit  `json:"edits,omitempty"`
}

// Left is what remains of the search: sessions, and candidates that may still be proposed.
type Left struct {
	Sessions  int `json:"sessions"`
	Proposals int `json:"proposals"`
}

// Base is the wording as the candidates package takes it, by path.
func (b Brief) Base() map[string][]byte {
	out := make(map[string][]byte, len(b.Wording))
	for _, f := range b.Wording {
		out[f.Path] = []byte(f.Text)
	}
	return out
}

// Surface is the set of files of the wording.
func (b Brief) Surface() candidates.Surface {
	note := ""
	for _, f := range b.Wording {
		if f.Note {
			note = f.Path
		}
	}
	return candidates.NewSurface(b.Base(), note)
}

// Lint is the lint of a candidate on the wording of the brief, as far as a brief tells: everything but echoes.
func (b Brief) Lint(c candidates.Candidate) []candidates.Finding {
	seen := make(map[string]string, len(b.Tried))
	for _, d := range b.Tried {
		seen[d] = "an earlier one"
	}
	return candidates.Lint(candidates.LintInput{Surface: b.Surface(), Base: b.Base(), Candidate: c, Seen: seen})
}
