package stats

// Profile names a rule for keeping candidates in a search. The gate is the same for all of them.
type Profile string

// The profiles.
const (
	Fast      Profile = "fast"      // evidence against the pooled champion
	Strict    Profile = "strict"    // then once more with both arms fresh
	Certified Profile = "certified" // a bound on the share of false keeps
	Scout     Profile = "scout"     // one rep a cell, for small budgets
)

// Profiles lists them, the default first.
func Profiles() []Profile { return []Profile{Fast, Strict, Certified, Scout} }

// Search holds the numbers that decide over a whole campaign. A campaign (package loop) and its simulation
// (package sim) ask it and Stage the same questions, so that what is simulated is what decides.
type Search struct {
	Profile       Profile
	Budget        int     // in sessions
	GateShare     float64 // part of the budget kept for the gate
	KeepAt        float64 // E of a keep
	KeepFDR       float64 // bound on the share of false keeps under Certified
	MaxCandidates int     // the budget of the search is shared among so many
}

// Reserve is how many sessions of the budget the search may not touch.
func (s Search) Reserve() int { return int(s.GateShare * float64(s.Budget)) }

// Left is how many sessions the search may still use.
func (s Search) Left(used int) int { return s.Budget - s.Reserve() - used }

// Share is how many of them one candidate may use when so many have been decided.
func (s Search) Share(used, decided int) int { return s.Left(used) / max(s.MaxCandidates-decided, 1) }

// NextKeepAt is the evidence that the tried-th candidate, counted from 1, needs for a keep. Under Certified it falls
// with every keep, so that the expected share of false keeps stays bounded however the candidates depend on each
// other; beyond the candidates among which the error is shared it is infinite.
func (s Search) NextKeepAt(tried, kept int) float64 {
	if s.Profile != Certified {
		return s.KeepAt
	}
	return 1 / ELOND(SpendEvenly, s.KeepFDR, tried, s.MaxCandidates, kept)
}

// NewRules says when a comparison ends that needs so much evidence and may use so many sessions.
func NewRules(keepAt float64, share int, cells []Cell) Rules {
	weighted := 0
	for _, c := range cells {
		if c.Weight > 0 {
			weighted++
		}
	}
	eta, limit := Limits(share, 1)
	return Rules{Threshold: keepAt, Eta: eta, Cap: limit, MinReps: MinReps(weighted)}
}

// Stage is a comparison under way, in counts.
type Stage struct {
	Cells []Cell
	// Extra is how many guard reps each cell has got.
	Extra []int
	// LogE, Rounds and Sessions are those of the present stage, Assessment is on the full counts.
	LogE       float64
	Rounds     int
	Sessions   int
	Assessment Assessment
	// Rules are those of the first stage; Concurrent is the second, with both arms fresh.
	Rules      Rules
	Concurrent bool
}

// Look says what the last completed round calls for.
func (s Stage) Look() Look {
	rules := s.Rules
	if s.Concurrent {
		rules = ConcurrentRules()
	}
	reps := 0
	for _, c := range s.Cells {
		if c.Weight > 0 {
			reps += c.Cand.N
		}
	}
	return rules.Look(Progress{LogE: s.LogE, Rounds: s.Rounds, Sessions: s.Sessions, Reps: reps, Assessment: s.Assessment})
}

// Rise is the weighted mean rise over the cells in which both arms have a rep, and false where there is none. It is
// what Scout goes by.
func (s Stage) Rise() (float64, bool) {
	var measured []Cell
	for _, c := range s.Cells {
		if c.Cand.N > 0 && c.Full.N > 0 {
			measured = append(measured, c)
		}
	}
	return MeanDifference(measured)
}

// How many reps a cell that is not bet on gets before it may be cleared: of the candidate before a keep, of each arm
// at the gate.
const (
	unbetReps = 2
	gateReps  = 3
)

// Ask is how many more reps of either arm a guard wants in a cell.
type Ask struct{ Cand, Base int }

// Fall is a cell that vetoes a keep, and the chance that it fell as far as the guard forbids.
type Fall struct {
	Cell   int
	Chance float64
}

// Chance is the chance that the candidate's rate is more than margin below the champion's: HarmProb, or what
// remembers its answers.
type Chance func(cand, base Count, margin float64) float64

// Guard looks for a collapsed cell in a candidate that has the evidence for a keep. It returns the reps it wants in
// each cell, none where all are clear, or the first cell that vetoes.
func (s Stage) Guard(chance Chance) ([]Ask, *Fall) {
	return s.guard(chance, func(i int) (Ask, bool) {
		if s.Cells[i].Weight == 0 && s.Cells[i].Cand.N < unbetReps && s.Extra[i] < unbetReps {
			return Ask{Cand: unbetReps - s.Extra[i]}, false
		}
		return Ask{}, true
	})
}

// GuardGate does the same at the gate, in the cells that it does not bet on.
func (s Stage) GuardGate(chance Chance) ([]Ask, *Fall) {
	return s.guard(chance, func(i int) (Ask, bool) {
		switch {
		case s.Cells[i].Weight > 0:
			return Ask{}, false
		case s.Extra[i] < gateReps:
			return Ask{gateReps - s.Extra[i], gateReps - s.Extra[i]}, false
		}
		return Ask{}, true
	})
}

// guard asks the collapse guard about the cells that first does not settle.
func (s Stage) guard(chance Chance, first func(i int) (ask Ask, look bool)) ([]Ask, *Fall) {
	g, asks := CollapseGuard(), make([]Ask, len(s.Cells))
	for i, c := range s.Cells {
		ask, look := first(i)
		if asks[i] = ask; !look {
			continue
		}
		p := chance(c.Cand, c.Full, g.Margin)
		switch g.At(p, c.Cand, c.Full, s.Extra[i]) {
		case GuardVeto:
			return nil, &Fall{i, p}
		case GuardAsk:
			asks[i] = Ask{Cand: 1}
		case GuardAskBoth:
			asks[i] = Ask{1, 1}
		}
	}
	return asks, nil
}

// PilotOf is how many of a new champion's own n outcomes become its pilot; the rest are its pool. Scout has no pool:
// what was seen is the record to beat.
func (s Search) PilotOf(n int) int {
	if s.Profile == Scout {
		return n
	}
	return (n + 2) / 3
}
