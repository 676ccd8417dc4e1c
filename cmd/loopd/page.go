package main

import (
	"bytes"
	"cmp"
	"io"
	"os"
	"strings"

	"github.com/mattn/go-isatty"
	"golang.org/x/term"

	"loopd/report"
)

// width is what prose printed for people keeps within, and what a terminal is
// taken for that does not say how wide it is.
const width = report.Prose

// isTerminal says whether a person reads what is written.
func isTerminal(w io.Writer) bool { return pageOf(w) > 0 }

// pageOf is how many cells a line has on the terminal that is written to, 0 for a
// pipe or file.
func pageOf(w io.Writer) int {
	if f, ok := w.(*os.File); ok && isatty.IsTerminal(f.Fd()) {
		across, _ := sizeOf(w)
		return cmp.Or(across, width)
	}
	return 0
}

// sizeOf is the size of the terminal that is written to, 0 where there is none or
// it does not say.
func sizeOf(w io.Writer) (across, down int) {
	f, ok := w.(*os.File)
	if !ok {
		return 0, 0
	}
	across, down, err := term.GetSize(int(f.Fd()))
	if err != nil {
		return 0, 0
	}
	return across, down
}

// moves says whether the cursor can be moved on what is written to.
func (e env) moves(w io.Writer) bool { return isTerminal(w) && e.Getenv("TERM") != "dumb" }

// draws says whether a bar can be drawn there: it needs to know the size, too.
func (e env) draws(w io.Writer) bool {
	across, down := sizeOf(w)
	return e.moves(w) && across > 0 && down > 0
}

// fitted is a line that keeps within a page, what follows indented. What reads a
// pipe gets it whole.
func fitted(line, indent string, page int) string {
	if page > 0 {
		return report.Wrap(line, indent, min(page, width)) + "\n"
	}
	return line + "\n"
}

// wrap breaks a line at blanks so that it keeps within the width, also in a pipe;
// what follows is indented.
func wrap(line, indent string) string { return report.Wrap(line, indent, width) + "\n" }

// hung is a text behind its head, wrapped and hung in.
func hung(head, text string) string {
	indent := strings.Repeat(" ", report.Width(head))
	return head + strings.TrimLeft(wrap(indent+text, indent), " ")
}

// table aligns lines of cells that tabs divide, when it is flushed.
func (e env) table() *report.TableWriter { return report.NewTableWriter(e.stdout, e.page) }

// sentence prints a line of prose, fitted to the page.
func (e env) sentence(line, indent string) error {
	_, err := io.WriteString(e.stdout, fitted(line, indent, e.page))
	return err
}

// markdown prints a report: laid out for a terminal, as it is into a pipe.
func (e env) markdown(text []byte) error {
	if e.page > 0 {
		text = []byte(report.LayOut(string(bytes.ToValidUTF8(text, []byte("\ufffd"))), e.page))
	}
	_, err := e.stdout.Write(text)
	return err
}
