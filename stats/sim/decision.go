package sim

import (
	"context"
	"math"

	"loopd/stats"
)

// Setting is how one decision is taken.
type Setting struct {
	// Pilot and Pool are the champion's reps a cell that are there before, and not charged.
	Pilot, Pool int
	// Threshold, Eta and Cap are the rules; an Eta of 0 is never futile.
	Threshold, Eta float64
	Cap            int
	Guard          bool
	// Against is the rise the evidence speaks against: 0, or NaN for the candidate's true one.
	Against float64
}

// DefaultSetting is the setting the figures per decision are given for.
func DefaultSetting() Setting {
	return Setting{Pilot: 2, Pool: 6, Threshold: 5, Eta: .30, Cap: 250, Guard: true}
}

// Decisions is what many decisions of one kind came to.
type Decisions struct {
	Kept     stats.Count
	Ends     map[Ending]int
	Sessions Sum
}

func (d *Decisions) merge(o Decisions) {
	d.Kept = d.Kept.Add(o.Kept)
	d.Sessions.merge(o.Sessions)
	if d.Ends == nil {
		d.Ends = make(map[Ending]int)
	}
	for k, n := range o.Ends {
		d.Ends[k] += n
	}
}

func (d *Decisions) add(end Ending, sessions int) {
	if d.Ends == nil {
		d.Ends = make(map[Ending]int)
	}
	d.Ends[end]++
	d.Kept.N++
	if end == Kept {
		d.Kept.Pass++
	}
	d.Sessions.Add(float64(sessions))
}

// Detect plays decisions on candidates with one effect and says how many are kept and what they cost. grid is asked
// for the champion of each run.
func Detect(ctx context.Context, grid Source, effect Effect, s Setting, runs int, o Options) Decisions {
	return collect(ctx, o, "decision", runs, func(e *engine, d *Decisions) {
		c := e.candidate(grid, effect, s)
		end := e.decide(c, noLimit)
		d.add(end, c.sessions)
	})
}

// candidate draws a world and sets its candidate against its champion.
func (e *engine) candidate(grid Source, effect Effect, s Setting) *comparison {
	champion := grid(e)
	drawn := effect.Draw(champion, e.rng)
	c := newComparison(drawn.Rates, champion.Rates, drawn.Target, e.record(champion.Rates, s.Pilot, s.Pool))
	c.guarded = s.Guard
	c.Rules = stats.NewRules(s.Threshold, 0, c.Cells)
	c.Rules.Eta, c.Rules.Cap = s.Eta, s.Cap
	if c.cfg.D0 = s.Against; math.IsNaN(s.Against) {
		c.cfg.D0 = Mean(drawn.Rates) - Mean(champion.Rates)
	}
	return c
}

// record measures a champion.
func (e *engine) record(rates []float64, pilot, pool int) baseline {
	b := newBaseline(len(rates))
	for i, r := range rates {
		b.pilot[i], b.pool[i] = e.outcomes(r, pilot), e.outcomes(r, pool)
	}
	return b
}

// Source gives the champion's grid of one run.
type Source func(*engine) Grid

// From is the source of a named grid.
func From(name GridName) Source {
	if name == DrawnGrid {
		return func(e *engine) Grid { return Named(name, e.rng) }
	}
	return Of(Named(name, nil))
}

// Of is the source of one grid.
func Of(g Grid) Source { return func(*engine) Grid { return g } }

// Peaks says how often the evidence came to 5 and to 20 at any time.
type Peaks struct {
	Five, Twenty stats.Count
	Sessions     Sum
}

func (p *Peaks) merge(o Peaks) {
	p.Five, p.Twenty = p.Five.Add(o.Five), p.Twenty.Add(o.Twenty)
	p.Sessions.merge(o.Sessions)
}

// Peak plays decisions that nothing but the evidence or the cap ends, and says how often the evidence reached 5 and 20.
func Peak(ctx context.Context, grid Source, effect Effect, s Setting, runs int, o Options) Peaks {
	return collect(ctx, o, "peak", runs, func(e *engine, p *Peaks) {
		c := e.candidate(grid, effect, s)
		top := math.Inf(-1)
		for c.sessions < s.Cap && !stats.Reached(top, 20) {
			if _, ok := e.round(c, noLimit); !ok {
				break
			}
			top = max(top, c.LogE)
		}
		p.Five = p.Five.Add(tally(stats.Reached(top, 5)))
		p.Twenty = p.Twenty.Add(tally(stats.Reached(top, 20)))
		p.Sessions.Add(float64(c.sessions))
	})
}

func tally(yes bool) stats.Count { return stats.Tally([]bool{yes}) }

// Means is the mean evidence of many decisions.
type Means struct{ Evidence, Sessions Sum }

func (m *Means) merge(o Means) {
	m.Evidence.merge(o.Evidence)
	m.Sessions.merge(o.Sessions)
}

// MeanEvidence returns the mean evidence after a number of rounds, which a fair bet keeps at 1 or below.
func MeanEvidence(ctx context.Context, grid Source, effect Effect, s Setting, rounds, runs int, o Options) Means {
	return collect(ctx, o, "mean", runs, func(e *engine, m *Means) {
		c := e.candidate(grid, effect, s)
		for range rounds {
			e.round(c, noLimit)
		}
		m.Evidence.Add(math.Exp(c.LogE))
		m.Sessions.Add(float64(c.sessions))
	})
}

// Confirm plays gates alone: a wording with one effect against the start, on the cell it declares or on all, with so
// many sessions. Kept counts those that reached 20; Sessions are those that were bet.
func Confirm(ctx context.Context, grid Source, effect Effect, pilot, sessions, runs int, o Options) Decisions {
	return collect(ctx, o, "gate", runs, func(e *engine, d *Decisions) {
		c := e.candidate(grid, effect, Setting{Pilot: pilot})
		end := Broke
		if e.confirm(c, sessions, promoteAt) {
			end = Kept
		}
		d.add(end, c.sessions)
	})
}
