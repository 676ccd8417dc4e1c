package web

import (
	"bytes"
	"fmt"
	"image/color"
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"
)

// Chart is a picture of some numbers. A page shows its table beside it, so that
// nobody has to read a picture.
type Chart struct {
	Title, X, Y string
	Lines       []Line
	// Bars are drawn instead of lines when there are any.
	Bars []Bar
}

// Line is one named series of points in order of X.
type Line struct {
	Name string
	X, Y []float64
}

// Bar is one named value with its interval.
type Bar struct {
	Name             string
	Value, Low, High float64
}

// Size of a chart in points.
const (
	chartWidth  = 480
	chartHeight = 300
	chartMargin = 8
)

// ink is a palette that is told apart without colour vision, and each line has
// a dash pattern of its own too.
var ink = []color.RGBA{{R: 0x00, G: 0x72, B: 0xb2, A: 0xff}, {R: 0xd5, G: 0x5e, B: 0x00, A: 0xff}, {R: 0x00, G: 0x9e, B: 0x73, A: 0xff}}

// SVG draws the chart.
func (c Chart) SVG() ([]byte, error) {
	p := plot.New()
	p.Title.Text, p.X.Label.Text, p.Y.Label.Text = c.Title, c.X, c.Y
	p.Title.Padding = vg.Points(6)
	p.Add(plotter.NewGrid())
	add := c.addLines
	if len(c.Bars) > 0 {
		add = c.addBars
	}
	if err := add(p); err != nil {
		return nil, fmt.Errorf("draw chart %q: %w", c.Title, err)
	}
	canvas := vgsvg.New(chartWidth, chartHeight)
	p.Draw(draw.Crop(draw.New(canvas), chartMargin, -chartMargin, chartMargin, -chartMargin))
	var b bytes.Buffer
	if _, err := canvas.WriteTo(&b); err != nil {
		return nil, fmt.Errorf("draw chart %q: %w", c.Title, err)
	}
	return b.Bytes(), nil
}

func (c Chart) addLines(p *plot.Plot) error {
	p.Y.Min, p.Y.Max = 0, 1
	p.Legend.YOffs = vg.Points(chartMargin)
	for i, l := range c.Lines {
		if len(l.X) != len(l.Y) || len(l.X) == 0 {
			return fmt.Errorf("line %q: %d and %d coordinates", l.Name, len(l.X), len(l.Y))
		}
		points := make(plotter.XYs, len(l.X))
		for j := range l.X {
			points[j].X, points[j].Y = l.X[j], l.Y[j]
		}
		line, dots, err := plotter.NewLinePoints(points)
		if err != nil {
			return fmt.Errorf("line %q: %w", l.Name, err)
		}
		line.Color, dots.Color = ink[i%len(ink)], ink[i%len(ink)]
		line.Width = vg.Points(1.5)
		line.Dashes = []vg.Length{vg.Points(float64(2 + 4*i)), vg.Points(float64(2 * i))}
		p.Add(line, dots)
		p.Legend.Add(l.Name, line, dots)
	}
	return nil
}

// addBars draws points with their intervals, one row each from the top: where a
// bar begins says nothing.
func (c Chart) addBars(p *plot.Plot) error {
	n := len(c.Bars)
	points := plotter.XYs(make([]plotter.XY, n))
	errs := plotter.XErrors(make([]struct{ Low, High float64 }, n))
	names := make([]string, n)
	for i, b := range c.Bars {
		if math.IsNaN(b.Value) || b.Low > b.Value || b.High < b.Value {
			return fmt.Errorf("%q: %v is not within %v to %v", b.Name, b.Value, b.Low, b.High)
		}
		at := n - 1 - i
		points[at] = plotter.XY{X: b.Value, Y: float64(at)}
		errs[at].Low, errs[at].High = b.Value-b.Low, b.High-b.Value
		names[at] = b.Name
	}
	dots, err := plotter.NewScatter(points)
	if err != nil {
		return err
	}
	dots.Color, dots.Shape, dots.Radius = ink[0], draw.CircleGlyph{}, vg.Points(3)
	bars, err := plotter.NewXErrorBars(struct {
		plotter.XYer
		plotter.XErrorer
	}{points, errs})
	if err != nil {
		return err
	}
	bars.Color = ink[0]
	p.Add(bars, dots)
	p.X.Min, p.X.Max = 0, 1
	p.NominalY(names...)
	p.Y.Min, p.Y.Max = -.5, float64(n)-.5
	return nil
}
