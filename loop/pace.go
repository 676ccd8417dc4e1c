package loop

import "loopd/harness"

// Pace is what valid sessions have cost so far. What broke at its start took no
// time and says nothing about the others.
type Pace struct {
	Sessions int     `json:"sessions"`
	Seconds  float64 `json:"seconds"` // mean wall time of a session, 0 for unknown
	USD      float64 `json:"usd"`     // mean list price, 0 for unknown
}

// PaceOf measures the valid sessions of the campaigns given. Simulated ones say
// nothing about real ones and are left out.
func PaceOf(campaigns ...*State) Pace {
	var p Pace
	priced, seconds, usd := 0, 0.0, 0.0
	for _, s := range campaigns {
		if s.Started.Simulated {
			continue
		}
		for _, t := range s.Trials {
			if t.Seconds <= 0 || t.Class != harness.Valid {
				continue
			}
			p.Sessions++
			seconds += t.Seconds
			if t.CostUSD != nil {
				priced++
				usd += *t.CostUSD
			}
		}
	}
	if p.Sessions > 0 {
		p.Seconds = seconds / float64(p.Sessions)
	}
	if priced > 0 {
		p.USD = usd / float64(priced)
	}
	return p
}
