package sim

import (
	"math"
	"testing"

	"loopd/stats"
)

func near9(t *testing.T, name string, got, want, tolerance float64) {
	t.Helper()
	if !(math.Abs(got-want) <= tolerance) {
		t.Errorf("%s: got %.12g, want %.12g", name, got, want)
	}
}

// Oracle group 26: e-values of the public package for 2x2 tables, blocks of one and one, prior .18.
func TestSafeTable(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		a, b string
		want float64
	}{
		{"1010001", "1011101", 1.09550461976},
		{"00000000", "11111111", 7271.70592775},
		{"00000000", "11011011", 34.30667888},
	} {
		var s SafeTable
		for i := range c.a {
			s.Add(c.a[i] == '1', c.b[i] == '1')
		}
		near9(t, "26 "+c.a+" "+c.b, math.Exp(s.LogE), c.want, 1e-8*c.want)
	}
}

func pairs(n int, passes ...[2]int) []stats.Pair {
	var out []stats.Pair
	for _, p := range passes {
		out = append(out, stats.Pair{A: stats.Count{Pass: p[0], N: n}, B: stats.Count{Pass: p[1], N: n}})
	}
	return out
}

func TestGreedy(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		in   []stats.Pair
		want Call
	}{
		{"one more", pairs(3, [2]int{1, 0}, [2]int{2, 2}), Keep},
		{"as many, elsewhere", pairs(3, [2]int{2, 1}, [2]int{1, 2}), Drop},
		{"fewer", pairs(3, [2]int{0, 1}), Drop},
		{"nothing", nil, Drop},
	} {
		if got := Greedy(c.in); got != c.want {
			t.Errorf("%s: got %s, want %s", c.name, got, c.want)
		}
	}
}

func TestCMH(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		in   []stats.Pair
		want Call
	}{
		{"z 1.78", pairs(10, [2]int{8, 4}), Keep},
		{"z 1.31", pairs(10, [2]int{7, 4}), Drop},
		{"z 1.78 beside a cell that never varies", pairs(10, [2]int{8, 4}, [2]int{10, 10}), Keep},
		{"arms swapped", pairs(10, [2]int{4, 8}), Drop},
		{"nothing varies", pairs(10, [2]int{0, 0}), Drop},
		{"one arm empty", []stats.Pair{{A: stats.Count{Pass: 3, N: 3}}}, Drop},
	} {
		if got := CMH(c.in); got != c.want {
			t.Errorf("%s: got %s, want %s", c.name, got, c.want)
		}
	}
}

func TestSPRT(t *testing.T) {
	t.Parallel()
	s := Stratified()
	for _, c := range []struct {
		llr    float64
		blocks int
		want   Call
	}{
		{2.7726, 3, Keep}, {2.7725, 3, GoOn}, {-1.558, 3, GoOn}, {-1.5582, 3, Drop}, {0, 40, Drop}, {2.8, 40, Keep}, {math.NaN(), 3, Drop},
	} {
		if got := s.Call(c.llr, c.blocks); got != c.want {
			t.Errorf("llr %v after %d: got %s, want %s", c.llr, c.blocks, got, c.want)
		}
	}
	near9(t, "llr", s.LLR(10, .08, .02), 10*.08*.08/.04, 1e-12)
	near9(t, "llr without variance", s.LLR(10, .08, 0), 0, 0)
	mean, variance := ByStrata(pairs(4, [2]int{3, 1}, [2]int{0, 0}))
	x, y, z := 3.5/5, 1.5/5, .5/5
	near9(t, "mean", mean, .25, 1e-12)
	near9(t, "variance", variance, (x*(1-x)+y*(1-y)+2*z*(1-z))/4, 1e-12)
}

func TestBlocks(t *testing.T) {
	t.Parallel()
	var b Blocks
	b.Add(.5)
	if _, _, ok := b.Moments(); ok {
		t.Error("one block has no variance")
	}
	b.Add(.1)
	mean, variance, ok := b.Moments()
	if !ok {
		t.Fatal("two blocks have a variance")
	}
	near9(t, "mean", mean, .3, 1e-12)
	near9(t, "variance", variance, .08, 1e-12)
}

func TestPosterior(t *testing.T) {
	t.Parallel()
	if got := Posterior(stats.Assessment{PHarm: .04}); got != Keep {
		t.Errorf("got %s, want keep", got)
	}
	if got := Posterior(stats.Assessment{PHarm: .05}); got != GoOn {
		t.Errorf("at the bound: got %s, want go_on", got)
	}
	if got := Posterior(stats.Assessment{PHarm: 0, Warnings: []string{"nothing known"}}); got != GoOn {
		t.Errorf("doubt: got %s, want go_on", got)
	}
}
