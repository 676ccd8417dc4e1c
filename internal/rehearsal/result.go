package rehearsal

import (
	"bufio"
	"fmt"
	"maps"
	"math"
	"os"
	"slices"
	"strings"
	"time"

	"loopd/candidates"
	"loopd/harness"
	"loopd/internal/sandbox"
	"loopd/loop"
	"loopd/report"
)

func candidateOf(p Planted) candidates.Candidate {
	return candidates.Candidate{
		ID: p.ID, Source: candidates.Operator, Author: "rehearsal", Rationale: fmt.Sprintf("planted: %s", p.Kind), Targets: p.targets, Edits: p.edits,
	}
}

// result compares what was planted with what came of it.
func (r *run) result(wall time.Duration) (Result, error) {
	s := r.campaign.Current()
	out := Result{
		Profile: s.Started.Settings.Profile, Kept: append([]string{}, s.Kept...), Simulated: true, Seed: r.Seed, Agent: r.Agent, Dir: r.Dir, Sessions: s.Sessions(), Invalid: make(map[string]int),
		WallSeconds: round(wall.Seconds(), 2), ResidentMB: residentMB(),
	}
	r.countTrials(s, &out)
	out.compare(s, r.plan)
	out.compareFaults(s, r.plan)
	if err := r.countProposals(s, &out); err != nil {
		return out, err
	}
	if s.Ended != nil {
		out.Outcome, out.GateE = s.Ended.Outcome, s.Ended.EValue
	}
	if s.Halted != nil {
		out.HaltedBy, out.Drift = s.Halted.Reason, s.Halted.Deltas
	}
	if r.drifted {
		after := verdicts(s) - r.verdicts
		out.VerdictsAfterDrift = &after
	}
	if err := r.truth(s, &out); err != nil {
		return out, err
	}
	now, err := userState(r.userDir())
	out.UserUntouched = now == r.UserBefore
	return out, err
}

// fallen is how much a cell's true rate must have fallen to be called collapsed.
const fallen = .40

// truth compares the true rates of champion and start.
func (r *run) truth(s *loop.State, out *Result) error {
	before, err := r.campaign.Wordings.Texts(s.Started.Start)
	if err != nil {
		return err
	}
	after, err := r.campaign.Wordings.Texts(s.Champion)
	if err != nil {
		return err
	}
	out.Collapsed = []string{}
	for _, cell := range s.Started.Objective {
		rise := r.plan.Wording.Rate(cell, joined(after)) - r.plan.Wording.Rate(cell, joined(before))
		out.TrueGain += rise / float64(len(s.Started.Objective))
		if rise < -fallen {
			out.Collapsed = append(out.Collapsed, cell.String())
		}
	}
	out.TrueGain = round(out.TrueGain, 4)
	if out.Outcome == loop.Promoted && (r.Null || out.TrueGain <= 0 || len(out.Collapsed) > 0) {
		out.Mismatches++
	}
	return nil
}

func joined(texts report.Texts) string {
	return strings.Join(slices.Sorted(maps.Values(texts)), "\n")
}

// compare sets every planted candidate beside its verdict. One without a verdict
// is a mismatch once the campaign has ended.
func (out *Result) compare(s *loop.State, plan Plan) {
	for _, p := range plan.Candidates {
		out.add(p, s.Find(p.ID).Decided, s.Ended != nil)
	}
}

func (out *Result) add(p Planted, d *loop.Decided, ended bool) {
	c := Compared{ID: p.ID, Planted: p.Kind, Expected: p.Expected}
	if d != nil {
		c.Verdict, c.Reason, c.Sessions, c.EValue = d.Verdict, d.Reason, d.Sessions, d.EValue
		c.Right = p.Right(d)
	}
	if !c.Right && (d != nil || ended) {
		out.Mismatches++
	}
	out.Candidates = append(out.Candidates, c)
}

func (r *run) countTrials(s *loop.State, out *Result) {
	total := 0.0
	for _, t := range s.Trials {
		out.Orphans += t.Survivors
		total += t.Seconds
		if t.Isolation != string(sandbox.RungNone) {
			out.Isolated++
		}
		if t.Class != harness.Valid {
			out.Invalid[string(t.Class)]++
			continue
		}
		out.Valid++
		if t.ExpectsNote {
			out.ExpectNote++
			if t.NoteVerified {
				out.VerifiedNotes++
			}
		}
		if t.Exposed {
			out.Exposed++
		}
	}
	if n := len(s.Trials); n > 0 {
		out.SessionSeconds = round(total/float64(n), 3)
	}
}

func round(v float64, digits int) float64 {
	scale := math.Pow(10, float64(digits))
	return math.Round(v*scale) / scale
}

// residentMB is the largest resident size this process has had, 0 where the
// system does not say.
func residentMB() float64 {
	f, err := os.Open("/proc/self/status")
	if err != nil {
		return 0
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		if rest, ok := strings.CutPrefix(lines.Text(), "VmHWM:"); ok {
			var kb float64
			if _, err := fmt.Sscanf(rest, "%f", &kb); err == nil {
				return round(kb/1024, 1)
			}
		}
	}
	return 0
}

func verdicts(s *loop.State) int {
	n := 0
	for _, p := range s.Progress {
		if p.Decided != nil {
			n++
		}
	}
	return n
}
