package campaign

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"loopd/candidates"
	"loopd/harness"
	"loopd/internal/git"
	"loopd/internal/hint"
	"loopd/internal/store"
	"loopd/loop"
)

// Options say which plugin is worked on and with what.
type Options struct {
	Home      Home
	Plugin    string // directory of the plugin, inside a git repository
	Sealed    Sealed
	AgentName string // for reports, such as claude 2.1.332
	AgentSHA  string
	// Credential is the kind of credential sessions run under.
	Credential string
	Simulated  bool
	// Judge names the judge that is asked, empty where there is none.
	Judge string
	// Confines is what sessions run in, by name: the rung, what they may read of
	// the machine, their limits. They are parts of the Instrument.
	Confines map[string]string
	// Graphs are the code graphs built for the fixtures, by fixture.
	Graphs map[string]harness.Tree
	Now    func() time.Time
	Log    *slog.Logger
	// Look renders what a look at the campaign shows, as a JSON document, to be kept
	// beside the ledger; nil keeps none.
	Look func(newest *loop.State, all []*loop.State) any
	// RoomEvery is how often is looked whether a full disk has room again; 0 for a
	// few seconds.
	RoomEvery time.Duration
}

// Campaign holds the open edges of one state directory. Close it.
type Campaign struct {
	Options
	Wordings *Wordings

	ledger *store.Ledger
	repo   *git.Private
	user   *git.User
	states []*loop.State
	moved  []string // branches that are not where the ledger has them
}

// Open takes the state directory's lock, replays the ledger, opens both
// repositories and mends what a crash left: stale locks, lost branches, files
// that follow the ledger.
func Open(ctx context.Context, o Options) (*Campaign, error) {
	c, err := open(ctx, o)
	if err != nil {
		return nil, err
	}
	if err := c.mend(ctx); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}

// open opens everything and mends nothing.
func open(ctx context.Context, o Options) (*Campaign, error) {
	c := &Campaign{Options: o}
	if err := c.open(ctx); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}

func (c *Campaign) open(ctx context.Context) error {
	if err := errors.Join(c.Home.Make(), c.Home.KeptFromOthers()); err != nil {
		return err
	}
	var err error
	if c.ledger, err = store.Open(c.Home.Dir); err != nil {
		return err
	}
	if c.states, err = Replay(ctx, c.ledger); err != nil {
		return err
	}
	if c.user, err = git.OpenUser(c.Plugin); err != nil {
		return err
	}
	if c.repo, err = openPrivate(c.Home.Repo()); err != nil {
		return err
	}
	skip, err := InsidePlugin(c.Plugin, c.Sealed.Dir)
	if err != nil {
		return err
	}
	sealed, err := c.Sealed.contents()
	if err != nil {
		return err
	}
	c.Wordings = &Wordings{
		repo: c.repo, subdir: c.user.Subdir(), note: c.Sealed.Suite.Launch.Note, trees: make(map[string]harness.Tree), skip: skip, sealed: sealed,
	}
	return nil
}

// InsidePlugin lists the paths below a plugin that are loopd's own: its settings,
// and the suite, empty for none, where that lies in the plugin. No session may
// read the suite that measures it. Both places are resolved first, because one
// directory has many names.
func InsidePlugin(pluginDir, suiteDir string) ([]string, error) {
	skip := []string{"loopd.yaml"}
	if suiteDir == "" {
		return skip, nil
	}
	plugin, err := resolved(pluginDir)
	if err != nil {
		return nil, err
	}
	suite, err := resolved(suiteDir)
	if err != nil {
		return nil, err
	}
	if rel, err := filepath.Rel(plugin, suite); err == nil && filepath.IsLocal(rel) {
		skip = append(skip, filepath.ToSlash(rel))
	}
	return skip, nil
}

func resolved(dir string) (string, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	return filepath.EvalSymlinks(abs)
}

func openPrivate(dir string) (*git.Private, error) {
	p, err := git.OpenPrivate(dir)
	if _, missing := errors.AsType[*git.NotRepositoryError](err); missing {
		return git.InitPrivate(dir)
	}
	return p, err
}

// Close releases everything, the lock last.
func (c *Campaign) Close() error {
	if c.ledger == nil {
		return nil
	}
	return c.ledger.Close()
}

