package web

import (
	"fmt"
	"math"

	"gonum.org/v1/plot"
)

// figure is a chart with its numbers: shapes to draw, in units of the picture,
// and the same as a table.
type figure struct {
	ID, Title, About string
	Width, Height    int
	Shapes           []shape
	Head             []string
	Rows             [][]string
	Empty            string // why there is nothing to draw
}

// shape is a line, a dot, a bar or a text. Class says what it is; the style sheet
// says how that looks, in light, in dark and on paper.
type shape struct {
	Kind         string // line, dot, ring, cross, square, bar, text
	Class        string
	X, Y, X2, Y2 float64
	Text, Anchor string
	Tip          string
	Radius       float64
}

const (
	figureWidth = 720
	labelWidth  = 190
	labelChars  = 30 // of a label, as many as fit
	rowHeight   = 22
	plotBottom  = 34
	plotTop     = 14
	plotRight   = 28 // half of the last number is beyond the axis
)

// cut shortens a label; the whole of it shows where one points at it.
func cut(text string, most int) string {
	runes := []rune(text)
	if len(runes) <= most {
		return text
	}
	return string(runes[:most-1]) + "…"
}

// axis maps numbers to places of a picture.
type axis struct{ low, high, from, to float64 }

func (a axis) at(v float64) float64 {
	if a.high == a.low {
		return (a.from + a.to) / 2
	}
	return a.from + (v-a.low)/(a.high-a.low)*(a.to-a.from)
}

// ticks are round numbers along an axis.
func (a axis) ticks() []plot.Tick {
	var out []plot.Tick
	for _, t := range (plot.DefaultTicks{}).Ticks(a.low, a.high) {
		if !t.IsMinor() {
			out = append(out, t)
		}
	}
	return out
}

// interval is one row of a forest plot.
type interval struct {
	Name, Class, State string
	Value, Low, High   float64
	Known              bool
}

// forest draws one row an interval, with a line at zero. What was not evaluated is
// a word, not a dot at zero.
func forest(id, title, about string, rows []interval) figure {
	f := figure{ID: id, Title: title, About: about, Width: figureWidth, Head: []string{"candidate", "verdict", "difference", "95 % interval"}}
	f.Height = plotTop + len(rows)*rowHeight + plotBottom
	x := axis{low: -.1, high: .1, from: labelWidth, to: figureWidth - plotRight}
	for _, r := range rows {
		if r.Known {
			x.low, x.high = math.Min(x.low, r.Low), math.Max(x.high, r.High)
		}
	}
	if len(rows) == 0 {
		f.Empty = "No candidate yet."
		return f
	}
	bottom := float64(f.Height - plotBottom)
	f.Shapes = append(f.Shapes, xAxis(x, bottom, "%+.2f")...)
	f.Shapes = append(f.Shapes, shape{Kind: "line", Class: "zero", X: x.at(0), Y: plotTop - 6, X2: x.at(0), Y2: bottom})
	for i, r := range rows {
		y := float64(plotTop + i*rowHeight + rowHeight/2)
		f.Shapes = append(f.Shapes, shape{Kind: "text", Class: "label", X: 4, Y: y + 4, Text: cut(r.Name+" "+r.State, labelChars), Tip: r.Name + " " + r.State})
		if !r.Known {
			f.Shapes = append(f.Shapes, shape{Kind: "text", Class: "absent", X: x.at(0) + 6, Y: y + 4, Text: "not evaluated"})
			f.Rows = append(f.Rows, []string{r.Name, r.State, "not evaluated", ""})
			continue
		}
		f.Shapes = append(f.Shapes, shape{Kind: "line", Class: "whisker " + r.Class, X: x.at(r.Low), Y: y, X2: x.at(r.High), Y2: y})
		f.Shapes = append(f.Shapes, shape{Kind: markOf(r.Class), Class: r.Class, X: x.at(r.Value), Y: y, Radius: 4, Tip: fmt.Sprintf("%s: %+.3f [%+.3f, %+.3f]", r.Name, r.Value, r.Low, r.High)})
		f.Rows = append(f.Rows, []string{r.Name, r.State, fmt.Sprintf("%+.3f", r.Value), fmt.Sprintf("%+.3f to %+.3f", r.Low, r.High)})
	}
	return f
}

// markOf is the mark of a verdict, so that colour is never the only sign.
func markOf(class string) string {
	switch class {
	case "kept":
		return "square"
	case "rejected":
		return "cross"
	}
	return "ring"
}

