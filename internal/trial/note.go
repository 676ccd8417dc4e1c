package trial

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"sync"

	"loopd/harness"
	"loopd/harness/transcript"
	"loopd/internal/agent"
	"loopd/internal/isolate"
)

// delivery is what a computed note comes to in a fresh copy of a project: the
// text, or why there is none.
type delivery struct {
	text  string
	class harness.Class
	why   string
}

// notes remembers deliveries. The zero value is ready.
type notes struct {
	mu    sync.Mutex
	known map[noteKey]*remembered
}

type noteKey struct{ wording, project string }

// remembered is locked while its delivery is found out, so that sessions which
// start together wait for one answer.
type remembered struct {
	mu   sync.Mutex
	done bool
	delivery
}

func (n *notes) of(k noteKey) *remembered {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.known == nil {
		n.known = make(map[noteKey]*remembered)
	}
	if n.known[k] == nil {
		n.known[k] = &remembered{}
	}
	return n.known[k]
}

// computes says whether a trial expects a note that the hook computes.
func (e *Executor) computes(t *harness.Trial) bool {
	return t.ExpectsNote && e.o.Suite.Launch.Note.Kind == harness.NoteComputed
}

// recordedNote is the expectation to keep beside an attempt; a file's is in the
// wording's commit.
func (e *Executor) recordedNote(t *harness.Trial, w Wording) string {
	if !e.computes(t) {
		return ""
	}
	return w.Note
}

// delivery runs the hook in two fresh copies of the project, once for a wording
// and a project. A hook that says two things in them is an error: with either
// as the expectation, sessions would be void by chance.
func (e *Executor) delivery(ctx context.Context, scenario string, w Wording, wording string) (delivery, error) {
	st := e.starts[scenario]
	r := e.notes.of(noteKey{wording, st.project})
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.done {
		return r.delivery, nil
	}
	var found [2]delivery
	for i := range found {
		var err error
		if found[i], err = e.hookAlone(ctx, st, w); err != nil {
			return delivery{}, fmt.Errorf("compute the note of %.12s in %s: %w", wording, scenario, err)
		}
	}
	if found[0].class == "" && found[1].class == "" && found[0].text != found[1].text {
		return delivery{}, fmt.Errorf("compute the note of %.12s in %s: the hook prints different texts in two fresh copies of the project, so there is nothing to expect: %s",
			wording, scenario, difference(found[0].text, found[1].text))
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
func (e *Executor) hookAlone(ctx context.Context, st *start, w Wording) (d delivery, err error) {
	box, err := isolate.New(ctx, isolate.Options{
		Base: e.o.Sandboxes, Fixture: st.tree, Plugin: w.Plugin, PluginName: e.o.Suite.Checker.Plugin, Git: st.git, UID: e.o.UID, GID: e.o.GID,
	})
	if err != nil {
		return d, err
	}
	defer func() { err = errors.Join(err, box.Remove()) }()
	l, release, err := e.launchAlone(box)
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

// launchAlone is the launch of a session without a task and without an API.
func (e *Executor) launchAlone(box *isolate.Box) (agent.Launch, func() error, error) {
	env, err := agent.Environ(e.o.Suite.Launch, e.listed(box, e.o.Gateway.DummyKey(), nowhere))
	if err != nil {
		return agent.Launch{}, nil, err
	}
	l, err := e.plainLaunch(box, e.o.Suite.Launch.Tiers[0].Name, env, "Please begin.")
	if err != nil || e.o.Isolation.Backend() == isolate.None {
		return l, func() error { return nil }, err
	}
	return e.shutIn(l, box, nil, 0)
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
	var d delivery
	if d.text, d.class, d.why = transcript.Delivered(t, envelope); d.class != "" {
		d.why = "in a fresh copy of the project: " + d.why
	}
	return d, nil
}

// digestOf is the same for trees with the same files; hex.
func digestOf(t harness.Tree) string {
	sum := sha256.New()
	for _, name := range t.Paths() {
		fmt.Fprintf(sum, "%s\x00%o\x00%d\x00", name, t[name].Mode, len(t[name].Data))
		sum.Write(t[name].Data)
	}
	return hex.EncodeToString(sum.Sum(nil))
}
