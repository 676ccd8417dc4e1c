package harness

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// Runs finds a run exactly where comparing with each text would.
func TestRunsAgreeWithOverlap(t *testing.T) {
	words := rapid.SampledFrom([]string{"tide", "Tide", "lamp", "é", "ÉÀ", "7", "x1", "the", "ſ", "İ"})
	between := rapid.SampledFrom([]string{" ", "\n", " - ", "…", ".", "\xff", "\x00"})
	text := rapid.Custom(func(r *rapid.T) string {
		var b strings.Builder
		for range rapid.IntRange(0, 14).Draw(r, "words") {
			b.WriteString(words.Draw(r, "word") + between.Draw(r, "between"))
		}
		return b.String()
	})
	found, not := 0, 0
	rapid.Check(t, func(r *rapid.T) {
		var held []HeldOut
		for range rapid.IntRange(0, 3).Draw(r, "texts") {
			held = append(held, NewHeldOut(text.Draw(r, "held")))
		}
		n, said := rapid.IntRange(1, 4).Draw(r, "n"), text.Draw(r, "said")
		want := false
		for _, h := range held {
			want = want || len(h.Overlap(said, n)) > 0
		}
		if got := NewRuns(held, n).In(said); got != want {
			r.Fatalf("%q in runs of %d: got %t, want %t", said, n, got, want)
		}
		if want {
			found++
		} else {
			not++
		}
	})
	if found == 0 || not == 0 {
		t.Errorf("%d texts with a run and %d without show nothing", found, not)
	}
}

func TestRunsHoldNoText(t *testing.T) {
	r := NewRuns([]HeldOut{NewHeldOut("the secret wish of the keeper")}, 2)
	if s := fmt.Sprintf("%v %+v %#v", r, r, r); strings.Contains(s, "secret") {
		t.Errorf("printed as %s", s)
	}
}
