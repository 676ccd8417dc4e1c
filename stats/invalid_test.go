package stats

import "testing"

func TestCompareInvalid(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name           string
		cand, base     Count
		unequal, worse bool
		warnings       int
	}{
		{"none", Count{0, 20}, Count{0, 40}, false, false, 0},
		// 5/8 beside 0/8 has p .0256.
		{"not yet", Count{5, 8}, Count{0, 8}, false, false, 0},
		// 6/8 beside 0/8 has p 2*28/8008 = .007.
		{"worse", Count{6, 8}, Count{0, 8}, true, true, 1},
		{"better", Count{0, 8}, Count{6, 8}, true, false, 1},
		{"everything invalid in both", Count{8, 8}, Count{8, 8}, false, false, 0},
		{"untried", Count{}, Count{0, 8}, false, false, 1},
		{"damaged", Count{9, 8}, Count{0, 8}, false, false, 1},
	} {
		got := CompareInvalid(c.cand, c.base)
		if got.Unequal != c.unequal || got.Worse != c.worse || len(got.Warnings) != c.warnings || !(got.P > 0 && got.P <= 1) {
			t.Errorf("%s: got %+v", c.name, got)
		}
	}
	near(t, "p", CompareInvalid(Count{6, 8}, Count{0, 8}).P, 56./8008, 1e-12)
}
