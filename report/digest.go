package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"loopd/harness"
	"loopd/loop"
)

// Digest is what a person reads in the morning: the end first, then what to
// believe of it, what it cost, what kept it from more, and what to type.
type Digest struct {
	Campaign
	// Champions are the kept candidates in the order they were kept.
	Champions []Summary `json:"champions"`
	Rejected  []Summary `json:"rejected"`
	Undecided []Summary `json:"undecided"` // with an inconclusive or no verdict
	Lost      []Lost    `json:"lost"`      // sessions that are no evidence, by class
	// Diff is the wording from start to champion.
	Diff  string   `json:"diff,omitempty"`
	Stuck []Stuck  `json:"stuck"` // by objective cell
	Night Night    `json:"night"`
	Try   []string `json:"try"`             // what to try next, best first
	Adopt string   `json:"adopt,omitempty"` // command, empty where there is nothing to adopt
	Veto  string   `json:"veto,omitempty"`
}

// Night is what was spent since the campaign was last gone on with.
type Night struct {
	Since    time.Time `json:"since"`
	Until    time.Time `json:"until"`
	Sessions int       `json:"sessions"`
	Cost     Cost      `json:"cost"`
}

// Hold is what keeps the pass rate of a cell where it is.
type Hold string

// The holds.
const (
	HoldFloor    Hold = "floor"       // nothing passes, so no small step shows
	HoldCeiling  Hold = "ceiling"     // everything passes already
	HoldPower    Hold = "no power"    // too few reps to see a difference
	HoldExposure Hold = "no exposure" // sessions were run and none was valid
	HoldNotRun   Hold = "not run"
	HoldNone     Hold = "room" // it could move
)

// Stuck says of one cell how the champion does, and what holds it.
type Stuck struct {
	Cell string `json:"cell"`
	Rate Rate   `json:"rate"`
	Hold Hold   `json:"hold"`
	Why  string `json:"why"`
}

// Reps from which a cell without a pass, or without a fail, counts as stuck, and
// the half width of an interval beyond which a cell says too little.
const (
	stuckReps = 4
	wideHalf  = .30
)

// BuildDigest makes the digest of a campaign. The texts are the Surface of start
// and champion; both may be nil. before are the campaigns run earlier.
func BuildDigest(s *loop.State, start, champion Texts, before ...*loop.State) Digest {
	d := Digest{Campaign: Build(s, before...), Diff: diff(start, champion), Night: nightOf(s), Lost: lostOf(s), Champions: []Summary{}, Rejected: []Summary{}, Undecided: []Summary{}}
	for _, c := range d.Candidates {
		switch {
		case c.Verdict == loop.Keep && !c.Withdrawn:
			d.Champions = append(d.Champions, c)
		case c.Verdict == loop.Reject || c.Verdict == loop.Broken:
			d.Rejected = append(d.Rejected, c)
		default:
			d.Undecided = append(d.Undecided, c)
		}
	}
	d.Schema = DigestSchema
	d.Stuck = stuckOf(s, d.Cells)
	d.Try = d.toTry(s)
	if Confirmed(s) {
		d.Adopt, d.Veto = "loopd adopt", `loopd adopt --veto "why not"`
	} else if s.Ended != nil && s.Vetoed == nil && len(d.Champions) > 0 {
		d.Veto = `loopd adopt --veto "why not"`
	}
	return d
}

// nightOf sums up the trials since the last pause was lifted at a window's
// start.
func nightOf(s *loop.State) Night {
	n := Night{Since: s.StartedAt, Until: s.ChangedAt}
	last, first := 0, (*loop.Run)(nil)
	for i := range s.Trials {
		last = max(last, s.Trials[i].Window)
	}
	own := func(t *loop.Run) bool { return t.Window == last }
	for i := range s.Trials {
		if t := &s.Trials[i]; own(t) {
			n.Sessions++
			if first == nil {
				first = t
			}
		}
	}
	if first != nil && !first.Started.IsZero() {
		n.Since = first.Started
	}
	n.Cost = costOf(s, own)
	return n
}

// stuckOf looks at the champion in every objective cell.
func stuckOf(s *loop.State, cells []Cell) []Stuck {
	attempts := make(map[string]int)
	classes := make(map[string]map[harness.Class]int)
	for _, t := range s.Trials {
		cell := t.Spec.Slot.Cell.String()
		attempts[cell]++
		if t.Class != harness.Valid {
			if classes[cell] == nil {
				classes[cell] = make(map[harness.Class]int)
			}
			classes[cell][t.Class]++
		}
	}
	out := []Stuck{}
	for _, c := range cells {
		out = append(out, stuck(c.Name, best(c), attempts[c.Name], classes[c.Name]))
	}
	return out
}

// best is the rate of the wording the campaign ended with, where it was run.
func best(c Cell) Rate {
	if c.Candidate.N > 0 {
		return c.Candidate
	}
	return c.Champion
}

