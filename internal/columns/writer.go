package columns

import (
	"bytes"
	"io"
	"strings"
)

// Writer aligns the cells of lines that hold tabs, as a table for each run of
// such lines; other lines pass as they are.
type Writer struct {
	to    io.Writer
	text  bytes.Buffer
	width int
}

// NewWriter returns a Writer for a page of a width, 0 for a pipe. It writes
// nothing before Flush.
func NewWriter(to io.Writer, width int) *Writer { return &Writer{to: to, width: width} }

// Write takes text; its error is nil.
func (w *Writer) Write(text []byte) (int, error) { return w.text.Write(text) }

// Flush lays out what was written and hands it on.
func (w *Writer) Flush() error {
	var b strings.Builder
	var rows [][]string
	for line := range strings.Lines(w.text.String()) {
		if strings.Contains(line, "\t") {
			rows = append(rows, strings.Split(strings.TrimSuffix(line, "\n"), "\t"))
			continue
		}
		b.WriteString(Table(rows, w.width))
		b.WriteString(line)
		rows = nil
	}
	b.WriteString(Table(rows, w.width))
	w.text.Reset()
	_, err := io.WriteString(w.to, b.String())
	return err
}
