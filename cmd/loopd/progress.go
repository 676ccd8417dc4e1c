package main

import (
	"fmt"
	"io"

	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"

	"loopd/loop"
)

// progress shows how many sessions of the budget are used. It writes nothing
// where standard error is no terminal.
type progress struct {
	container *mpb.Progress
	bar       *mpb.Bar
	plain     io.Writer // where a bar would draw nothing or scribble: a line a round
	what      string
}

func newProgress(e env, budget int) *progress {
	switch {
	case !isTerminal(e.stderr):
		return &progress{}
	case !e.draws(e.stderr):
		return &progress{plain: e.stderr}
	}
	p := &progress{container: mpb.New(mpb.WithOutput(e.stderr), mpb.WithWidth(30)), what: "starting"}
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
	switch ev := e.Payload.(type) {
	case loop.Planned:
		p.what = string(ev.Round.Purpose) + " " + ev.Round.Subject
		if p.plain != nil {
			fmt.Fprintf(p.plain, "loopd: %s, %d of at most %d sessions\n", p.what, s.Sessions(), s.Budget())
		}
	case loop.Recorded:
		if p.bar != nil {
			p.bar.SetCurrent(int64(s.Sessions()))
		}
	}
}

func (p *progress) close() {
	if p.bar != nil {
		p.bar.Abort(true)
		p.container.Wait()
	}
}

// documents shows how many saved documents are evaluated, on a terminal alone.
type documents struct {
	container *mpb.Progress
	bar       *mpb.Bar
}

func newDocuments(e env, n int) *documents {
	if !e.draws(e.stderr) {
		return &documents{}
	}
	d := &documents{container: mpb.New(mpb.WithOutput(e.stderr), mpb.WithWidth(30))}
	d.bar = d.container.AddBar(int64(n), mpb.AppendDecorators(decor.CountersNoUnit("%d of %d evaluated")), mpb.BarRemoveOnComplete())
	return d
}

func (d *documents) next() {
	if d.bar != nil {
		d.bar.Increment()
	}
}

func (d *documents) close() {
	if d.bar != nil {
		d.bar.Abort(true)
		d.container.Wait()
	}
}
