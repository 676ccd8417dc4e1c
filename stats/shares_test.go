package stats

import (
	"math"
	"strings"
	"testing"
)

func TestShares(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name    string
		weights []float64
		want    []float64
		warning string
	}{
		{"shares already", []float64{.25, 0, .75}, []float64{.25, 0, .75}, ""},
		{"a third three times", []float64{1. / 3, 1. / 3, 1. / 3}, []float64{1. / 3, 1. / 3, 1. / 3}, ""},
		{"percentages", []float64{20, 80}, []float64{.2, .8}, "sum to 100, not 1"},
		{"too large to add up", []float64{math.MaxFloat64, math.MaxFloat64}, []float64{.5, .5}, "not 1"},
		{"negative", []float64{1, -.1}, nil, "weight 1"},
		{"not a number", []float64{math.NaN()}, nil, "weight 0"},
		{"infinite", []float64{math.Inf(1), 1}, nil, "weight 0"},
		{"all zero", []float64{0, 0}, nil, "no weight"},
		{"none", nil, nil, "no weight"},
	} {
		got, warnings := Shares(c.weights)
		if len(got) != len(c.want) || (c.want == nil) != (got == nil) {
			t.Fatalf("%s: got %v, want %v", c.name, got, c.want)
		}
		for i := range got {
			near(t, c.name, got[i], c.want[i], 1e-15)
		}
		if text := strings.Join(warnings, "; "); (text == "") != (c.warning == "") || !strings.Contains(text, c.warning) {
			t.Errorf("%s: got warning %q, want %q", c.name, text, c.warning)
		}
	}
}
