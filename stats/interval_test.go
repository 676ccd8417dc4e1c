package stats

import (
	"fmt"
	"math"
	"testing"

	"pgregory.net/rapid"
)

// reporter is what a test and a property have in common.
type reporter interface {
	Helper()
	Errorf(format string, args ...any)
}

// near fails unless got is want to the digits a published value is given with.
func near(t reporter, what string, got, want, tolerance float64) {
	t.Helper()
	if !(math.Abs(got-want) <= tolerance) {
		t.Errorf("%s: got %.15g, want %.15g", what, got, want)
	}
}

// Published values: Newcombe 1998 tables I and II, and R's prop.test, binom.test and qbeta.
func TestIntervals(t *testing.T) {
	t.Parallel()
	methods := map[string]func(Count, float64) Interval{"wilson": Wilson, "exact": ClopperPearson}
	for _, c := range []struct {
		oracle  int
		method  string
		count   Count
		low, up float64
	}{
		{1, "wilson", Count{81, 263}, .255288519878, .366209576983},
		{2, "wilson", Count{15, 148}, .0623863995307, .160487241723},
		{3, "wilson", Count{0, 20}, 0, .161125158053},
		{4, "wilson", Count{1, 29}, .00611321429276, .171755218793},
		{5, "wilson", Count{5, 8}, .305742394603, .863155714176},
		{5, "wilson", Count{0, 8}, 0, .324407564884},
		{5, "wilson", Count{8, 8}, 1 - .324407564884, 1},
		{6, "exact", Count{81, 263}, .252736745585, .367621922601},
		{7, "exact", Count{15, 148}, .0578440100834, .161650490349},
		{8, "exact", Count{0, 20}, 0, .168433470983},
		{8, "exact", Count{20, 20}, 1 - .168433470983, 1},
		{8, "exact", Count{1, 29}, .00087264688358, .177644295489},
		{9, "exact", Count{5, 8}, .244863216367, .914766585863},
		{9, "exact", Count{0, 8}, 0, .369416647553},
	} {
		got := methods[c.method](c.count, .95)
		near(t, fmt.Sprintf("%d %s low", c.oracle, c.method), got.Low, c.low, 1e-11)
		near(t, fmt.Sprintf("%d %s high", c.oracle, c.method), got.High, c.up, 1e-11)
	}
}

func TestBetaAgainstR(t *testing.T) {
	t.Parallel()
	near(t, "10 qbeta(.5, 5.5, 3.5)", betaQuantile(.5, 5.5, 3.5), .619677223049, 1e-11)
	near(t, "10 the quantile of pbeta(.3, 2, 5)", betaQuantile(.579825, 2, 5), .3, 1e-12)
	near(t, "10 qbeta(.05, 1, 20)", betaQuantile(.05, 1, 20), .00256137877653, 1e-13)
}

func TestNewcombe(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		oracle  int
		a, b    Count
		low, up float64
	}{
		{11, Count{56, 70}, Count{48, 80}, .0524314724, .3338726541},
		{12, Count{9, 10}, Count{3, 10}, .1705227239, .8090179735},
		{13, Count{6, 7}, Count{2, 7}, .0582279275, .8062496375},
		{14, Count{5, 56}, Count{0, 29}, -.0381371479, .1925600139},
		{15, Count{0, 10}, Count{0, 20}, -.1611251581, .2775327999},
		{15, Count{10, 10}, Count{0, 20}, .6790860371, 1},
		{15, Count{10, 10}, Count{0, 10}, .6075093504, 1},
	} {
		got := Newcombe(c.a, c.b, .95)
		near(t, fmt.Sprintf("%d newcombe low", c.oracle), got.Low, c.low, 1e-9)
		near(t, fmt.Sprintf("%d newcombe high", c.oracle), got.High, c.up, 1e-9)
	}
}

func anyCount(t *rapid.T, label string) Count {
	n := rapid.IntRange(0, 40).Draw(t, label+" n")
	return Count{Pass: rapid.IntRange(0, n).Draw(t, label+" pass"), N: n}
}

func TestSwappingArmsNegatesTheDifference(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		a, b := anyCount(t, "a"), anyCount(t, "b")
		there, back := Newcombe(a, b, .9), Newcombe(b, a, .9)
		if math.Abs(there.Low+back.High) > 1e-12 || math.Abs(there.High+back.Low) > 1e-12 {
			t.Errorf("%v against %v: got %v, the other way %v", a, b, there, back)
		}
		cells := []Cell{{Cand: a, Full: b, Weight: 1}, {Cand: b, Full: b, Weight: 3}}
		swapped := []Cell{{Cand: b, Full: a, Weight: 1}, {Cand: b, Full: b, Weight: 3}}
		d, ok := MeanDifference(cells)
		e, okBack := MeanDifference(swapped)
		if ok != okBack || math.Abs(d+e) > 1e-12 {
			t.Errorf("mean difference: got %v, the other way %v", d, e)
		}
	})
}

func TestMeanDifference(t *testing.T) {
	t.Parallel()
	got, ok := MeanDifference([]Cell{
		{Cand: Count{3, 4}, Full: Count{1, 4}, Weight: 1},
		{Cand: Count{1, 5}, Full: Count{2, 5}, Weight: 3},
		{Weight: 0},
	})
	if !ok {
		t.Fatal("no difference where every weighted cell has reps")
	}
	near(t, "difference", got, .25*.5-.75*.2, 1e-15)
	if _, ok := MeanDifference([]Cell{{Cand: Count{1, 1}, Weight: 1}}); ok {
		t.Error("a difference from a champion without reps")
	}
}

func TestTheOrderOfOutcomesDoesNotMatter(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		outcomes := rapid.SliceOf(rapid.Bool()).Draw(t, "outcomes")
		shuffled := rapid.Permutation(outcomes).Draw(t, "shuffled")
		cut := rapid.IntRange(0, len(outcomes)).Draw(t, "cut")
		want := Count{N: len(outcomes)}
		for _, pass := range outcomes {
			if pass {
				want.Pass++
			}
		}
		if got := Tally(shuffled[:cut]).Add(Tally(shuffled[cut:])); got != want {
			t.Errorf("got %v, want %v", got, want)
		}
	})
}

func TestIntervalsHoldTheRateAndStayInside(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		c := anyCount(t, "count")
		level := rapid.Float64Range(.5, .999).Draw(t, "level")
		rate, ok := c.Rate()
		for name, iv := range map[string]Interval{"wilson": Wilson(c, level), "exact": ClopperPearson(c, level)} {
			if !(iv.Low >= 0 && iv.Low <= iv.High && iv.High <= 1) {
				t.Errorf("%s of %v at %v: got %v", name, c, level, iv)
			}
			if ok && (rate < iv.Low || rate > iv.High) {
				t.Errorf("%s of %v at %v: got %v, which leaves out the rate", name, c, level, iv)
			}
		}
	})
}
