package web

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"loopd/internal/campaign"
	"loopd/internal/store"
	"loopd/loop"
	"loopd/report"
)

// Store keeps what the ledger of a state directory adds up to, and reads only what
// has come since it last looked. It is safe for concurrent use.
type Store struct {
	dir string

	mu     sync.Mutex
	seq    int64
	states []*loop.State
	built  map[int]*built   // by place in states
	trials map[string]found // by trial id
}

// built is what was made of a campaign, until its next event.
type built struct {
	whole      bool // all but the candidates has been made
	digest     report.Digest
	figures    figures
	exposed    [][2]report.Rate
	candidates map[string]candidateData
}

// found is where a trial is.
type found struct{ campaign, trial int }

// NewStore makes the store of a state directory. There need be no ledger yet.
func NewStore(dir string) *Store {
	return &Store{dir: dir, built: make(map[int]*built), trials: make(map[string]found)}
}

// view is what the ledger adds up to at one moment. It is valid only while the
// function it was given to runs.
type view struct{ s *Store }

// with brings the store up to date and hands it to f, alone.
func (s *Store) with(ctx context.Context, f func(v view) error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.follow(ctx); err != nil {
		return err
	}
	return f(view{s})
}

// Seq is the number of the last event known, after looking for new ones.
func (s *Store) Seq(ctx context.Context) (int64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	err := s.follow(ctx)
	return s.seq, err
}

// follow reads the events that have come since.
func (s *Store) follow(ctx context.Context) error {
	l, err := store.OpenReadOnly(s.dir)
	if _, missing := errors.AsType[*store.MissingError](err); missing {
		return nil
	}
	if err != nil {
		return err
	}
	defer l.Close()
	for e, err := range l.Entries(ctx, s.seq+1) {
		if err != nil {
			return fmt.Errorf("read ledger: %w", err)
		}
		if err := s.add(e); err != nil {
			return fmt.Errorf("read ledger: event %d: %w", e.Seq, err)
		}
	}
	return nil
}

// add applies one event. An applied event is never applied again, so what fails
// here fails at every look, and says so.
func (s *Store) add(e store.Entry) error {
	p, err := loop.Decode(loop.Kind(e.Kind), e.Payload)
	if err != nil {
		return err
	}
	if p.Kind() == loop.KindStarted {
		s.states = append(s.states, loop.NewState())
	}
	if len(s.states) == 0 {
		return fmt.Errorf("%s before any campaign", e.Kind)
	}
	at := len(s.states) - 1
	if err := s.states[at].Apply(loop.Event{Time: e.Time, Payload: p}); err != nil {
		return err
	}
	s.seq = e.Seq
	delete(s.built, at)
	if r, ok := p.(loop.Recorded); ok {
		s.trials[r.Trial.ID] = found{at, len(s.states[at].Trials) - 1}
	}
	return nil
}

// campaign finds a campaign by its name, the newest for none; false where there
// is none.
func (v view) campaign(name string) (int, bool) {
	if name == "" {
		return len(v.s.states) - 1, len(v.s.states) > 0
	}
	at := slices.IndexFunc(v.s.states, func(s *loop.State) bool { return s.Started.Campaign == name })
	return at, at >= 0
}

// seal is that of the newest campaign, empty for none.
func (v view) seal() string {
	at, ok := v.campaign("")
	if !ok {
		return ""
	}
	return string(v.state(at).Started.Seal)
}

func (v view) state(at int) *loop.State { return v.s.states[at] }

// begun is what was made of a campaign so far.
func (v view) begun(at int) *built {
	b, known := v.s.built[at]
	if !known {
		b = &built{candidates: make(map[string]candidateData)}
		v.s.built[at] = b
	}
	return b
}

// built is what is shown of a whole campaign, made once for every change.
func (v view) built(at int) *built {
	b := v.begun(at)
	if !b.whole {
		st := v.s.states[at]
		b.digest, b.exposed, b.whole = report.BuildDigest(st, nil, nil, v.s.states[:at]...), exposures(st), true
		b.figures = figuresOf(st, b.digest.Campaign)
	}
	return b
}

// trial finds a trial by its id.
func (v view) trial(id string) (*loop.State, loop.Run, bool) {
	f, ok := v.s.trials[id]
	if !ok {
		return nil, loop.Run{}, false
	}
	s := v.s.states[f.campaign]
	return s, s.Trials[f.trial], true
}

// home is the state directory.
func (s *Store) home() campaign.Home { return campaign.Home{Dir: s.dir} }
