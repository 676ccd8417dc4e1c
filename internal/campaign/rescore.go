package campaign

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"sync"
	"time"

	"loopd/frozen"
	"loopd/harness"
	"loopd/internal/store"
	"loopd/internal/trial"
	"loopd/loop"
)

// LoadSuite reads a suite as it lies there, sealed or not.
func LoadSuite(dir string) (Sealed, error) {
	suite, err := frozen.Load(dir)
	if err != nil {
		return Sealed{}, err
	}
	parsed, err := harness.ParseSuite(suite.FS())
	if err != nil {
		return Sealed{}, fmt.Errorf("open suite %s: %w", dir, err)
	}
	return Sealed{Dir: dir, Frozen: suite, Suite: parsed}, nil
}

// RescoreOptions say what is scored again and by which rules.
type RescoreOptions struct {
	Home Home
	ID   string // of the campaign, empty for the newest
	// Suite holds the rules; it need not be sealed.
	Suite Sealed
	// Judge is asked what nobody has answered; nil leaves it open.
	Judge trial.Judge
}

// Lost is a trial that cannot be scored again.
type Lost struct {
	ID   string `json:"id"`
	Cell string `json:"cell"`
	Why  string `json:"why"`
}

// Rescoring is what came of scoring a campaign's kept sessions again.
type Rescoring struct {
	Campaign string `json:"campaign"`
	// Seal is of the suite whose rules were asked, SealedAs the campaign's own;
	// Instrument and Recorded likewise of all that scores.
	Seal       frozen.Digest     `json:"seal"`
	SealedAs   frozen.Digest     `json:"sealed_as"`
	Instrument string            `json:"instrument"`
	Recorded   string            `json:"recorded_instrument"`
	Parts      map[string]string `json:"parts"`
	Sessions   int               `json:"sessions"` // recorded trials
	Scored     int               `json:"scored"`   // of them scored again
	NoStream   int               `json:"no_stream"`
	Lost       []Lost            `json:"lost"`
	loop.Changes
	// Accepted says that a rescore with these results is in the record already.
	Accepted bool `json:"accepted"`
	// Newest says that no campaign was begun after this one.
	Newest bool `json:"newest"`
}

// Differs says whether the results differ from those the reports show.
func (r Rescoring) Differs() bool { return !r.Accepted && (r.Any() || len(r.State.Rescored) > 0) }

// Summary counts what differs.
func (r Rescoring) Summary() string {
	flips := 0
	for _, v := range r.Verdicts {
		if v.Flips() {
			flips++
		}
	}
	return fmt.Sprintf("differing from the record: %d trials, %d verdicts, the evidence of %d more", len(r.Trials), flips, len(r.Verdicts)-flips)
}

// Rescore scores every kept session of a campaign by the rules of a suite and of
// this program, beside what was recorded. It changes nothing.
func Rescore(ctx context.Context, o RescoreOptions) (Rescoring, error) {
	events, newest, err := eventsOf(ctx, o)
	if err != nil {
		return Rescoring{}, err
	}
	graphs, err := o.Home.Graphs()
	if err != nil {
		return Rescoring{}, err
	}
	scorer, err := trial.NewRescorer(trial.RescoreOptions{Suite: o.Suite.Suite, Store: o.Home.Trials(), Graphs: graphs, Judge: o.Judge})
	if err != nil {
		return Rescoring{}, err
	}
	out := Rescoring{Seal: o.Suite.Frozen.Digest(), Lost: []Lost{}, Newest: newest}
	again, err := out.score(ctx, scorer, events)
	if err != nil {
		return out, err
	}
	if out.Changes, err = loop.Rescore(events, again); err != nil {
		return out, err
	}
	started := out.State.Started
	out.Campaign, out.SealedAs, out.Recorded = started.Campaign, started.Seal, started.Instrument
	// What a session was run with stays; what scores it is today's.
	c := Campaign{Options: Options{Sealed: o.Suite, Graphs: graphs}}
	out.Parts = maps.Clone(started.Parts)
	for name, digest := range c.parts() {
		if digest != "" {
			out.Parts[name] = digest
		}
	}
	out.Instrument = instrument(out.Parts)
	out.Accepted = out.accepted()
	return out, nil
}

