package loop

import (
	"testing"

	"loopd/harness"
)

func TestPace(t *testing.T) {
	t.Parallel()
	trial := func(seconds float64, usd *float64) Run {
		return Run{Trial: harness.Trial{Class: harness.Valid, Seconds: seconds, CostUSD: usd}}
	}
	cent, dime := .01, .10
	broken := trial(1, nil)
	broken.Class = harness.Startup
	real := &State{Trials: []Run{trial(60, &cent), trial(120, &dime), trial(30, nil), trial(0, nil), broken}}
	simulated := &State{Started: Started{Simulated: true}, Trials: []Run{trial(1, nil)}}
	if got, want := PaceOf(real, simulated), (Pace{Sessions: 3, Seconds: 70, USD: .055}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if got := PaceOf(simulated); got != (Pace{}) {
		t.Errorf("simulated sessions gave %+v, want nothing known", got)
	}
}