// Current returns the newest campaign's state, nil before the first.
func (c *Campaign) Current() *loop.State {
	if len(c.states) == 0 {
		return nil
	}
	return c.states[len(c.states)-1]
}

// Before returns the campaigns before the newest, oldest first.
func (c *Campaign) Before() []*loop.State { return c.states[:max(len(c.states)-1, 0)] }

// Begin opens a campaign, or continues the one under way. A campaign under way
// whose instrument differs from today's is an error: numbers of two instruments
// are never pooled.
func (c *Campaign) Begin(ctx context.Context, set loop.Settings, g Grid) error {
	if s := c.Current(); s != nil && s.Ended == nil {
		return c.resume(ctx, s)
	}
	if err := set.Validate(len(g.Objective)); err != nil {
		return err
	}
	head, err := c.user.Head()
	if err != nil {
		return err
	}
	if err := importStart(ctx, c.repo, c.user, head.Commit); err != nil {
		return err
	}
	if _, err := c.Wordings.Trial(head.Commit); err != nil {
		return err
	}
	parts := c.parts()
	started := loop.Started{
		Campaign: c.name(head.Commit), Plugin: c.Sealed.Suite.Checker.Plugin, Instrument: instrument(parts), Parts: parts, Seal: c.Sealed.Frozen.Digest(),
		Start: head.Commit, Base: head.Commit, Agent: c.AgentName, Simulated: c.Simulated, Objective: g.Objective, Guards: g.Guards,
		Controls: g.Controls, Reserve: g.Reserve, Practice: g.Practice, Impossible: g.Impossible, Pairs: g.Pairs, NotRun: g.NotRun, Settings: set,
		Judged: g.judged(c.Sealed.Suite),
	}
	if c.Judge != "" && len(started.Judged) > 0 {
		started.Gold = len(c.Sealed.Suite.Gold)
	}
	left := c.leftOver()
	c.states = append(c.states, loop.NewState())
	payloads := []loop.Payload{started}
	for _, p := range left {
		payloads = append(payloads, loop.Queued{Candidate: p.Candidate})
	}
	return c.record(ctx, payloads...)
}

// leftOver lists candidates the last campaign never came to.
func (c *Campaign) leftOver() []*loop.Progress {
	s := c.Current()
	if s == nil {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(s.Progress), func(p *loop.Progress) bool { return p.Decided != nil || p.Commit != "" })
}

// Resume lifts the pause or the halt of the campaign under way, at a person's
// word.
func (c *Campaign) Resume(ctx context.Context) error { return c.Grant(ctx, loop.Resumed{}) }

// Grant records a person's word to the campaign under way, while no loop runs it.
func (c *Campaign) Grant(ctx context.Context, p loop.Payload) error {
	s := c.Current()
	if s == nil {
		return errors.New("no campaign is under way")
	}
	if err := s.Grants(p); err != nil {
		return err
	}
	if _, on := p.(loop.Resumed); on {
		if err := c.resumable(s); err != nil {
			return err
		}
	}
	return errors.Join(c.record(ctx, p), c.Project())
}

func (c *Campaign) resume(ctx context.Context, s *loop.State) error {
	if err := c.resumable(s); err != nil {
		return err
	}
	if s.Paused != nil && !s.Paused.Until.After(c.Now()) {
		return c.record(ctx, loop.Resumed{})
	}
	return nil
}

// Wake ends a pause whose time has come, if what measures is still the same.
func (c *Campaign) Wake(ctx context.Context) error {
	s := c.Current()
	if s == nil || s.Paused == nil {
		return nil
	}
	if err := c.resumable(s); err != nil {
		return err
	}
	return c.record(ctx, loop.Resumed{})
}

// resumable says why a campaign cannot go on: what measures is not what it
// began with.
func (c *Campaign) resumable(s *loop.State) error {
	if got := c.Sealed.Frozen.Digest(); got != s.Started.Seal {
		return fmt.Errorf("continue campaign %s: it began with the seal %s, the suite has %s", s.Started.Campaign, s.Started.Seal.Short(), got.Short())
	}
	if parts := c.parts(); instrument(parts) != s.Started.Instrument {
		return &InstrumentError{Campaign: s.Started.Campaign, Differ: differ(s.Started.Parts, parts)}
	}
	return nil
}

// InstrumentError says that what measures is not what a campaign began with.
type InstrumentError struct {
	Campaign string
	Differ   []string // the parts that differ, with both digests
}

