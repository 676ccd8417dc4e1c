package rehearsal

import (
	"bufio"
	"context"
	"fmt"
	"maps"
	"math"
	"os"
	"slices"
	"strings"
	"time"

	"loopd/candidates"
	"loopd/frozen"
	"loopd/harness"
	"loopd/internal/isolate"
	"loopd/loop"
	"loopd/report"
)

// Result is what came of a rehearsal, planned against actual.
type Result struct {
	Simulated bool         `json:"simulated"`
	Seed      uint64       `json:"seed"`
	Agent     AgentKind    `json:"agent"`
	Dir       string       `json:"dir,omitempty"`
	Outcome   loop.Outcome `json:"outcome,omitempty"`
	GateE     *float64     `json:"gate_e"`
	Profile   loop.Profile `json:"profile"`
	// TrueGain is how much the champion's true mean pass rate is above the
	// start's, and Collapsed the cells whose true rate fell by more than .40: the
	// simulation knows both.
	TrueGain      float64        `json:"true_gain"`
	Collapsed     []string       `json:"collapsed"`
	Kept          []string       `json:"kept"`
	Sessions      int            `json:"sessions"`
	Valid         int            `json:"valid"`
	ExpectNote    int            `json:"expect_note"` // valid sessions whose project should get the note
	VerifiedNotes int            `json:"verified_notes"`
	Exposed       int            `json:"exposed"`
	Isolated      int            `json:"isolated"` // sessions within walls
	Invalid       map[string]int `json:"invalid"`
	Candidates    []Compared     `json:"candidates"`
	Faults        []ShownFault   `json:"faults"` // those whose session was run
	// Proposals is what a proposer brought, nil where nobody proposes.
	Proposals      *Proposals `json:"proposals,omitempty"`
	Mismatches     int        `json:"mismatches"`
	Orphans        int        `json:"orphans"`
	UserUntouched  bool       `json:"user_repo_untouched"`
	WallSeconds    float64    `json:"wall_s"`
	ResidentMB     float64    `json:"resident_mb"` // loopd's own, at most
	SessionSeconds float64    `json:"session_s"`   // mean wall time of a session
	HaltedBy       string     `json:"halted_by,omitempty"`
	// Drift lists the sealed paths that changed, with both digests, and
	// VerdictsAfterDrift how many verdicts were reached after that: 0.
	Drift              []frozen.Delta `json:"drift,omitempty"`
	VerdictsAfterDrift *int           `json:"verdicts_after_drift,omitempty"`
}

// Compared is one candidate, planned against actual.
type Compared struct {
	ID       string         `json:"id"`
	Planted  Kind           `json:"planted"`
	Expected []loop.Verdict `json:"expected"`
	Verdict  loop.Verdict   `json:"verdict"`
	Reason   loop.Reason    `json:"reason"`
	Sessions int            `json:"sessions"`
	EValue   *float64       `json:"e_value"`
	Right    bool           `json:"right"`
}

func candidateOf(p Planted) candidates.Candidate {
	return candidates.Candidate{
		ID: p.ID, Source: candidates.Operator, Author: "rehearsal", Rationale: fmt.Sprintf("planted: %s", p.Kind), Targets: p.targets, Edits: p.edits,
	}
}

// result compares what was planted with what came of it.
func (r *run) result(ctx context.Context, wall time.Duration) (Result, error) {
	s := r.Campaign.Current()
	out := Result{
		Profile: s.Started.Settings.Profile, Kept: append([]string{}, s.Kept...), Simulated: true, Seed: r.Seed, Agent: r.Agent, Dir: r.Dir, Sessions: s.Sessions(), Invalid: make(map[string]int),
		WallSeconds: round(wall.Seconds(), 2), ResidentMB: residentMB(),
	}
	r.countTrials(s, &out)
	out.compare(s, r.plan)
	pauses, err := pausesOf(ctx, home(r.Dir).Dir)
	if err != nil {
		return out, err
	}
	out.compareFaults(s, r.plan, pauses)
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
	before, err := r.Campaign.Wordings.Texts(s.Started.Start)
	if err != nil {
		return err
	}
	after, err := r.Campaign.Wordings.Texts(s.Champion)
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
		if t.Isolation != string(isolate.None) {
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
