package stats

import (
	"math"
	"testing"
)

func TestMeanInterval(t *testing.T) {
	t.Parallel()
	one := Pair{A: Count{56, 70}, B: Count{48, 80}}
	d, iv, ok := MeanInterval([]Pair{one}, []float64{1}, .95)
	if want := Newcombe(one.A, one.B, .95); !ok || math.Abs(d-.2) > 1e-12 || math.Abs(iv.Low-want.Low) > 1e-12 || math.Abs(iv.High-want.High) > 1e-12 {
		t.Errorf("one cell: got %v in %v, want .2 in %v", d, iv, want)
	}
	swapped := Pair{A: one.B, B: one.A}
	if d, both, _ := MeanInterval([]Pair{one, swapped}, []float64{1, 1}, .95); math.Abs(d) > 1e-12 || math.Abs(both.Low+both.High) > 1e-12 || both.High >= iv.High-iv.Low {
		t.Errorf("a cell and its mirror: got %v in %v, want 0 in the middle of a narrower interval", d, both)
	}
	if d, only, _ := MeanInterval([]Pair{one, {}}, []float64{2, 0}, .95); math.Abs(d-.2) > 1e-12 || only != iv {
		t.Errorf("a cell without weight: got %v in %v, want the same as without it", d, only)
	}
}

func TestMeanIntervalOfNothing(t *testing.T) {
	t.Parallel()
	one := []Pair{{A: Count{1, 2}, B: Count{1, 2}}}
	for name, weights := range map[string][]float64{
		"no weight": {0}, "negative": {-1}, "not a number": {math.NaN()}, "infinite": {math.Inf(1)}, "too many": {1, 1}, "none": nil,
	} {
		if _, iv, ok := MeanInterval(one, weights, .95); ok || iv != (Interval{-1, 1}) {
			t.Errorf("%s: got %v, %v, want nothing known", name, iv, ok)
		}
	}
	if _, _, ok := MeanInterval([]Pair{{A: Count{1, 2}}}, []float64{1}, .95); ok {
		t.Error("an arm without a rep: want nothing known")
	}
}
