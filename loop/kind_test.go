package loop

import (
	"context"
	"strings"
	"testing"

	"loopd/harness"
)

// otherKind is an executor one of whose sessions was scored by another harness.
type otherKind struct {
	*world
	kind harness.Kind
	bad  string
}

func (o *otherKind) Run(ctx context.Context, spec harness.Spec) (harness.Trial, error) {
	t, err := o.world.Run(ctx, spec)
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.calls) >= 3 && o.bad == "" {
		o.bad, t.Result.Kind = t.ID, o.kind
	}
	return t, err
}

// A campaign holds results of one kind. A record with another, whoever hands it
// in, is refused before any count, and the refusal names the trial.
func TestOtherKindsOfResultAreRefused(t *testing.T) { // req 39
	t.Parallel()
	for _, kind := range []harness.Kind{harness.Trace, harness.RepoState, "", "skill_asked_for"} {
		w := newWorld(5)
		s := w.begin(t, 400, candidate(w, "c001", lifted(0)))
		o := &otherKind{world: w, kind: kind}
		l := w.loop(s)
		l.Executor = o
		err := l.Run(t.Context())
		if err == nil || o.bad == "" || !strings.Contains(err.Error(), o.bad) || !strings.Contains(err.Error(), `"unprompted"`) {
			t.Errorf("kind %q: got %v, want an error naming trial %s", kind, err, o.bad)
		}
		for _, tr := range s.Trials {
			if tr.ID == o.bad {
				t.Errorf("kind %q: the trial was counted", kind)
			}
		}
	}
}