// Error names what differs.
func (e *InstrumentError) Error() string {
	return fmt.Sprintf("continue campaign %s: it began with another instrument: %s", e.Campaign, strings.Join(e.Differ, "; "))
}

// Hint returns the command that ends the campaign so that a new one can begin.
func (e *InstrumentError) Hint() string {
	return `loopd freeze --end --reason "the instrument changed"`
}

// Exit returns the code of wrong usage.
func (e *InstrumentError) Exit() int { return hint.Usage }

// name identifies a campaign for people and branches.
func (c *Campaign) name(commit string) string {
	return fmt.Sprintf("%s-%d", commit[:7], len(c.states)+1)
}

// record appends events outside a loop.
func (c *Campaign) record(ctx context.Context, payloads ...loop.Payload) error {
	var events []loop.Event
	for _, p := range payloads {
		events = append(events, loop.Event{Time: c.Now(), Payload: p})
	}
	if err := (Journal{Ledger: c.ledger}).Append(ctx, events...); err != nil {
		return err
	}
	for _, e := range events {
		if err := c.Current().Apply(e); err != nil {
			return err
		}
	}
	return nil
}

// Run drives the campaign with an executor until it ends, pauses or halts, and
// keeps the projections up with the ledger.
func (c *Campaign) Run(ctx context.Context, l loop.Loop) error {
	s := c.Current()
	l.State, l.Log, l.Verify, l.Now, l.Intake = s, Journal{c.ledger, c.waitForRoom(ctx)}, c.Sealed.Verify, c.Now, c.intake
	l.Preparer = c.preparer(s)
	alarm := c.watch()
	defer alarm.close()
	l.Alarm = alarm.changed
	observe := l.Observe
	var failed error
	l.Observe = func(s *loop.State, e loop.Event) {
		if observe != nil {
			observe(s, e)
		}
		c.glance(ctx)
		if followed(e.Payload) {
			// What found no room is written with the next such event, or at the end.
			if err := c.Project(); !noRoom(err) {
				failed = errors.Join(failed, err)
			}
		}
	}
	err := errors.Join(l.Run(ctx), failed, c.Project())
	c.glance(context.WithoutCancel(ctx))
	if head, moved := c.BaseMoved(); moved {
		c.Log.Warn("base moved: the user has committed since the campaign began; candidates stay on what it began with",
			"began", s.Started.Base, "now", head)
	}
	return err
}

// Extend takes up the gate of the last campaign with more sessions, if it ended
// undecided for want of them and neither the wording it started from nor what
// measures has changed since. It says whether it did.
func (c *Campaign) Extend(ctx context.Context, sessions int) (bool, error) {
	s := c.Current()
	if s == nil || !s.GateOpen() || sessions <= 0 || c.resumable(s) != nil {
		return false, nil
	}
	head, err := c.user.Head()
	if err != nil || head.Commit != s.Started.Start {
		return false, err
	}
	return true, c.record(ctx, loop.Extended{Sessions: sessions})
}

// Pause stops the campaign under way until it is run again.
func (c *Campaign) Pause(ctx context.Context, p loop.Paused) error {
	return errors.Join(c.record(ctx, p), c.Project())
}

func (c *Campaign) preparer(s *loop.State) *preparer {
	return &preparer{wordings: c.Wordings, repo: c.repo, user: c.user, suite: c.Sealed.Suite, state: s}
}

// followed says whether the projections are renewed after an event; trials are
// too many for that and come with their round.
func followed(p loop.Payload) bool {
	switch p.(type) {
	case loop.Closed, loop.Decided, loop.Halted, loop.Paused, loop.Ended:
		return true
	}
	return false
}

// end closes the campaign under way because what measures changes. Its reports
// follow when it is next opened.
func (c *Campaign) end(ctx context.Context, why string) error {
	s := c.Current()
	if s == nil || s.Ended != nil {
		return nil
	}
	outcome := loop.NoChange
	if len(s.Kept) > 0 {
		outcome = loop.Unconfirmed
	}
	return c.record(ctx, loop.Ended{Outcome: outcome, Why: why, ByHand: true})
}

// Queue adds a candidate with an id of its own to the campaign under way.
func (c *Campaign) Queue(ctx context.Context, cand candidates.Candidate) error {
	return c.record(ctx, loop.Queued{Candidate: cand})
}
