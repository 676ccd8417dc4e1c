package stats

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

// admissions are the passes and trials of two arms in six strata: a published example in which the arms look very
// different taken together and hardly differ stratum by stratum.
func admissions() []Pair {
	return []Pair{
		{Count{512, 825}, Count{89, 108}}, {Count{353, 560}, Count{17, 25}}, {Count{120, 325}, Count{202, 593}},
		{Count{138, 417}, Count{131, 375}}, {Count{53, 191}, Count{94, 393}}, {Count{22, 373}, Count{24, 341}},
	}
}

// rabbits are five small strata, the first and the last of which say nothing.
func rabbits() []Pair {
	return []Pair{
		{Count{0, 6}, Count{0, 5}}, {Count{3, 6}, Count{0, 6}}, {Count{6, 6}, Count{2, 6}},
		{Count{5, 6}, Count{6, 6}}, {Count{2, 2}, Count{5, 5}},
	}
}

// Published values: R's mantelhaen.test on UCBAdmissions and on the rabbits of its help page.
func TestCMH(t *testing.T) {
	t.Parallel()
	a := CMH(admissions())
	near(t, "16 statistic", a.ChiSquare, 1.52460666044, 1e-10)
	near(t, "16 p", a.P, .216923697056, 1e-11)
	near(t, "16 odds ratio", a.OddsRatio, .904696828259, 1e-11)
	near(t, "16 corrected", a.Corrected, 1.42694622859, 1e-10)
	r := CMH(rabbits())
	near(t, "17 statistic", r.ChiSquare, 5.65714285714, 1e-10)
	near(t, "17 p", r.P, .0173844203521, 1e-12)
	near(t, "17 odds ratio", r.OddsRatio, 7, 1e-12)
	near(t, "17 corrected", r.Corrected, 3.92857142857, 1e-10)
	near(t, "17 corrected p", r.CorrectedP, .0474722551429, 1e-12)
	near(t, "17 z", r.Z, math.Sqrt(5.65714285714), 1e-10)
	near(t, "17 one-sided p", r.Greater, .0173844203521/2, 1e-12)
	if len(a.Warnings)+len(r.Warnings) > 0 || !a.OddsKnown || !r.OddsKnown {
		t.Errorf("got doubts %q and %q", a.Warnings, r.Warnings)
	}
}

func anyPairs(t *rapid.T, most int) []Pair {
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) Pair {
		return Pair{A: anyCount(t, "a"), B: anyCount(t, "b")}
	}), 0, most).Draw(t, "pairs")
}

func TestSwappingArmsMirrorsCMH(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		pairs := anyPairs(t, 6)
		back := make([]Pair, len(pairs))
		for i, c := range pairs {
			back[i] = Pair{A: c.B, B: c.A}
		}
		x, y := CMH(pairs), CMH(back)
		near(t, "z", x.Z, -y.Z, 1e-9)
		near(t, "p", x.P, y.P, 1e-9)
		if len(x.Warnings) == 0 {
			near(t, "one-sided p", x.Greater+y.Greater, 1, 1e-9)
		}
		if x.OddsKnown && y.OddsKnown {
			near(t, "odds ratio", x.OddsRatio*y.OddsRatio, 1, 1e-9)
		}
	})
}

func TestStrataWithoutInformation(t *testing.T) {
	t.Parallel()
	silent := []Pair{{Count{0, 6}, Count{0, 5}}, {Count{2, 2}, Count{5, 5}}, {Count{}, Count{3, 5}}}
	if a, b := CMH(rabbits()[1:4]), CMH(append(silent, rabbits()[1:4]...)); a.Z != b.Z || a.OddsRatio != b.OddsRatio {
		t.Errorf("got %+v with strata that say nothing, want %+v", b, a)
	}
	for name, strata := range map[string][]Pair{
		"no strata": nil, "none that says anything": silent, "a negative count": {{Count{-1, 4}, Count{1, 4}}},
	} {
		got := CMH(strata)
		if len(got.Warnings) != 1 || got.P != 1 || got.Greater != 1 || got.CorrectedP != 1 || got.Z != 0 {
			t.Errorf("%s: got %+v, want p 1 and a warning", name, got)
		}
	}
	if got := CMH([]Pair{{Count{3, 4}, Count{0, 4}}}); got.OddsKnown || got.OddsRatio != 0 {
		t.Errorf("division by zero: got odds ratio %v", got.OddsRatio)
	}
}
