package main

import (
	"fmt"
	"strings"

	"loopd/harness"
	"loopd/report"
)

// printer shows results on a terminal as they come, all of a few and else those
// that did not pass.
type printer struct {
	e     env
	quiet bool
	few   bool
	left  int // lines of results that may still be printed
	more  int // that were not
}

// mostShown is how many results a terminal is shown.
const mostShown = 40

func newPrinter(e env, quiet bool, documents int) *printer {
	return &printer{e: e, quiet: quiet, few: documents <= mostShown, left: mostShown}
}

func (p *printer) result(r harness.Evaluated) {
	switch {
	case p.quiet, r.Outcome == harness.Pass && !p.few:
		return
	case p.left == 0:
		p.more++
		return
	}
	p.left--
	name := r.Trace + r.Submission
	if name == "" {
		name = "no trace"
	}
	fmt.Fprintf(p.e.stdout, "%-8s%s\n", r.Outcome, visible(name+ofCase(r, name)))
	for _, c := range report.NotPassed(r) {
		head := "        " + c.Name + " (" + c.Reason + ")"
		if len(c.Findings) == 1 {
			fmt.Fprint(p.e.stdout, wrap(visible(head+": "+c.Findings[0]), "          "))
			continue
		}
		fmt.Fprintln(p.e.stdout, head)
		for _, f := range c.Findings {
			fmt.Fprint(p.e.stdout, wrap(visible("          "+f), "            "))
		}
	}
}

// ofCase names the case where the document's name does not.
func ofCase(r harness.Evaluated, name string) string {
	if r.Kind != harness.Trace || r.Case == "" || strings.HasPrefix(name, r.Case+".") {
		return ""
	}
	return ", " + r.Case
}

// visible keeps a text from a document free of what moves a terminal.
func visible(text string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || r >= 0x80 && r < 0xa0 {
			return ' '
		}
		return r
	}, text)
}

func (p *printer) close() {
	if p.more > 0 {
		fmt.Fprintf(p.e.stdout, "and %d more that did not pass; --json FILE has all\n", p.more)
	}
}
