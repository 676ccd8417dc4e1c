package fake

import (
	"errors"
	"fmt"
	"math"
	"sync"
	"time"

	"loopd/harness"
)

// ModelSession is what one credential stands for.
type ModelSession struct {
	Scenario harness.Scenario
	Cell     harness.Cell
	Draw     float64 // in [0,1): below the rate the session passes
	Drift    float64 // logits added to the rate: the model is not what it was
	Fault    Fault
	Now      func() time.Time // the time its answers speak of; nil for the clock on the wall
}

// now is the time its answers speak of.
func (s ModelSession) now() time.Time {
	if s.Now == nil {
		return time.Now()
	}
	return s.Now()
}

func (s ModelSession) validate() error {
	var errs []error
	if s.Draw < 0 || s.Draw >= 1 {
		errs = append(errs, fmt.Errorf("draw: %v is not in [0,1)", s.Draw))
	}
	if _, ok := faultOf(s.Fault); !ok {
		errs = append(errs, fmt.Errorf("fault: no fault %q", s.Fault))
	}
	if len(s.Scenario.Oracle) == 0 || len(s.Scenario.Nop) == 0 {
		errs = append(errs, fmt.Errorf("scenario %s: needs oracle and nop", s.Scenario.ID))
	}
	return errors.Join(errs...)
}

// play returns the turns of the session under the wording it was sent.
func (s ModelSession) play(w Wording, sent string) []turn {
	steps := s.Scenario.Nop
	if s.Draw < drifted(w.Rate(s.Cell, sent), s.Drift) {
		steps = s.Scenario.Oracle
	}
	turns := script(w.habitual(steps, sent), placeOf(sent))
	if f, _ := faultOf(s.Fault); f.command != "" {
		turns = append([]turn{bashTurn(f.command)}, turns...)
	}
	return turns
}

// drifted moves a rate by so many logits; 0 and 1 stay what they are.
func drifted(p, by float64) float64 {
	if by == 0 || p <= 0 || p >= 1 {
		return p
	}
	return 1 / (1 + (1-p)/p*math.Exp(-by))
}

// book holds the registered sessions by credential.
type book struct {
	mu       sync.Mutex
	sessions map[string]*entry
}

type entry struct {
	session  ModelSession
	requests int
}

func (b *book) register(key string, s ModelSession) error {
	if key == "" {
		return errors.New("register session: empty key")
	}
	if err := s.validate(); err != nil {
		return fmt.Errorf("register session: %w", err)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.sessions == nil {
		b.sessions = make(map[string]*entry)
	}
	b.sessions[key] = &entry{session: s}
	return nil
}

func (b *book) forget(key string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.sessions, key)
}

// request counts a request and returns its session and number, from 1.
func (b *book) request(key string) (ModelSession, int, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	e, ok := b.sessions[key]
	if !ok {
		return ModelSession{}, 0, false
	}
	e.requests++
	return e.session, e.requests, true
}
