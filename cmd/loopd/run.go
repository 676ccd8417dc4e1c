package main

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"loopd/harness"
	"loopd/internal/admission"
	"loopd/internal/daemon"
	"loopd/internal/hint"
	"loopd/internal/isolate"
	"loopd/internal/trial"
	"loopd/loop"
)

// newFinish is run with the search ended first.
func newFinish(e env) *cobra.Command {
	o := runOptions{finish: true}
	cmd := &cobra.Command{
		Use: "finish", Short: "end the search of the campaign under way and run its gate now", Args: noArgs,
		Long: "  loopd finish\n\nTakes up no further candidate. What was kept so far goes to the gate, and the\ncampaign ends with its verdict. A loopd that runs here is told to.",
		RunE: func(cmd *cobra.Command, _ []string) error { return runRun(cmd.Context(), e, o) },
	}
	o.flags(cmd)
	return cmd
}

// newResume is run with the pause or the halt lifted first.
func newResume(e env) *cobra.Command {
	o := runOptions{resume: true}
	cmd := &cobra.Command{
		Use: "resume", Short: "go on with a campaign that was paused or halted", Args: noArgs,
		Long: "  loopd login && loopd resume\n\nA campaign that met a limit, or was halted because a login, a bill or a model's\nname was refused, goes on where it stopped. A halt for a changed suite does not\nlift: \"loopd freeze\" ends that campaign.",
		RunE: func(cmd *cobra.Command, _ []string) error { return runRun(cmd.Context(), e, o) },
	}
	o.flags(cmd)
	return cmd
}

type runOptions struct {
	limits
	profile     string
	anew        bool // a new campaign even where a gate is open
	finish      bool // end the search first
	resume      bool // lift a pause or a halt first
	parallel    int
	seed        uint64
	noIsolation bool
	noWait      bool // stop at a limit
	json        bool
	serving     bool // the state directory's own lock is held by serve

	ground ground
}

// word is what a loopd that runs already is told instead; empty for nothing.
func (o runOptions) word() daemon.Command {
	switch {
	case o.resume:
		return daemon.Resume
	case o.finish:
		return daemon.Finish
	}
	return ""
}

func newRun(e env) *cobra.Command {
	var o runOptions
	cmd := &cobra.Command{
		Use: "run", Short: "open or continue a campaign", Args: noArgs,
		Long: `  loopd run --sessions 400

Opens a campaign, or continues the one under way, and works through the queue
until the budget is used, a person stops it, or what measures has changed. A
limit of the account is waited out, and part of a subscription's allowances is
left for you (quota in loopd.yaml). The machine is kept awake; on its battery the
campaign waits for the mains (power in loopd.yaml). A campaign that ended at an unfinished gate goes on with the sessions given.
"loopd plan" says what a budget can find. The first signal lets running sessions
end, the second stops at once.`,
		RunE: func(cmd *cobra.Command, _ []string) error { return runRun(cmd.Context(), e, o) },
	}
	f := cmd.Flags()
	o.limits.flags(cmd)
	o.flags(cmd)
	f.StringVar(&o.profile, "profile", "", "rule for keeping: fast, strict, certified, scout; empty for the setting")
	f.BoolVar(&o.anew, "new", false, "open a new campaign even if the last one's gate could go on")
	f.Uint64Var(&o.seed, "seed", 0, "seed of every coin; 0 takes it from the clock")
	return cmd
}

// flags are those of every verb that runs sessions of a campaign.
func (o *runOptions) flags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.IntVar(&o.parallel, "parallel", 0, "sessions side by side; 0 for the setting")
	f.BoolVar(&o.noWait, "no-wait", false, "stop at a limit of the account instead of waiting until it lifts")
	f.BoolVar(&o.noIsolation, "i-accept-no-isolation", false, "go on where sessions cannot be isolated from this machine")
	f.BoolVar(&o.json, "json", false, "print the campaign report as JSON at the end")
}

