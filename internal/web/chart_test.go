package web

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"math"
	"strings"
	"testing"

	"loopd/internal/testenv"
)

func draws(t *testing.T, c Chart) string {
	t.Helper()
	a, err := c.SVG()
	testenv.Must(t, err)
	if b, err := c.SVG(); err != nil || !bytes.Equal(a, b) {
		t.Error("the same numbers gave other bytes")
	}
	for d := xml.NewDecoder(bytes.NewReader(a)); ; {
		if _, err := d.Token(); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatalf("no XML: %v", err)
		}
	}
	return string(a)
}

func TestCharts(t *testing.T) {
	t.Parallel()
	bars := draws(t, Chart{Title: "false keeps", Bars: []Bar{{"one rep", .9, .85, .95}, {"loopd", 0, 0, .01}}})
	lines := draws(t, Chart{Title: "kept", X: "rise", Lines: []Line{{"three reps", []float64{0, .1}, []float64{.4, .9}}, {"loopd", []float64{0, .1}, []float64{.02, .5}}}})
	for text, want := range map[string][]string{bars: {">one rep<", ">loopd<", ">false keeps<"}, lines: {">three reps<", ">rise<", ">kept<"}} {
		for _, w := range want {
			if !strings.Contains(text, w) {
				t.Errorf("%q is not in the picture as text", w)
			}
		}
	}
}

func TestChartsRefuse(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]Chart{
		"not a number": {Bars: []Bar{{"a", math.NaN(), 0, 1}}},
		"outside":      {Bars: []Bar{{"a", .5, .6, 1}}},
		"uneven":       {Lines: []Line{{"a", []float64{1}, nil}}},
		"infinite":     {Lines: []Line{{"a", []float64{math.Inf(1)}, []float64{1}}}},
	} {
		if b, err := c.SVG(); err == nil {
			t.Errorf("%s: drew %d bytes", name, len(b))
		}
	}
}
