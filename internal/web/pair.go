package web

import (
	"net/http"
	"regexp"
	"slices"
)

// pairData is two sessions side by side.
type pairData struct {
	Cell   string
	Sides  [2]trialData
	Rows   []pairRow
	Differ int // the first row at which the two do something else, from 1; 0 for none
}

// pairRow is the n-th call of each side.
type pairRow struct {
	N    int
	A, B *turn
}

// same says whether both did the same.
func (p pairRow) same() bool {
	if p.A == nil || p.B == nil || p.A.Kind != p.B.Kind || p.A.Name != p.B.Name {
		return false
	}
	return p.A.Kind == "text" || withoutPlace(p.A.Text) == withoutPlace(p.B.Text)
}

func (s *Server) pairPage(r *http.Request) (string, any, error) {
	var d pairData
	var calls [2][]turn
	for i, id := range []string{r.PathValue("a"), r.PathValue("b")} {
		t, err := s.session(r.Context(), id)
		if err != nil {
			return "", nil, err
		}
		side := s.trialOf(t, 1, 0)
		d.Sides[i], d.Cell = side, t.Spec.Slot.Cell.String()
		calls[i] = slices.DeleteFunc(slices.Clone(side.Turns), func(t turn) bool { return t.Kind != "tool" && t.Kind != "text" })
	}
	if d.Sides[0].Trial.Spec.Slot.Cell != d.Sides[1].Trial.Spec.Slot.Cell {
		return "", nil, &problem{http.StatusBadRequest, "the two sessions are of different cells"}
	}
	for i := range max(len(calls[0]), len(calls[1])) {
		row := pairRow{N: i + 1}
		if i < len(calls[0]) {
			row.A = &calls[0][i]
		}
		if i < len(calls[1]) {
			row.B = &calls[1][i]
		}
		if !row.same() && d.Differ == 0 {
			d.Differ = i + 1
		}
		d.Rows = append(d.Rows, row)
	}
	return "Pair in " + d.Cell, d, nil
}

// boxes are the places of sandboxes.
var boxes = regexp.MustCompile(`/tmp/[a-z]{8,}/[a-z]{8,}/`)

// withoutPlace takes the names of the sandboxes out of a call: they differ by
// chance.
func withoutPlace(text string) string { return boxes.ReplaceAllString(text, "/") }
