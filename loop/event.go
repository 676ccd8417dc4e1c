package loop

import (
	"encoding/json"
	"fmt"
	"time"

	"loopd/candidates"
	"loopd/frozen"
	"loopd/harness"
	"loopd/stats"
)

// Kind names an event in the ledger.
type Kind string

// The kinds of event, in the order a campaign meets them.
const (
	KindStarted   Kind = "campaign.started"
	KindQueued    Kind = "candidate.queued"
	KindCommitted Kind = "candidate.committed"
	KindPlanned   Kind = "round.planned"
	KindRecorded  Kind = "trial.recorded"
	KindClosed    Kind = "round.closed"
	KindDecided   Kind = "verdict.reached"
	KindPaused    Kind = "campaign.paused"
	KindResumed   Kind = "campaign.resumed"
	KindHalted    Kind = "campaign.halted"
	KindEnded     Kind = "campaign.ended"
	KindUnparked  Kind = "candidate.unparked"
	KindFinished  Kind = "search.finished"
	KindExtended  Kind = "campaign.extended"
	KindRescored  Kind = "campaign.rescored"
	KindVetoed    Kind = "promotion.vetoed"
	KindAdopted   Kind = "promotion.adopted"
	// KindJudgeTested comes before the pilot.
	KindJudgeTested Kind = "judge.tested"
	// KindProposed comes in the search, where nothing waits.
	KindProposed Kind = "proposal.made"
)

// Event is one entry of the ledger: when, and what.
type Event struct {
	Time    time.Time
	Payload Payload
}

// Payload is the content of an event. The set is closed.
type Payload interface{ Kind() Kind }

// Started opens a campaign and fixes everything that may not change in it.
type Started struct {
	Campaign   string `json:"campaign"`
	Plugin     string `json:"plugin"`
	Instrument string `json:"instrument"`
	// Parts are the digests the instrument is made of, by name.
	Parts     map[string]string `json:"parts,omitempty"`
	Seal      frozen.Digest     `json:"seal"`
	Start     string            `json:"start"` // commit of the starting wording
	Base      string            `json:"base"`  // the user's commit it was taken from
	Agent     string            `json:"agent"`
	Simulated bool              `json:"simulated"`
	Objective []harness.Cell    `json:"objective"`
	Guards    []harness.Cell    `json:"guards"`
	// Controls are read beside the metric and never enter it; those listed in
	// Impossible must never pass axis b.
	Controls   []harness.Cell `json:"controls,omitempty"`
	Impossible []harness.Cell `json:"impossible,omitempty"`
	// Pairs says what a control is read beside, by the control's scenario.
	Pairs map[string]Pair `json:"pairs,omitempty"`
	// Reserve are read once, after the gate, and decide nothing.
	Reserve []harness.Cell `json:"reserve,omitempty"`
	// Practice are run once in the pilot, to be shown to a proposer; none where
	// nobody proposes who reads them. No verdict looks at them.
	Practice []harness.Cell  `json:"practice,omitempty"`
	NotRun   []harness.Unrun `json:"not_run,omitempty"` // and so outside the metric
	// Judged are the scenarios of the metric and the guards that may ask a judge,
	// and Gold how many gold items test it first; 0 tests nothing.
	Judged   []string `json:"judged,omitempty"`
	Gold     int      `json:"gold,omitempty"`
	Settings Settings `json:"settings"`
}

// Pair is what a control is read beside: the scenario that asks the same, and
// what the control lacks of it, in words; empty where the suite does not say.
type Pair struct {
	Scenario string `json:"scenario"`
	Lacks    string `json:"lacks,omitempty"`
}

// Queued adds a candidate to the queue.
type Queued struct {
	Candidate candidates.Candidate `json:"candidate"`
}

// Committed says that a candidate passed the lint and which commit holds it.
type Committed struct {
	Candidate string `json:"candidate"`
	Commit    string `json:"commit"`
	Ref       string `json:"ref"`
	Parent    string `json:"parent"` // the champion it was applied to
}

// Planned fixes a round before its first session.
type Planned struct {
	Round Round `json:"round"`
}

// Recorded is one trial that came back, valid or not.
type Recorded struct {
	Trial harness.Trial `json:"trial"`
}

// Closed says what a completed round added. The numbers can be recomputed from
// the events before it; they are kept so that anyone can check them.
type Closed struct {
	Round      int               `json:"round"`
	Seen       []stats.Seen      `json:"seen,omitempty"`
	LogE       float64           `json:"log_e"`
	Assessment *stats.Assessment `json:"assessment,omitempty"`
	// AA is set for the pilot: the start's bytes under two labels.
	AA *stats.AA `json:"aa,omitempty"`
}

// Decided is the verdict on a candidate.
type Decided struct {
	Candidate string               `json:"candidate"`
	Verdict   Verdict              `json:"verdict"`
	Reason    Reason               `json:"reason,omitempty"`
	EValue    *float64             `json:"e_value"` // nil when no session was run
	Sessions  int                  `json:"sessions"`
	Findings  []candidates.Finding `json:"findings,omitempty"` // of the lint
	Note      string               `json:"note,omitempty"`     // such as the cell a veto rests on
	// ConcurrentE is the evidence of the stage with both arms fresh.
	ConcurrentE *float64 `json:"concurrent_e,omitempty"`
}

