package trial

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"sync"

	"loopd/harness"
	"loopd/harness/transcript"
	"loopd/internal/agent"
)

// delivery is what a computed note comes to in a fresh copy of a project: the
// text, or why there is none.
type delivery struct {
	text string
	ruling
}

// notes remembers deliveries by wording and project. The zero value is ready.
type notes struct{ known sync.Map }

// remembered is locked while its delivery is found out, so that sessions which
// start together wait for one answer.
type remembered struct {
	mu   sync.Mutex
	done bool
	delivery
}

// delivery runs the hook in two fresh copies of the project, once for a wording
// and a project. A hook that says two things in them is an error: with either
// as the expectation, sessions would be void by chance.
func (e *Executor) delivery(ctx context.Context, j job) (delivery, error) {
	entry, _ := e.notes.known.LoadOrStore([2]string{j.spec.Slot.Wording, j.start.project}, &remembered{})
	r := entry.(*remembered)
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.done {
		return r.delivery, nil
	}
	failed := func(err error) (delivery, error) {
		return delivery{}, fmt.Errorf("compute the note of %.12s in %s: %w", j.spec.Slot.Wording, j.scenario.ID, err)
	}
	var found [2]delivery
	for i := range found {
		var err error
		if found[i], err = e.hookAlone(ctx, j); err != nil {
			return failed(err)
		}
	}
	if found[0].class == "" && found[1].class == "" && found[0].text != found[1].text {
		return failed(fmt.Errorf("the hook prints different texts in two fresh copies of the project, so there is nothing to expect: %s",
			difference(found[0].text, found[1].text)))
	}
	if found[1].class != "" {
		found[0] = found[1]
	}
	r.delivery, r.done = found[0], true
	return r.delivery, nil
}

// difference shows where two texts part.
func difference(a, b string) string {
	as, bs := []rune(a), []rune(b)
	i := 0
	for i < min(len(as), len(bs)) && as[i] == bs[i] {
		i++
	}
	const before, after = 20, 40
	cut := func(s []rune) string { return string(s[max(0, i-before):min(len(s), i+after)]) }
	return fmt.Sprintf("%q and %q", cut(as), cut(bs))
}

// nowhere is an API address at which nothing listens.
const nowhere = "http://127.0.0.1:9"

// hookAlone starts a session in a fresh copy of the project, as any session is
// started, and ends it when its hooks have answered. It has no way to the API:
// nothing is spent, and no model sees it.
func (e *Executor) hookAlone(ctx context.Context, j job) (d delivery, err error) {
	box, err := e.box(ctx, j.start, j.wording.Plugin)
	if err != nil {
		return d, err
	}
	defer func() { err = errors.Join(err, box.Remove()) }()
	l, err := e.plainLaunch(box, e.o.Suite.Launch.Tiers[0].Name, e.values(box, e.o.Gateway.DummyKey(), nowhere), "Please begin.")
	if err != nil {
		return d, err
	}
	l, release, err := e.isolated(l, box, nil)
	if err != nil {
		return d, err
	}
	defer func() { err = errors.Join(err, release()) }()
	enough, stop := context.WithCancel(ctx)
	defer stop()
	out := &hookWatch{stop: stop}
	l.Stdout, l.Stderr = out, io.Discard
	exit, err := agent.Run(enough, l)
	switch {
	case ctx.Err() != nil:
		return d, ctx.Err()
	case err != nil:
		return d, err
	case exit.Survivors > 0:
		return d, fmt.Errorf("%d processes of the hook could not be ended", exit.Survivors)
	}
	return out.delivery(e.o.Suite.Launch.Note.Envelope, exit)
}

// hookWatch keeps a stream and stops its session once it has begun and every
// hook has answered, or when it ends without.
type hookWatch struct {
	stop func()
	data bytes.Buffer
}

// maxHookStream is more than any session prints before its first turn.
const maxHookStream = 16 << 20

// Write keeps the bytes.
func (h *hookWatch) Write(p []byte) (int, error) {
	if h.data.Len()+len(p) > maxHookStream {
		return 0, errors.New("the session prints without end before its first turn")
	}
	h.data.Write(p)
	count := func(mark string) int { return bytes.Count(h.data.Bytes(), []byte(mark)) }
	whole := bytes.HasSuffix(p, []byte("\n"))
	if whole && count(`"subtype":"init"`) > 0 && count(`"subtype":"hook_response"`) >= count(`"subtype":"hook_started"`) {
		h.stop()
	}
	return len(p), nil
}

// delivery reads what the hook delivered. A clock that ended the session says
// nothing about the hook.
func (h *hookWatch) delivery(envelope harness.Envelope, exit agent.Exit) (delivery, error) {
	if exit.Cause != "" && exit.Cause != harness.Cancelled {
		return delivery{}, fmt.Errorf("the session did not come to its first turn: %s", exit.Cause)
	}
	t, err := transcript.Parse(bytes.NewReader(h.data.Bytes()), transcript.Limits{})
	if err != nil {
		return delivery{}, err
	}
	if len(t.Inits) == 0 {
		return delivery{}, errors.New("the session did not come to its first turn")
	}
	text, class, why := transcript.Delivered(t, envelope)
	if class != "" {
		why = "in a fresh copy of the project: " + why
	}
	return delivery{text, ruling{class: class, why: why}}, nil
}
