package redact

import (
	"fmt"
	"io"
)

// Writer passes a stream on without its secrets. It holds back only what may be
// the beginning of one, at most twice 16 KiB and a write; after a line end that
// is nothing unless a secret may span lines. One goroutine at a time may use it.
type Writer struct {
	r    *Redactor
	w    io.Writer
	s    scanner
	held []byte
	seen int // how much of held was looked at in vain
	out  []byte
	err  error
}

// Writer returns a Writer that passes on to w. Its Close must be called: until
// then the last bytes may be held back.
func (r *Redactor) Writer(w io.Writer) *Writer {
	return &Writer{r: r, w: w}
}

// Write takes all of p or returns the error of the writer behind it, which then
// stays.
func (w *Writer) Write(p []byte) (int, error) {
	if w.err != nil {
		return 0, w.err
	}
	data := p
	if len(w.held) > 0 {
		w.held = append(w.held, p...)
		data = w.held
		// Looking again at every small piece would make long candidates costly.
		if len(data) > 1<<10 && len(data) < 2*w.seen {
			return len(p), nil
		}
	}
	done := w.pass(data, false)
	w.held = append(w.held[:0], data[done:]...)
	w.seen = len(w.held)
	if w.err != nil {
		return 0, w.err
	}
	return len(p), nil
}

// Close passes on what was held back. It does not close the writer behind.
func (w *Writer) Close() error {
	if w.err != nil {
		return w.err
	}
	w.pass(w.held, true)
	w.held = nil
	return w.err
}

func (w *Writer) pass(data []byte, final bool) int {
	var done int
	w.out, done = w.s.scan(w.r, w.out[:0], data, final)
	if len(w.out) > 0 {
		if _, err := w.w.Write(w.out); err != nil {
			w.err = fmt.Errorf("write redacted stream: %w", err)
		}
	}
	return done
}
