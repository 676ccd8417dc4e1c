package report

import (
	"bytes"
	"fmt"
)

// mostItems is how many changes that are no regression a terminal is shown.
const mostItems = 40

// figureRows are the totals of both reports.
func (d Diff) figureRows() [][]string {
	s := d.Saved.Summary
	out := [][]string{{"", "A", "B", "change"}, {"pass rate", countText(s.RateA), countText(s.RateB), deltaText(s.PassRate)}}
	for _, f := range []struct {
		name string
		f    Figure
	}{{"mean tool calls", s.ToolCalls}, {"mean duration, ms", s.DurationMS}, {"mean cost-equivalent tokens", s.Tokens}} {
		if f.f.A != nil || f.f.B != nil {
			out = append(out, []string{f.name, amount(f.f.A), amount(f.f.B), deltaText(f.f)})
		}
	}
	for _, v := range s.Verdicts {
		out = append(out, []string{"verdict " + v.Name, fmt.Sprint(v.A), fmt.Sprint(v.B), orDash(signed(v.B - v.A))})
	}
	return out
}

func signed(n int) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf("%+d", n)
}

func deltaText(f Figure) string {
	if f.Delta == nil || !f.changed() {
		return "-"
	}
	return fmt.Sprintf("%+.4g", *f.Delta)
}

func (d Diff) savedSides() [][]string {
	out := [][]string{{"", "report", "cases", "results", "instrument"}}
	for i, s := range []SavedSide{d.Saved.A, d.Saved.B} {
		out = append(out, []string{string(rune('A' + i)), s.Name, s.Cases, fmt.Sprint(s.Results), brief(s.Instrument)})
	}
	return out
}

// others lists what changed and is no regression.
func (d Diff) others() []string {
	var out []string
	for _, i := range d.Saved.Items {
		if !i.Regression {
			out = append(out, i.Text())
		}
	}
	return out
}

func (d Diff) savedText(width int) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "%s\n\n", d.Headline())
	for _, r := range d.Regressions {
		b.WriteString(Wrap("  "+r, "    ", width) + "\n")
	}
	if len(d.Regressions) > 0 {
		b.WriteByte('\n')
	}
	b.WriteString(Table(d.savedSides(), width))
	if len(d.Differs) > 0 {
		fmt.Fprintf(&b, "\n%s\n", wrap(savedAcross(d)))
	}
	b.WriteByte('\n')
	b.WriteString(Table(d.figureRows(), width))
	others := d.others()
	if len(others) == 0 {
		b.WriteString("\nNothing else changed.\n")
		return b.Bytes()
	}
	b.WriteString("\nChanged, and no regression:\n\n")
	for _, text := range others[:min(len(others), mostItems)] {
		b.WriteString(Wrap("  "+text, "    ", width) + "\n")
	}
	if more := len(others) - mostItems; more > 0 {
		fmt.Fprintf(&b, "  and %d more, in --json and --markdown\n", more)
	}
	return b.Bytes()
}

func savedAcross(d Diff) string {
	return "Evaluated by different instruments, which differ in " + names(d.Differs) + ": a change may be the rules' and not the documents'."
}

func (d Diff) savedMarkdown() []byte {
	var b bytes.Buffer
	rows := func(list [][]string) {
		for i, r := range list {
			fmt.Fprintf(&b, "| %s |\n", joinCells(r))
			if i == 0 {
				b.WriteString("|" + string(bytes.Repeat([]byte("---|"), len(r))) + "\n")
			}
		}
		b.WriteByte('\n')
	}
	fmt.Fprintf(&b, "# %s\n\n", d.Headline())
	rows(d.savedSides())
	if len(d.Differs) > 0 {
		fmt.Fprintf(&b, "%s\n\n", wrap(savedAcross(d)))
	}
	rows(d.figureRows())
	b.WriteString("## Changes\n\n")
	items := [][]string{{"", "what", "A", "B", "change"}}
	for _, i := range d.Saved.Items {
		mark := ""
		if i.Regression {
			mark = "regression"
		}
		items = append(items, []string{mark, i.Subject(), i.A, i.B, i.Change()})
	}
	if len(items) == 1 {
		b.WriteString("Nothing changed.\n")
		return b.Bytes()
	}
	rows(items)
	return append(bytes.TrimRight(b.Bytes(), "\n"), '\n')
}

// Subject is what an item is about, without its values.
func (i Item) Subject() string {
	text := string(i.What)
	if i.Case != "" {
		text = i.Case + ": " + text
	}
	if i.Document != "" {
		text += " of " + i.Document
	}
	if i.Name != "" {
		text += " " + i.Name
	}
	return text
}

// Change is the difference of an item that is a number, empty for another.
func (i Item) Change() string {
	if i.Delta == nil {
		return ""
	}
	return fmt.Sprintf("%+.4g", *i.Delta)
}
