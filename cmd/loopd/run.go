package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"loopd/harness"
	"loopd/internal/admission"
	"loopd/internal/app"
	"loopd/internal/config"
	"loopd/internal/daemon"
	"loopd/loop"
)

// newResume is run with the pause or the halt lifted first.
func newResume(e env) *cobra.Command {
	o := runOptions{Ask: app.Ask{Resume: true}}
	cmd := &cobra.Command{
		Use: "resume", Short: "go on with a campaign that was paused or halted", Args: noArgs,
		Long: "  loopd login && loopd resume\n\nA campaign that met a limit, or was halted because a login, a bill or a model's\nname was refused, goes on where it stopped. A halt for a changed suite does not\nlift: \"loopd freeze\" ends that campaign.",
		RunE: func(cmd *cobra.Command, _ []string) error { return runRun(cmd.Context(), e, o) },
	}
	o.flags(cmd)
	return cmd
}

type runOptions struct {
	app.Ask
	json bool
}

// command is what a loopd that runs already is told instead; empty for nothing.
func (o runOptions) command() daemon.Command {
	switch {
	case o.Resume:
		return daemon.Resume
	case o.Finish:
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
end, the second stops at once.

With --finish no further candidate is taken up: what was kept so far goes to the
gate, and the campaign ends with its verdict. A loopd that runs here is told to.`,
		RunE: func(cmd *cobra.Command, _ []string) error { return runRun(cmd.Context(), e, o) },
	}
	f := cmd.Flags()
	flagSessions(cmd, &o.Sessions)
	f.StringVar(&o.Until, "until", "", "budget: the sessions that fit until this time of day, such as 06:30")
	f.Float64Var(&o.Cost, "cost", 0, "budget: the sessions that cost so many USD at list price")
	o.flags(cmd)
	flagProfile(cmd, &o.Profile, "the setting")
	f.BoolVar(&o.Finish, "finish", false, "end the search of the campaign under way and run its gate now")
	f.BoolVar(&o.New, "new", false, "open a new campaign even if the last one's gate could go on")
	f.Uint64Var(&o.Seed, "seed", 0, "seed of every coin; 0 takes it from the clock")
	return cmd
}

// flags are those of every verb that runs sessions of a campaign.
func (o *runOptions) flags(cmd *cobra.Command) {
	f := cmd.Flags()
	flagParallel(cmd, &o.Parallel)
	f.BoolVar(&o.NoWait, "no-wait", false, "stop at a limit of the account instead of waiting until it lifts")
	flagNoIsolation(cmd, &o.NoIsolation)
	flagJSON(cmd, &o.json)
}

func runRun(ctx context.Context, e env, o runOptions) error {
	if command := o.command(); command != "" {
		if told, err := tell(ctx, e, command, ""); told || err != nil {
			return err
		}
	}
	l, err := loadConfig(e)
	if err != nil {
		return err
	}
	n, err := openNight(ctx, e, l.Config, o)
	if err != nil {
		return err
	}
	defer n.Close()
	if err := n.Begin(ctx); err != nil {
		return err
	}
	warnOfNone(e, n)
	if err := listen(ctx, e, n); err != nil {
		return err
	}
	return conclude(e, n, o.json)
}

// openNight opens the campaign of the settings, with advice where no budget was
// given or one that can confirm little.
func openNight(ctx context.Context, e env, cfg config.Config, o runOptions) (*app.Night, error) {
	o.Suite, o.Status, o.Log = openSuite, look, logger(e)
	n, err := app.Open(ctx, e.Env, cfg, o.Ask)
	if errors.Is(err, app.ErrNoBudget) {
		// Advice that takes too long is left out; the refusal stays one.
		if err := suggestBudgets(ctx, e); err != nil && (ctx.Err() != nil || !errors.Is(err, context.DeadlineExceeded)) {
			return nil, err
		}
	}
	if err != nil {
		return nil, err
	}
	if s := n.Campaign.Current(); s == nil || s.Ended != nil && (o.New || !s.GateOpen()) {
		warnOfLittle(ctx, e, n)
	}
	return n, nil
}

// warnOfLittle says when a budget cannot confirm anything. It is the user's to
// spend all the same.
func warnOfLittle(ctx context.Context, e env, n *app.Night) {
	p := planner{cfg: n.Config, grid: n.Grid, bytes: assumedBytes}
	p.rates, p.from = ratesOf(n.Sessions.Suite.Checker.Plugin, n.Grid.Objective, n.Campaign.States())
	out, err := p.outlook(ctx, n.Budget.Sessions, n.Profile())
	if err == nil && !out.Reachable {
		fmt.Fprintf(e.stderr, "loopd: warning: %s can hardly confirm anything under the profile\nloopd: %s; the smallest budget that would is %d\n",
			app.Plural(n.Budget.Sessions), out.Profile, out.Smallest)
	}
}

// listen works on the campaign and hears the other verbs meanwhile.
func listen(ctx context.Context, e env, n *app.Night) error {
	bar := newProgress(e, n.Campaign.Current().Budget())
	defer bar.close()
	handler := daemon.NewHandler(daemon.NewStatus("run", admission.Wall{}, e.drain))
	socket, err := daemon.Serve(n.Campaign.Home.Dir, handler)
	if err != nil {
		return err
	}
	defer socket.Close()
	asks, shut := handler.Open()
	defer shut()
	return n.Run(ctx, e.drain, n.Budget.Deadline, app.Watch{Asks: asks, Status: handler.Status, Observe: bar.observe, Say: func(until time.Time) {
		sayPaused(ctx, e, n.Campaign.Current(), n.Budget.Deadline, until, false)
	}})
}

// sayPaused says what is waited for; end is when the time given is over.
func sayPaused(ctx context.Context, e env, s *loop.State, end, until time.Time, serving bool) {
	p, now := s.Paused, time.Now()
	switch {
	case p.Battery:
		fmt.Fprintf(e.stderr, "loopd: paused: %s; going on when the machine has AC power\n", p.Reason)
	case p.Class == harness.Disk:
		fmt.Fprintf(e.stderr, "loopd: paused: %s; going on when there is space\n", p.Reason)
	case !end.IsZero() && until.After(end):
		fmt.Fprintf(e.stderr, "loopd: the limit lifts at %s, after the time given is over at %s\n", timeText(now, until), timeText(now, end))
	default:
		reason, class := app.PauseReason(s)
		fmt.Fprintf(e.stderr, "loopd: paused: %s%s; going on at %s\n", reason, app.WhyFailed(ctx, e.Env, class), timeText(now, until))
		if !serving {
			fmt.Fprintln(e.stderr, "loopd: --no-wait stops instead")
		}
	}
}

// timeText writes a moment as people at this machine say it, with the day where
// it is not that of now.
func timeText(now, t time.Time) string {
	now, t = now.Local(), t.Local()
	if now.YearDay() == t.YearDay() && now.Year() == t.Year() {
		return t.Format("15:04")
	}
	return t.Format("Mon 15:04")
}

// quotaLine is how much of a subscription is used, empty where nobody said.
func quotaLine(q harness.Quota) string {
	if q.IsZero() {
		return ""
	}
	line := fmt.Sprintf("5h %.0f %%", 100*q.FiveHour.Used)
	if !q.FiveHour.Resets.IsZero() {
		line += ", resets " + timeText(time.Now(), q.FiveHour.Resets)
	}
	line += fmt.Sprintf("; 7d %.0f %%", 100*q.SevenDay.Used)
	if q.SevenDay.Used >= .5 && !q.SevenDay.Resets.IsZero() {
		line += ", resets " + timeText(time.Now(), q.SevenDay.Resets)
	}
	return line
}