// eventsOf reads a campaign's events, and whether it is the newest.
func eventsOf(ctx context.Context, o RescoreOptions) (events []loop.Event, newest bool, err error) {
	l, err := store.OpenReadOnly(o.Home.Dir)
	if err != nil {
		return nil, false, err
	}
	defer func() { err = errors.Join(err, l.Close()) }()
	if err := l.Verify(ctx); err != nil {
		return nil, false, err
	}
	states, err := Replay(ctx, l)
	if err != nil {
		return nil, false, err
	}
	last := ""
	if n := len(states); n > 0 {
		last = states[n-1].Started.Campaign
	}
	if o.ID == "" {
		o.ID = last
	}
	entries, err := entriesOf(ctx, l, o.ID)
	if err != nil {
		return nil, false, err
	}
	for _, e := range entries {
		p, err := loop.Decode(loop.Kind(e.Kind), e.Payload)
		if err != nil {
			return nil, false, fmt.Errorf("event %d: %w", e.Seq, err)
		}
		events = append(events, loop.Event{Time: e.Time, Payload: p})
	}
	return events, o.ID == last, nil
}

// score scores what can be, on every core, and counts.
func (r *Rescoring) score(ctx context.Context, scorer *trial.Rescorer, events []loop.Event) (map[string]harness.Trial, error) {
	var trials []harness.Trial
	for _, e := range events {
		p, ok := e.Payload.(loop.Recorded)
		if !ok {
			continue
		}
		r.Sessions++
		if trial.Scorable(p.Trial) {
			trials = append(trials, p.Trial)
		} else {
			r.NoStream++
		}
	}
	found, errs := make([]harness.Trial, len(trials)), make([]error, len(trials))
	next := make(chan int)
	var workers sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		workers.Go(func() {
			for i := range next {
				found[i], errs[i] = scorer.Rescore(ctx, trials[i])
			}
		})
	}
	for i := range trials {
		next <- i
	}
	close(next)
	workers.Wait()
	out := make(map[string]harness.Trial, len(trials))
	for i, t := range trials {
		lost, gone := errors.AsType[*trial.UnscorableError](errs[i])
		switch {
		case gone:
			r.Lost = append(r.Lost, Lost{t.ID, t.Spec.Slot.Cell.String(), lost.Why})
		case errs[i] != nil:
			return nil, errs[i]
		default:
			out[t.ID] = found[i]
			r.Scored++
		}
	}
	return out, nil
}

// accepted says whether the last rescore in the record has these results.
func (r Rescoring) accepted() bool {
	n := len(r.State.Rescored)
	if n == 0 {
		return false
	}
	last, now := r.State.Rescored[n-1], r.event("")
	same := func(a, b loop.NewScore) bool {
		var t harness.Trial
		return a.ID == b.ID && loop.SameScore(a.Over(t), b.Over(t))
	}
	return slices.EqualFunc(last.Trials, now.Trials, same) && slices.EqualFunc(last.Verdicts, now.Verdicts, loop.NewVerdict.Same) &&
		slices.Equal(last.Stops, now.Stops) && slices.Equal(last.Lost, now.Lost)
}

// event is the rescore as the ledger keeps it.
func (r Rescoring) event(reason string) loop.Rescored {
	out := loop.Rescored{
		Reason: reason, Instrument: r.Instrument, Parts: r.Parts, Seal: r.Seal, Trials: append([]loop.NewScore{}, r.Scores...),
		Verdicts: r.Verdicts, Stops: r.Stops,
	}
	for _, l := range r.Lost {
		out.Lost = append(out.Lost, l.ID)
	}
	return out
}

// Accept records a rescore, so that reports show its results beside the recorded
// ones, and renews the tables and the campaign's report. It refuses what is not
// of the newest campaign, or of one that has not ended. Candidates' reports
// follow when the plugin's state is next opened.
func (r Rescoring) Accept(ctx context.Context, h Home, reason string, now func() time.Time) (err error) {
	l, err := store.Open(h.Dir)
	if err != nil {
		return err
	}
	c := &Campaign{Options: Options{Home: h, Now: now}, ledger: l}
	defer func() { err = errors.Join(err, c.Close()) }()
	if c.states, err = Replay(ctx, l); err != nil {
		return err
	}
	s := c.Current()
	if s == nil || s.Started.Campaign != r.Campaign || len(s.Trials) != r.Sessions {
		return fmt.Errorf("accept the rescore of campaign %s: the ledger has gone on since", r.Campaign)
	}
	e := loop.Event{Time: now(), Payload: r.event(reason)}
	if err := s.Apply(e); err != nil { // before it is recorded for good
		return err
	}
	if err := (Journal{Ledger: l}).Append(ctx, e); err != nil {
		return err
	}
	files := make(map[string][]byte)
	c.addTables(files)
	if err := c.addCampaign(files, s); err != nil {
		return err
	}
	for path, data := range files {
		err = errors.Join(err, writeChanged(path, data))
	}
	return err
}