func runRun(ctx context.Context, e env, o runOptions) error {
	if word := o.word(); word != "" {
		if told, err := tell(ctx, e, word, ""); told || err != nil {
			return err
		}
	}
	l, err := loadConfig(e)
	if err != nil {
		return err
	}
	if err := safeGround(e, l.Config); err != nil {
		return err
	}
	if o.ground, err = groundFor(ctx, e, l.Config, o.noIsolation); err != nil {
		return err
	}
	n, err := openNight(ctx, e, l.Config, o)
	if err != nil {
		return err
	}
	defer n.close()
	if err := n.begin(ctx, e); err != nil {
		return err
	}
	runErr := n.run(ctx, e)
	if runErr != nil {
		return runErr
	}
	return n.conclude(e)
}

// begin opens a new campaign, continues the one under way, or takes up the
// gate of the last one.
func (n *night) begin(ctx context.Context, e env) error {
	extended := false
	var err error
	if n.o.resume {
		if err := n.campaign.Resume(ctx); err != nil {
			return hint.Usagef(cmp.Or(hint.Of(err), "loopd status"), "resume: %w", err)
		}
	}
	if !n.o.anew {
		if extended, err = n.campaign.Extend(ctx, n.allowed.Sessions); err != nil {
			return fmt.Errorf("continue the gate: %w", err)
		}
	}
	if !extended {
		err = n.campaign.Begin(ctx, n.settings, n.grid)
	}
	if err == nil && n.o.finish {
		err = n.campaign.Grant(ctx, loop.Finished{})
	}
	if err != nil {
		return fmt.Errorf("start campaign: %w", err)
	}
	if n.allowed.Why != "" {
		fmt.Fprintln(e.stderr, "loopd: "+n.allowed.Why)
	}
	s := n.campaign.Current()
	if n.proposing(e).Ask == nil {
		warnOfNone(e, n.campaign.Home, s)
	}
	n.purses = pursesOf(n.cfg, s)
	n.trial.Instrument, n.trial.SpendLimits = s.Started.Instrument, n.purses.of
	n.trial.Asked, n.trial.Served = askedOf(s), servedOf(s)
	return nil
}

// run works on the campaign and listens to the other verbs meanwhile.
func (n *night) run(ctx context.Context, e env) error {
	bar := newProgress(e, n.campaign.Current().Budget())
	defer bar.close()
	desk := daemon.NewHandler(daemon.NewStatus("run", admission.Wall{}, e.drain))
	socket, err := daemon.Serve(n.campaign.Home.Dir, desk)
	if err != nil {
		return err
	}
	defer socket.Close()
	asks, shut := desk.Open()
	defer shut()
	return n.work(ctx, e, e.drain, listeners{asks: asks, board: desk.Status, observe: bar.observe})
}

// listeners are who hears of a campaign that runs, and who may speak to it.
type listeners struct {
	asks    <-chan loop.Request
	board   *daemon.Status
	observe func(*loop.State, loop.Event)
}

// work runs sessions until the campaign ends, halts, needs a person, or the time
// given is over.
func (n *night) work(ctx context.Context, e env, drain <-chan struct{}, who listeners) error {
	if _, err := isolate.Sweep(""); err != nil {
		return err
	}
	executor, err := trial.New(ctx, n.trial)
	if err != nil {
		return err
	}
	n.stayAwake(ctx, e)
	defer func() { n.awake.Stop() }()
	seen := who.board.Seen(n.trial.Store, executor)
	governed := n.purses.within(plugged{n.cfg.OnBattery, e.machine, roomFor(n.campaign.Home, n.cfg, n.governor.Govern(seen))})
	shift := daemon.Worker{
		Campaign: n.campaign, Governor: n.governor, Clock: admission.Wall{}, End: n.allowed.Deadline, NoWait: n.o.noWait, Asks: who.asks, Status: who.board,
		Loop:  loop.Loop{Executor: governed, TestJudge: n.testJudge, Parallel: n.parallel(), Observe: who.observe, Proposing: n.proposing(e)},
		Mains: func(ctx context.Context, stop <-chan struct{}) bool { return n.waitForMains(ctx, e, stop) },
		Room:  n.waitForRoom,
		Say:   func(until time.Time) { n.sayPaused(ctx, e, n.campaign.Current(), until) },
	}
	return shift.Run(ctx, drain)
}

// testJudge asks the judge the gold set.
func (n *night) testJudge(ctx context.Context) (harness.JudgeTest, error) {
	return trial.TestJudge(ctx, n.trial.Suite, n.trial.Judge, n.campaign.Judge, n.parallel())
}
