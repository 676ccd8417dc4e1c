package loop

import (
	"slices"
	"time"

	"loopd/candidates"
	"loopd/harness"
	"loopd/stats"
)

// State is what the events add up to. It is owned by one goroutine; everything
// that decides reads it and returns values.
type State struct {
	Started    Started
	Phase      Phase
	Champion   string // commit of the wording kept
	AAArm      string // commit of the start's bytes on a candidate branch, for the A/A pilot
	AAArmRef   string
	Kept       []string // ids of kept candidates, oldest first
	Progress   []*Progress
	Rounds     []Round
	Trials     []Run       // in the order they were recorded
	Comparison *Comparison // the comparison under way, nil between two
	Baseline   Baseline    // what is known of the champion
	Paused     *Paused
	Halted     *Halted
	Ended      *Ended
	// Rescored are the rescores a person accepted, oldest first; the last one's
	// results are those of Trials.
	Rescored []Rescored
	// Vetoed is a person's word against what was promoted or kept, nil without one.
	Vetoed *Vetoed
	// Adopted are the branches a person made of a wording, oldest first.
	Adopted []Adopted
	// JudgeTest is what the judge made of the gold set, nil while it is not tested.
	JudgeTest *harness.JudgeTest
	// AA is what the pilot said about the instrument, nil before its end and
	// where one rep a cell allows none.
	AA *stats.AA
	// Alarmed says that sentinels have found the model changed.
	Alarmed bool
	// Proposals are the asks of a proposer, oldest first.
	Proposals []Proposed
	// GateComparison is the gate's comparison, during it and afterwards.
	GateComparison *Comparison
	// StartedAt and ChangedAt are the times of the first and the last event, EndedAt
	// that of the end.
	StartedAt, ChangedAt, EndedAt time.Time

	startPilot []stats.Count
	finished   bool // a person ended the search
	extra      int  // sessions added to the budget for the gate
	transfered bool // the reserve scenarios have been run
	lifted     int  // pauses lifted
	unreached  int  // sessions that are not charged to the budget
	asks       int  // of a proposer in the window that began with as many pauses lifted as
	asksWindow int
	silent     int  // sessions in a row that printed nothing
	open       bool // the last round is not closed yet
	topUpDue   bool
	stop       *harness.Trial // the trial whose class stops the campaign
	leaked     *harness.Trial // the trial that passed the impossible control
	slots      map[string]*slot
	reps       map[string]int
	attempts   map[string]*tries
	sessions   map[string]string // trial by the agent's own session id
	owners     map[string]string // candidate by the commit of its wording
}

// Run is a recorded trial with what it was run for.
type Run struct {
	harness.Trial
	Subject string
	Purpose Purpose
	Window  int // counts from 1; a pause that is lifted begins the next
	// Recorded is the trial as it was recorded, nil where no accepted rescore
	// gave it another result.
	Recorded *harness.Trial
}

// Progress is one candidate's way through the campaign.
type Progress struct {
	Candidate candidates.Candidate
	Commit    string
	Ref       string
	Parent    string
	Decided   *Decided
	DecidedAt time.Time
	// Comparison keeps the numbers of the comparison after the verdict.
	Comparison *Comparison
}

// Baseline is what earlier rounds showed of the champion: Pilot is visible to the
// bets from the start, Pool is revealed rep by rep to each candidate in its own
// order. Both are by objective cell; Guard is "no detour" by guard cell.
type Baseline struct {
	Pilot []stats.Count
	Pool  [][]bool
	Guard [][]bool
	// Watch gathers what the sentinels show. After its alarm the pool, which may
	// be of another model, is bet on no more.
	Watch stats.Cusum
}

// Comparison is a comparison under way: a candidate against the champion, or at
// the gate the champion against the start.
type Comparison struct {
	Subject  string
	Wording  string // the arm that must be better
	Against  string
	Weights  []float64
	Pilot    []stats.Count
	Pool     [][]bool // in this comparison's own order
	Revealed []int
	Fresh    [][]bool // the champion's reps run for this comparison
	Credited []int    // how many of those its baseline already has
	Stale    bool     // the pool is not bet on: the sentinels raised an alarm
	Own      [][]bool // the candidate's reps
	// GuardOwn and GuardBase are "no detour" outcomes by guard cell; the
	// champion's begin with what was known before.
	GuardOwn, GuardBase [][]bool
	// Extra counts guard reps asked for, by objective cell; Detours by tier.
	Extra      []int
	Detours    map[string]int
	Controlled bool    // the control reps before a keep are planned
	KeepAt     float64 // evidence a keep needs
	D0         float64 // the rise the evidence speaks against
	Share      int     // sessions left per candidate left when it began
	Sessions   int     // attempts of both arms
	Began      int     // of them before this stage, or before it was gone on with
	Rounds     int     // completed rounds of this stage
	LogE       float64 // of this stage
	// Concurrent says that the stage with both arms fresh is under way; Pooled is
	// then the log evidence of the stage before.
	Concurrent bool
	Pooled     float64
	Path       []PathPoint
	Assessment stats.Assessment
}

