package stats

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

func TestCusumByHand(t *testing.T) {
	t.Parallel()
	s, c := DefaultSentinel(), Cusum{}
	for range 4 {
		c = s.Step(c, false, Count{5, 6})
	}
	near(t, "30 down", c.Down, 2.746006, 5e-7)
	near(t, "30 up", c.Up, 0, 0)
	for range 3 {
		c = s.Step(c, false, Count{5, 6})
	}
	if c.Alarm {
		t.Errorf("alarm at %v, want none below 5", c.Down)
	}
	if c = s.Step(c, false, Count{5, 6}); !c.Alarm {
		t.Errorf("no alarm at %v", c.Down)
	}
	for range 30 {
		c = s.Step(c, true, Count{5, 6})
	}
	if !c.Alarm || c.Down != 0 {
		t.Errorf("after passes: got %+v, want the alarm kept and nothing down", c)
	}
}

func TestCusumOfDoubt(t *testing.T) {
	t.Parallel()
	s, before := DefaultSentinel(), Cusum{Up: 1, Down: 2}
	if got := s.Step(before, true, Count{}); got != before {
		t.Errorf("a cell never seen: got %+v, want %+v", got, before)
	}
	if !s.Step(before, true, Count{3, 2}).Alarm || !(Sentinel{Theta: math.NaN(), H: 5}).Step(before, true, Count{1, 2}).Alarm {
		t.Error("damage raises no alarm")
	}
	if !s.Step(Cusum{Up: math.NaN()}, true, Count{1, 2}).Alarm {
		t.Error("evidence that is no number raises no alarm")
	}
}

// Passes for failures mirrors the watch.
func TestCusumMirrors(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		a, b := Cusum{}, Cusum{}
		for range rapid.IntRange(1, 20).Draw(t, "steps") {
			pass, ref := rapid.Bool().Draw(t, "pass"), anyCount(t, "reference")
			a = DefaultSentinel().Step(a, pass, ref)
			b = DefaultSentinel().Step(b, !pass, Count{ref.N - ref.Pass, ref.N})
		}
		near(t, "up", a.Up, b.Down, 1e-9)
		near(t, "down", a.Down, b.Up, 1e-9)
	})
}

func TestCompareWindows(t *testing.T) {
	t.Parallel()
	same := CompareWindows([][]Count{{{1, 2}, {1, 2}, {1, 2}}, {{0, 3}, {0, 3}, {0, 3}}})
	near(t, "alike", same.P, 1, 0)
	// Two windows are one comparison, and in one cell with equal sides that is Fisher's table.
	two := CompareWindows([][]Count{{{5, 8}, {0, 8}}})
	near(t, "two windows", two.P, .025641025641, 1e-11)
	// Three windows of three: the third against the others has 3 of 9 in one way of 84, twice for both ends.
	three := CompareWindows([][]Count{{{0, 3}, {0, 3}, {3, 3}}})
	near(t, "three windows", three.P, 3*1.0/84, 1e-12)
	if three.Window != 2 {
		t.Errorf("got window %d as the odd one, want 2", three.Window)
	}
	// Windows that tried different cells differ in their totals and in nothing else.
	mixed := CompareWindows([][]Count{{{9, 9}, {1, 1}}, {{0, 1}, {0, 9}}})
	if mixed.P != 1 || len(mixed.Warnings) != 1 {
		t.Errorf("other cells: got %+v, want nothing to compare", mixed)
	}
}

func TestCompareWindowsRefuses(t *testing.T) {
	t.Parallel()
	for name, cells := range map[string][][]Count{
		"nothing": nil, "one window": {{{1, 2}}}, "ragged": {{{1, 2}, {1, 2}}, {{1, 2}}}, "no reps": {{{}, {}}},
		"negative": {{{-1, 2}, {1, 2}}}, "too many": {{{1, 9000}, {1, 9000}}},
	} {
		if got := CompareWindows(cells); got.P != 1 || len(got.Warnings) != 1 {
			t.Errorf("%s: got %+v, want p 1 and a warning", name, got)
		}
	}
}
