package rehearsal

import (
	"bufio"
	"fmt"
	"math"
	"os"
	"strings"
	"time"

	"loopd/candidates"
	"loopd/harness"
	"loopd/internal/sandbox"
	"loopd/loop"
)

func candidateOf(p Planted) candidates.Candidate {
	return candidates.Candidate{
		ID: p.ID, Source: candidates.Operator, Author: "rehearsal", Rationale: fmt.Sprintf("planted: %s", p.Kind), Edits: p.edits,
	}
}

// result compares what was planted with what came of it.
func (r *run) result(wall time.Duration) (Result, error) {
	s := r.campaign.Current()
	out := Result{
		Simulated: true, Seed: r.Seed, Agent: r.Agent, Dir: r.Dir, Sessions: s.Sessions(), Invalid: make(map[string]int),
		WallSeconds: round(wall.Seconds(), 2), ResidentMB: residentMB(),
	}
	r.countTrials(s, &out)
	out.compare(s, r.plan)
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
	now, err := userState(userDir(r.Dir))
	out.UserUntouched = now == r.UserBefore
	return out, err
}

// compare sets every planted candidate beside its verdict. One without a verdict
// is a mismatch once the campaign has ended.
func (out *Result) compare(s *loop.State, plan Plan) {
	for _, p := range plan.Candidates {
		c := Compared{ID: p.ID, Planted: p.Kind, Expected: p.Expected}
		d := s.Find(p.ID).Decided
		if d != nil {
			c.Verdict, c.Reason, c.Sessions, c.EValue = d.Verdict, d.Reason, d.Sessions, d.EValue
			c.Right = p.Right(d)
		}
		if !c.Right && (d != nil || s.Ended != nil) {
			out.Mismatches++
		}
		out.Candidates = append(out.Candidates, c)
	}
}

func (r *run) countTrials(s *loop.State, out *Result) {
	total := 0.0
	for _, t := range s.Trials {
		out.Orphans += t.Survivors
		total += t.Seconds
		if t.Isolation == string(sandbox.RungBwrap) {
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