// Unparked goes on with a candidate that was left undecided.
type Unparked struct {
	Candidate string `json:"candidate"`
}

// Finished ends the search at a person's word; the gate is next.
type Finished struct{}

// Extended gives a gate that ran out of budget more sessions.
type Extended struct {
	Sessions int `json:"sessions"`
}

// Paused stops the campaign until something lifts; it continues by itself or
// with the next run.
type Paused struct {
	Reason string        `json:"reason"`
	Class  harness.Class `json:"class,omitempty"` // of the trial that met the limit
	Until  time.Time     `json:"until,omitzero"`  // when the limit lifts, zero for unknown
	// Battery: the machine runs on its battery, and the pause lifts when it does
	// no more.
	Battery bool `json:"battery,omitempty"`
	// ByHand: a person paused it, and a person's word lifts it.
	ByHand bool `json:"by_hand,omitempty"`
}

// Lifts reports whether the pause is over by itself after some time, or once the
// mains or the room on the disk are back.
func (p Paused) Lifts() bool {
	return p.Battery || p.Class == harness.Disk || !p.Until.IsZero() || p.Class == harness.RateLimit || p.Class == harness.UsageLimit
}

// Resumed ends a pause, or a halt that lifts.
type Resumed struct{}

// Halted stops the campaign until a person acts.
type Halted struct {
	Reason string         `json:"reason"`
	Class  harness.Class  `json:"class,omitempty"` // of the trial that halted it
	Deltas []frozen.Delta `json:"deltas,omitempty"`
	// ByHand: a person halted it, and a person's word lifts it.
	ByHand bool `json:"by_hand,omitempty"`
}

// Ended closes the campaign.
type Ended struct {
	Outcome Outcome `json:"outcome"`
	Why     string  `json:"why"`
	// EValue is the gate's, nil when no gate was run.
	EValue *float64 `json:"e_value"`
	// Open: the gate's evidence may go on when the budget is extended.
	Open bool `json:"open,omitempty"`
	// ByHand: what measures was changed, which no event before it says.
	ByHand bool `json:"by_hand,omitempty"`
}

// Kind returns the event's name in the ledger.
func (Started) Kind() Kind { return KindStarted }

// Kind returns the event's name in the ledger.
func (Queued) Kind() Kind { return KindQueued }

// Kind returns the event's name in the ledger.
func (Committed) Kind() Kind { return KindCommitted }

// Kind returns the event's name in the ledger.
func (Planned) Kind() Kind { return KindPlanned }

// Kind returns the event's name in the ledger.
func (Recorded) Kind() Kind { return KindRecorded }

// Kind returns the event's name in the ledger.
func (Closed) Kind() Kind { return KindClosed }

// Kind returns the event's name in the ledger.
func (Decided) Kind() Kind { return KindDecided }

// Kind returns the event's name in the ledger.
func (Paused) Kind() Kind { return KindPaused }

// Kind returns the event's name in the ledger.
func (Resumed) Kind() Kind { return KindResumed }

// Kind returns the event's name in the ledger.
func (Halted) Kind() Kind { return KindHalted }

// Kind returns the event's name in the ledger.
func (Ended) Kind() Kind { return KindEnded }

// Kind returns the event's name in the ledger.
func (Unparked) Kind() Kind { return KindUnparked }

// Kind returns the event's name in the ledger.
func (Finished) Kind() Kind { return KindFinished }

// Kind returns the event's name in the ledger.
func (Extended) Kind() Kind { return KindExtended }

// Decode reads a payload back from the ledger.
func Decode(kind Kind, data []byte) (Payload, error) {
	switch kind {
	case KindStarted:
		return decode[Started](kind, data)
	case KindQueued:
		return decode[Queued](kind, data)
	case KindCommitted:
		return decode[Committed](kind, data)
	case KindPlanned:
		return decode[Planned](kind, data)
	case KindRecorded:
		return decode[Recorded](kind, data)
	case KindClosed:
		return decode[Closed](kind, data)
	case KindDecided:
		return decode[Decided](kind, data)
	case KindPaused:
		return decode[Paused](kind, data)
	case KindResumed:
		return decode[Resumed](kind, data)
	case KindHalted:
		return decode[Halted](kind, data)
	case KindEnded:
		return decode[Ended](kind, data)
	case KindUnparked:
		return decode[Unparked](kind, data)
	case KindFinished:
		return decode[Finished](kind, data)
	case KindExtended:
		return decode[Extended](kind, data)
	case KindRescored:
		return decode[Rescored](kind, data)
	case KindVetoed:
		return decode[Vetoed](kind, data)
	case KindAdopted:
		return decode[Adopted](kind, data)
	case KindJudgeTested:
		return decode[JudgeTested](kind, data)
	case KindProposed:
		return decode[Proposed](kind, data)
	}
	return nil, fmt.Errorf("decode event: unknown kind %q", kind)
}

func decode[P Payload](kind Kind, data []byte) (Payload, error) {
	var p P
	if err := json.Unmarshal(data, &p); err != nil {
		return nil, fmt.Errorf("decode event %s: %w", kind, err)
	}
	return p, nil
}