func stuck(cell string, r Rate, attempts int, invalid map[harness.Class]int) Stuck {
	s := Stuck{Cell: cell, Rate: r, Hold: HoldNone, Why: "a better wording could show here"}
	half := (r.CI.High - r.CI.Low) / 2
	switch {
	case r.N == 0 && attempts == 0:
		s.Hold, s.Why = HoldNotRun, "no session was started"
	case r.N == 0:
		s.Hold, s.Why = HoldExposure, fmt.Sprintf("%d attempts and none was valid: %s", attempts, classesText(invalid))
	case r.N < stuckReps || half > wideHalf && r.K > 0 && r.K < r.N:
		s.Hold, s.Why = HoldPower, fmt.Sprintf("too few: every rate from %.2f to %.2f fits", r.CI.Low, r.CI.High)
	case r.K == 0:
		s.Hold, s.Why = HoldFloor, fmt.Sprintf("none of %d passes; the true rate may still be %.2f", r.N, r.CI.High)
	case r.K == r.N:
		s.Hold, s.Why = HoldCeiling, fmt.Sprintf("all %d pass; there is nothing to win", r.N)
	}
	return s
}

func classesText(counts map[harness.Class]int) string {
	var out []string
	for _, c := range harness.Classes() {
		if n := counts[c]; n > 0 {
			out = append(out, fmt.Sprintf("%d %s", n, c))
		}
	}
	return strings.Join(out, ", ")
}

// toTry lists what would most likely bring the campaign on, from what it has
// measured.
func (d Digest) toTry(s *loop.State) []string {
	if s.Halted != nil && s.Ended == nil {
		return []string{"It is halted: what halted it comes first."}
	}
	var out []string
	if s.GateOpen() {
		out = append(out, fmt.Sprintf("The gate is open at E = %s of %s: `loopd run --sessions N` goes on with it, and its evidence counts.", evidence(s.Ended.EValue), number(s.Started.Settings.PromoteAt)))
	}
	if c := mostEvidence(d.Undecided); c != nil && s.Ended != nil {
		out = append(out, fmt.Sprintf("%s was left undecided with E = %s, the most of those: a larger budget, or the same wording again.", c.ID, evidence(c.EValue)))
	}
	if f := championFunnel(d.Funnel); f != nil && f.Total.N > 0 && f.Total.Both < f.Total.N {
		out = append(out, axisAdvice(*f))
	}
	if cells := held(d.Stuck, HoldFloor); len(cells) > 0 {
		out = append(out, fmt.Sprintf("Nothing passes in %s: small edits cannot show there. Try one that says plainly what to do, or leave these cells out (scenarios, tiers).", names(cells)))
	}
	if cells := held(d.Stuck, HoldExposure); len(cells) > 0 {
		out = append(out, fmt.Sprintf("No session of %s was valid: `loopd doctor` before anything else.", names(cells)))
	}
	if cells := held(d.Stuck, HoldPower); len(cells) > 0 && len(cells) == len(d.Stuck) {
		out = append(out, "Every cell has too few reps: fewer cells or more sessions; `loopd plan` says what a budget can find.")
	}
	if len(out) == 0 {
		out = append(out, "Add a candidate: `loopd candidate add --patch FILE`.")
	}
	return out
}

func mostEvidence(list []Summary) *Summary {
	var most *Summary
	for i, c := range list {
		if c.EValue != nil && (most == nil || *c.EValue > *most.EValue) {
			most = &list[i]
		}
	}
	return most
}

func championFunnel(list []Funnel) *Funnel {
	if len(list) == 0 {
		return nil
	}
	return &list[len(list)-1]
}

// axisAdvice names the axis at which most sessions fail, and where its wording
// is.
func axisAdvice(f Funnel) string {
	notA, notB := f.Total.OnlyB+f.Total.Neither, f.Total.OnlyA+f.Total.Neither
	reason := ""
	if len(f.Reasons) > 0 {
		reason = fmt.Sprintf(", most often for %s (%d)", f.Reasons[0].Reason, f.Reasons[0].Count)
	}
	if notA >= notB {
		return fmt.Sprintf("%d of %d sessions did not use the plugin unasked%s: the descriptions and the note decide that.", notA, f.Total.N, reason)
	}
	return fmt.Sprintf("%d of %d sessions did not do the right thing%s, most of them after using the plugin: the body of the skill decides that.", notB, f.Total.N, reason)
}

func held(list []Stuck, h Hold) []string {
	var out []string
	for _, s := range list {
		if s.Hold == h {
			out = append(out, s.Cell)
		}
	}
	return out
}

// Markdown renders the digest for people.
func (d Digest) Markdown() []byte { return render("digest.md.tmpl", d) }

// Lost counts the trials of one class that were no evidence, with what was said
// of the first.
type Lost struct {
	Class harness.Class `json:"class"`
	Count int           `json:"count"`
	Why   string        `json:"why,omitempty"`
}

// lostOf adds up what was no evidence, the most frequent class first.
func lostOf(s *loop.State) []Lost {
	at := make(map[harness.Class]int)
	out := []Lost{}
	for _, t := range s.Trials {
		if t.Class == harness.Valid {
			continue
		}
		i, known := at[t.Class]
		if !known {
			i = len(out)
			at[t.Class] = i
			out = append(out, Lost{Class: t.Class, Why: t.Why})
		}
		out[i].Count++
	}
	slices.SortStableFunc(out, func(a, b Lost) int { return cmp.Compare(b.Count, a.Count) })
	return out
}
