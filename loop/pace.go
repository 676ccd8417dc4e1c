package loop

// Pace is what sessions have cost so far, every attempt counted, because an
// invalid one takes its time too.
type Pace struct {
	Sessions int     `json:"sessions"`
	Seconds  float64 `json:"seconds"` // mean wall time of a session, 0 for unknown
	USD      float64 `json:"usd"`     // mean list price, 0 for unknown
}

// PaceOf measures the sessions of the campaigns given. Simulated ones say
// nothing about real ones and are left out, as are sessions that never started.
func PaceOf(campaigns ...*State) Pace {
	var p Pace
	priced, seconds, usd := 0, 0.0, 0.0
	for _, s := range campaigns {
		if s.Started.Simulated {
			continue
		}
		for _, t := range s.Trials {
			if t.Seconds <= 0 {
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
