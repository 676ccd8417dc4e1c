package harness

// Outcome is what came of looking at one named thing.
type Outcome string

// The outcomes. Invalid means the instrument failed and never enters a rate;
// not_run means there was nothing to look at.
const (
	Pass    Outcome = "pass"
	Fail    Outcome = "fail"
	Invalid Outcome = "invalid"
	NotRun  Outcome = "not_run"
)

// The names of the two axes, as checks of an unprompted trial.
const (
	AxisA = "axis_a" // consulted the records system without being told to
	AxisB = "axis_b" // acted on, or wrote, the specific right thing
)

// Evidence points at the transcript line (from 1) and content block that a
// check rests on. Block is empty when the line has none.
type Evidence struct {
	Line  int    `json:"line"`
	Block string `json:"block,omitempty"`
	What  string `json:"what"`
}

// Check is one named thing looked at, with the reason and what it rests on.
type Check struct {
	Name       string     `json:"name"`
	Outcome    Outcome    `json:"outcome"`
	Reason     string     `json:"reason"` // a short snake_case word, or empty on a plain pass
	Evidence   []Evidence `json:"evidence,omitempty"`
	NearMisses []Evidence `json:"near_misses,omitempty"`
	// Failed are the places of the expectations that did not hold, such as
	// expect.b[1]; empty where the check did not fail by one.
	Failed []string `json:"failed,omitempty"`
	// Findings say in words what was found in a document that has no lines.
	Findings []string `json:"findings,omitempty"`
}

// Kind is the kind of harness a result came from. Kinds are never mixed.
type Kind string

// The harness kinds.
const (
	Unprompted Kind = "unprompted"
	Trace      Kind = "trace"
	RepoState  Kind = "repostate"
)

// Result is the outcome of one case, of any harness kind.
type Result struct {
	Kind    Kind               `json:"kind"`
	Case    string             `json:"case"`
	Outcome Outcome            `json:"outcome"`
	Checks  []Check            `json:"checks"`
	Metrics map[string]float64 `json:"metrics,omitempty"`
	// JudgedBy is "file" when the end state decided axis b, "judge" when a
	// judge did, and empty when the transcript alone did.
	JudgedBy string `json:"judged_by,omitempty"`
}

// Check returns the check of that name, or one that was not run.
func (r Result) Check(name string) Check {
	for _, c := range r.Checks {
		if c.Name == name {
			return c
		}
	}
	return Check{Name: name, Outcome: NotRun}
}

// Reasons lists the reasons of all checks that did not pass, in order.
func (r Result) Reasons() []string {
	var out []string
	for _, c := range r.Checks {
		if c.Outcome != Pass && c.Reason != "" {
			out = append(out, c.Reason)
		}
	}
	return out
}