// PathPoint is the evidence after one completed round.
type PathPoint struct {
	Sessions   int     `json:"sessions"`
	LogE       float64 `json:"log_e"`
	Concurrent bool    `json:"concurrent,omitempty"`
}

// slot is what has come of one slot so far.
type slot struct {
	attempts int // charged to the retry cap
	recorded int // trials, paused ones included, so that every attempt has an id of its own
	resolved bool
	valid    bool
	pass     bool
	noDetour bool
}

// tries counts the attempts under one wording.
type tries struct{ all, invalid, undelivered, undeliveredEarly int }

// earlyAttempts is how many first attempts decide whether a wording's plugin
// or hook is broken.
const earlyAttempts = 5

// NewState returns the state before any event.
func NewState() *State {
	return &State{
		Phase: Preflight, slots: make(map[string]*slot), reps: make(map[string]int), attempts: make(map[string]*tries),
		sessions: make(map[string]string), owners: make(map[string]string),
	}
}

// Sessions counts the sessions charged to the budget: every attempt, but for those
// that never reached the service where the settings spare them.
func (s *State) Sessions() int { return len(s.Trials) - s.unreached }

// Unreached counts the sessions that are not charged because they never reached the
// service. Caps of attempts and shares of invalid sessions count them all the same.
func (s *State) Unreached() int { return s.unreached }

// Find returns the progress of a candidate, or nil.
func (s *State) Find(id string) *Progress {
	i := slices.IndexFunc(s.Progress, func(p *Progress) bool { return p.Candidate.ID == id })
	if i < 0 {
		return nil
	}
	return s.Progress[i]
}

// Waiting returns the candidates without a verdict, in queue order.
func (s *State) Waiting() []candidates.Candidate {
	var out []candidates.Candidate
	for _, p := range s.Progress {
		if p.Decided == nil {
			out = append(out, p.Candidate)
		}
	}
	return out
}

// searchLeft is how many sessions the search may still use.
func (s *State) searchLeft() int {
	return s.Started.Settings.Search().Left(s.Sessions())
}

// decided counts the candidates with a verdict.
func (s *State) decided() int {
	n := 0
	for _, p := range s.Progress {
		if p.Decided != nil {
			n++
		}
	}
	return n
}

// CandidateOf names the candidate a wording came from, or start.
func (s *State) CandidateOf(commit string) string {
	if id, ok := s.owners[commit]; ok {
		return id
	}
	return SubjectStart
}

// round returns the open round, or nil.
func (s *State) round() *Round {
	if !s.open {
		return nil
	}
	return &s.Rounds[len(s.Rounds)-1]
}

// slotOf returns the slot's record, making it on first use.
func (s *State) slotOf(sl harness.Slot) *slot {
	key := sl.Key()
	if s.slots[key] == nil {
		s.slots[key] = &slot{}
	}
	return s.slots[key]
}

// canonical gives the A/A arm the start's name: the bytes are the same.
func (s *State) canonical(wording string) string {
	if wording == s.AAArm && wording != "" {
		return s.Started.Start
	}
	return wording
}

// Budget is how many sessions the campaign may use.
func (s *State) Budget() int { return s.Started.Settings.Budget + s.extra }

func (s *State) triesOf(wording string) *tries {
	wording = s.canonical(wording)
	if s.attempts[wording] == nil {
		s.attempts[wording] = &tries{}
	}
	return s.attempts[wording]
}

// nextSlots gives the next n repetitions of a cell under a wording. taken
// carries the numbers given out earlier in the same plan.
func (s *State) nextSlots(wording string, cell harness.Cell, n int, taken map[string]int) []harness.Slot {
	key := s.repKey(wording, cell)
	out := make([]harness.Slot, n)
	for i := range n {
		taken[key]++
		out[i] = harness.Slot{Wording: wording, Cell: cell, Rep: s.reps[key] + taken[key]}
	}
	return out
}

// repKey is what repetitions are numbered under.
func (s *State) repKey(wording string, cell harness.Cell) string {
	return s.canonical(wording) + " " + cell.String()
}