func xAxis(x axis, y float64, format string) []shape {
	out := []shape{{Kind: "line", Class: "axis", X: x.from, Y: y, X2: x.to, Y2: y}}
	for _, t := range x.ticks() {
		at := x.at(t.Value)
		out = append(out, shape{Kind: "line", Class: "axis", X: at, Y: y, X2: at, Y2: y + 4},
			shape{Kind: "text", Class: "tick", Anchor: "middle", X: at, Y: y + 18, Text: fmt.Sprintf(format, t.Value)})
	}
	return out
}

func yAxis(y axis, x float64, format string) []shape {
	out := []shape{{Kind: "line", Class: "axis", X: x, Y: y.from, X2: x, Y2: y.to}}
	for _, t := range y.ticks() {
		at := y.at(t.Value)
		out = append(out, shape{Kind: "line", Class: "axis", X: x - 4, Y: at, X2: x, Y2: at},
			shape{Kind: "text", Class: "tick", Anchor: "end", X: x - 7, Y: at + 4, Text: fmt.Sprintf(format, t.Value)})
	}
	return out
}

// xy is a point of a series with what it is.
type xy struct {
	X, Y        float64
	Name, Class string
}

// series draws points in order, joined by a line, with bounds across it.
func series(f figure, points []xy, xFormat, yFormat string, bounds map[string]float64) figure {
	f.Width, f.Height = figureWidth, 240
	if len(points) == 0 {
		f.Empty = "Nothing measured yet."
		return f
	}
	x := axis{low: points[0].X, high: points[0].X, from: 64, to: figureWidth - plotRight}
	y := axis{low: points[0].Y, high: points[0].Y, from: float64(f.Height - plotBottom), to: plotTop}
	for _, p := range points {
		x.low, x.high = math.Min(x.low, p.X), math.Max(x.high, p.X)
		y.low, y.high = math.Min(y.low, p.Y), math.Max(y.high, p.Y)
	}
	for _, b := range bounds {
		y.low, y.high = math.Min(y.low, b), math.Max(y.high, b)
	}
	if x.low == x.high {
		x.low, x.high = x.low-.5, x.high+.5
	}
	if y.low == y.high {
		y.low, y.high = y.low-.5, y.high+.5
	}
	f.Shapes = append(xAxis(x, y.from, xFormat), yAxis(y, x.from, yFormat)...)
	for name, b := range bounds {
		f.Shapes = append(f.Shapes, shape{Kind: "line", Class: "bound", X: x.from, Y: y.at(b), X2: x.to, Y2: y.at(b)},
			shape{Kind: "text", Class: "tick", Anchor: "end", X: x.to, Y: y.at(b) - 4, Text: name})
	}
	for i, p := range points {
		if i > 0 {
			last := points[i-1]
			f.Shapes = append(f.Shapes, shape{Kind: "line", Class: "path", X: x.at(last.X), Y: y.at(last.Y), X2: x.at(p.X), Y2: y.at(p.Y)})
		}
	}
	for _, p := range points {
		f.Shapes = append(f.Shapes, shape{Kind: markOf(p.Class), Class: p.Class, X: x.at(p.X), Y: y.at(p.Y), Radius: 3.5, Tip: p.Name})
	}
	return f
}

// bar is one named amount.
type bar struct {
	Name, Text string
	Value      float64
}

// bars draws one row an amount.
func bars(f figure, list []bar) figure {
	f.Width, f.Height = figureWidth, plotTop+len(list)*rowHeight+8
	if len(list) == 0 {
		f.Empty = "None."
		return f
	}
	x := axis{low: 0, from: labelWidth, to: figureWidth - 280}
	for _, b := range list {
		x.high = math.Max(x.high, b.Value)
	}
	if x.high == 0 {
		x.high = 1
	}
	for i, b := range list {
		y := float64(plotTop + i*rowHeight)
		f.Shapes = append(f.Shapes,
			shape{Kind: "text", Class: "label", X: 4, Y: y + 14, Text: cut(b.Name, labelChars), Tip: b.Name},
			shape{Kind: "bar", Class: "amount", X: x.from, Y: y + 3, X2: math.Max(x.at(b.Value)-x.from, 1), Y2: rowHeight - 8},
			shape{Kind: "text", Class: "tick", X: x.at(b.Value) + 6, Y: y + 14, Text: b.Text})
		f.Rows = append(f.Rows, []string{b.Name, b.Text})
	}
	return f
}
