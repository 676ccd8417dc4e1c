package main

import (
	"io"
	"os"

	"github.com/mattn/go-isatty"
	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"

	"loopd/loop"
)

// progress shows how many sessions of the budget are used. It writes nothing
// where standard error is no terminal.
type progress struct {
	container *mpb.Progress
	bar       *mpb.Bar
	what      string
}

func newProgress(w io.Writer, budget int) *progress {
	f, ok := w.(*os.File)
	if !ok || !isatty.IsTerminal(f.Fd()) {
		return &progress{}
	}
	p := &progress{container: mpb.New(mpb.WithOutput(f), mpb.WithWidth(30)), what: "starting"}
	p.bar = p.container.AddBar(int64(budget),
		mpb.PrependDecorators(decor.Any(func(decor.Statistics) string { return p.what + " " })),
		mpb.AppendDecorators(decor.CountersNoUnit("%d of at most %d sessions")),
		mpb.BarRemoveOnComplete(),
	)
	return p
}

// observe follows the campaign; it is called from the one goroutine that owns
// the state.
func (p *progress) observe(s *loop.State, e loop.Event) {
	if p.bar == nil {
		return
	}
	switch ev := e.Payload.(type) {
	case loop.Planned:
		p.what = string(ev.Round.Purpose) + " " + ev.Round.Subject
	case loop.Recorded:
		p.bar.SetCurrent(int64(s.Sessions()))
	}
}

func (p *progress) close() {
	if p.bar != nil {
		p.bar.Abort(true)
		p.container.Wait()
	}
}
