package rehearsal

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"sync/atomic"
	"time"

	"loopd/candidates"
	"loopd/harness"
	"loopd/internal/campaign"
	"loopd/internal/fake"
	"loopd/internal/isolate"
	"loopd/internal/trial"
)

// injector names every session to the simulated model and plants the faults.
type injector struct {
	seed     uint64
	suite    harness.Suite
	start    string
	wordings *campaign.Wordings
	model    *fake.ModelServer
	faults   map[place]fault
	drifted  atomic.Bool
	machine  *machine
	now      func() time.Time // of the model
	night    *night           // nil where the campaign runs in one go
	// meanwhile is told of the moments of a session, if there is one.
	meanwhile func(harness.Spec, moment)
}

// moment is where a session stands within its trial.
type moment string

// The moments an injector sees, all of them between the two looks at the seal.
const (
	laid    moment = "laid"
	started moment = "started"
	ended   moment = "ended"
)

func (r *injector) tell(spec harness.Spec, at moment) {
	if r.meanwhile != nil {
		r.meanwhile(spec, at)
	}
}

var _ trial.FaultInjector = (*injector)(nil)

func (r *injector) faultOf(spec harness.Spec) fault {
	none := fault{class: harness.Valid}
	if spec.Attempt != 1 {
		return none
	}
	f, ok := r.faults[place{spec.Slot.Cell.String(), spec.Slot.Rep}]
	if !ok {
		return none
	}
	// The start is run under two labels, so it is told by its text.
	own, err := r.text(spec.Slot.Wording)
	if err != nil {
		return none // registering the session reports it
	}
	if start, err := r.text(r.start); err != nil || own != start {
		return none
	}
	return f
}

// Register tells the model which trial a key belongs to. The draw depends on
// seed, wording text, cell and repetition alone, so a restarted rehearsal sees
// the same outcomes.
func (r *injector) Register(spec harness.Spec, key string) (func(), error) {
	sc, ok := r.suite.Scenario(spec.Slot.Cell.Scenario)
	if !ok {
		return nil, fmt.Errorf("no scenario %s", spec.Slot.Cell.Scenario)
	}
	draw, err := r.draw(spec.Slot)
	if err != nil {
		return nil, err
	}
	f := r.faultOf(spec)
	if err := r.machine.plant(f.pause); err != nil {
		return nil, err
	}
	s := fake.ModelSession{Scenario: sc, Cell: spec.Slot.Cell, Draw: draw, Fault: f.model, Now: r.now}
	if r.drifted.Load() {
		s.Drift = modelDrift
	}
	if r.night != nil {
		if f := r.night.injected(); f != fake.FaultNone {
			s.Fault = f
		}
	}
	if err := r.model.Register(key, s); err != nil {
		return nil, err
	}
	r.tell(spec, started)
	return func() {
		r.model.Forget(key)
		r.tell(spec, ended)
	}, nil
}

func (r *injector) draw(sl harness.Slot) (float64, error) {
	text, err := r.text(sl.Wording)
	if err != nil {
		return 0, err
	}
	sum := sha256.Sum256(fmt.Appendf(nil, "%d\n%s\n%s\n%d", r.seed, text, sl.Cell, sl.Rep))
	return float64(binary.BigEndian.Uint64(sum[:8])>>11) / (1 << 53), nil
}

// Lay makes the hook fail where that is planted.
func (r *injector) Lay(spec harness.Spec, box *isolate.Box) error {
	r.tell(spec, laid)
	if !r.faultOf(spec).hook {
		return nil
	}
	return breakHooks(box.Plugin)
}

// text is the digest of the wording at a commit.
func (r *injector) text(commit string) (string, error) {
	tree, err := r.wordings.Tree(commit)
	if err != nil {
		return "", err
	}
	files := make(map[string][]byte, len(tree))
	for name, f := range tree {
		files[name] = f.Data
	}
	return candidates.NewSurface(files, r.suite.Launch.Note.File).Digest(files), nil
}
