package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"loopd/frozen"
	"loopd/harness"
	"loopd/internal/agent"
	"loopd/internal/app"
	"loopd/internal/campaign"
	"loopd/internal/hint"
	"loopd/internal/rehearsal"
	"loopd/loop"
)

type rehearseOptions struct {
	seeds      string // one, or a range
	seed       uint64
	agent      string
	candidates int
	kinds      []string
	sessions   int
	parallel   int
	fault      string
	profile    string
	suite      string
	proposer   string
	dir        string
	resume     string
	json       bool
	printPlan  bool
	daemon     bool
}

const rehearseHelp = `  loopd rehearse --seed 1

Runs a whole campaign with a simulated model: the real loop, git, seal, hooks,
sandboxes, checker, statistics and reports, in a directory of its own. Candidates
and faults are planted, their right verdicts are fixed before any session, and
the end prints planned against actual. Its numbers say nothing about any real
model. Exits 3 when a verdict is not one of the right ones. With --proposer agent
an agent brings leaks beside clean edits. LOOPD_CLAUDE names the real agent CLI
for --agent claude.`

func newRehearse(e env) *cobra.Command {
	var o rehearseOptions
	cmd := &cobra.Command{
		Use: "rehearse", Short: "a whole campaign with a simulated model: no account, no key", Long: rehearseHelp, Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return runRehearse(cmd.Context(), e, o) },
	}
	f := cmd.Flags()
	f.StringVar(&o.seeds, "seed", "1", "seed of every coin and draw, or a range of them for several rehearsals, such as 1-10")
	f.StringVar(&o.agent, "agent", string(rehearsal.StandIn), "agent CLI: standin or claude")
	f.IntVar(&o.candidates, "candidates", 0, "plant only so many candidates; 0 for all")
	f.StringSliceVar(&o.kinds, "kinds", nil, "plant only these kinds; shotgun and always_write are planted\nonly when they are named")
	f.IntVar(&o.sessions, "sessions", 0, "budget in sessions; 0 for what the profile needs")
	f.IntVar(&o.parallel, "parallel", 2, "sessions side by side")
	f.StringVar(&o.fault, "fault", "", "plant a fault of the whole campaign: frozen-drift, model-drift or judge-gullible")
	flagProfile(cmd, &o.profile, string(loop.Fast))
	flagSuite(cmd, &o.suite, "the bundled suite to rehearse; empty for "+campaign.BundledSuite)
	f.StringVar(&o.proposer, "proposer", "", "who fills the empty queue: builtin or agent")
	f.StringVar(&o.dir, "dir", "", "work in this new directory and keep it")
	f.StringVar(&o.resume, "resume", "", "continue the rehearsal in this directory")
	f.BoolVar(&o.daemon, "daemon", false, "rehearse a night as \"loopd serve\" runs it: windows, a busy service,\na limit, a hang, a crash, a day on which the clocks are moved")
	flagJSON(cmd, &o.json)
	f.BoolVar(&o.printPlan, "print-plan", false, "print what is planted, and run nothing")
	cmd.AddCommand(unlisted(newNight(e)))
	return cmd
}

func runRehearse(ctx context.Context, e env, o rehearseOptions) error {
	o.suite, o.profile = cmp.Or(o.suite, campaign.BundledSuite), cmp.Or(o.profile, string(loop.Fast))
	if o.sessions == 0 {
		o.sessions = rehearsal.DefaultSessions(loop.Profile(o.profile))
	}
	from, to, err := seedRange(o.seeds)
	if err != nil {
		return err
	}
	o.seed = from
	if err := o.check(); err != nil {
		return err
	}
	if o.printPlan {
		return printPlan(e, o)
	}
	switch {
	case o.daemon:
		return rehearseNight(ctx, e, o)
	}
	if from == to {
		return rehearseOnce(ctx, e, o)
	}
	return rehearseMany(ctx, e, o, to)
}

// planned is the JSON of --print-plan.
type planned struct {
	Candidates []rehearsal.Planted `json:"candidates"`
}

func printPlan(e env, o rehearseOptions) error {
	plan, err := planOf(o)
	if err != nil {
		return err
	}
	if o.json {
		return printJSON(e.stdout, planned{plan.Candidates})
	}
	_, err = fmt.Fprint(e.stdout, plan.Print())
	return err
}

func planOf(o rehearseOptions) (rehearsal.Plan, error) {
	suite, err := campaign.ReadBundled(o.suite)
	if err != nil {
		return rehearsal.Plan{}, err
	}
	sown, err := rehearsal.ReadPlanting(suite, o.planted()...)
	if err != nil {
		return rehearsal.Plan{}, err
	}
	grid := campaign.GridOf(suite, nil, nil)
	return rehearsal.NewPlan(sown, grid.Objective, grid.Guards, o.candidates, loop.Profile(o.profile), rehearsal.Fault(o.fault))
}

func rehearseOnce(ctx context.Context, e env, o rehearseOptions) error {
	res, err := rehearse(ctx, e, o)
	if err != nil {
		return err
	}
	if o.json {
		err = printJSON(e.stdout, res)
	} else {
		err = printRehearsal(e, res)
		if dir := o.kept(); err == nil && dir != "" {
			err = printKept(e, dir)
		}
	}
	if err != nil {
		return err
	}
	return judgeRehearsal(res, o)
}

// judgeRehearsal turns what came of a rehearsal into an exit code.
func judgeRehearsal(res rehearsal.Result, o rehearseOptions) error {
	switch {
	case byDrift(res.HaltedBy):
		return hint.New(hint.Drift, driftError(res.HaltedBy, res.Drift), "loopd rehearse --seed "+strconv.FormatUint(o.seed, 10))
	case res.HaltedBy != "":
		return hint.New(hint.Failed, fmt.Errorf("halted: %s", res.HaltedBy), "")
	case res.Outcome == "":
		return loop.ErrDrained
	case res.Outcome == loop.NothingMeasured:
		return hint.New(hint.Failed, fmt.Errorf("nothing was measured"), "")
	case !res.UserUntouched:
		return hint.New(hint.Measured, fmt.Errorf("the user's repository was changed"), "")
	case res.Orphans > 0:
		return hint.New(hint.Measured, fmt.Errorf("%d processes outlived their session", res.Orphans), "")
	case res.Mismatches > 0:
		return hint.New(hint.Measured, fmt.Errorf("%d verdicts or classes of planted faults are not the right ones", res.Mismatches), "")
	}
	return nil
}

// byDrift says whether a halt is about the seal. The reason may go on with the
// path a session saw changed.
func byDrift(reason string) bool {
	return strings.HasPrefix(reason, string(harness.DriftedSeal))
}

// driftError names each changed path with what was sealed and what was found;
// of a file that was put back since, the reason alone is left.
func driftError(reason string, deltas []frozen.Delta) error {
	if len(deltas) == 0 {
		return errors.New("halted by " + reason)
	}
	lines := []string{"halted by drift: the seal does not match"}
	for _, d := range deltas {
		lines = append(lines, d.String())
	}
	return errors.New(strings.Join(lines, "\n"))
}

// rehearse runs one rehearsal.
func rehearse(ctx context.Context, e env, o rehearseOptions) (rehearsal.Result, error) {
	dir, keep, err := o.directory()
	if err != nil {
		return rehearsal.Result{}, err
	}
	if o.dir = e.Path(dir); !keep { // walls are built of absolute paths
		defer os.RemoveAll(dir)
	}
	j, err := o.job(e)
	if err != nil {
		return rehearsal.Result{}, err
	}
	options, err := j.options(ctx, e)
	if err != nil {
		return rehearsal.Result{}, err
	}
	bar := newProgress(e, options.Sessions)
	defer bar.close()
	options.Observe = bar.observe
	return rehearsal.Run(ctx, options)
}

// rehearsalJob is a rehearsal to run or to go on with, and what a night hands the process
// of its own it runs in.
type rehearsalJob struct {
	Setup    rehearsal.Setup
	Dir      string
	Resume   bool
	Parallel int
}

// job is the rehearsal that was asked for, in the directory given.
func (o rehearseOptions) job(e env) (rehearsalJob, error) {
	if o.resume != "" {
		dir := e.Path(o.resume)
		setup, err := rehearsal.Read(dir)
		if err != nil {
			return rehearsalJob{}, hint.New(hint.Usage, err, "loopd rehearse --dir "+dir)
		}
		return rehearsalJob{setup, dir, true, o.parallel}, nil
	}
	return rehearsalJob{rehearsal.Setup{
		Seed: o.seed, Agent: rehearsal.AgentKind(o.agent), Candidates: o.candidates, Sessions: o.sessions, Fault: rehearsal.Fault(o.fault),
		Profile: loop.Profile(o.profile), Suite: o.suite, Kinds: o.planted(), Proposer: rehearsal.ProposerKind(o.proposer),
	}, o.dir, false, o.parallel}, nil
}

// options are those of the rehearsal, with what this machine has.
func (j rehearsalJob) options(ctx context.Context, e env) (rehearsal.Options, error) {
	binary, err := rehearsed(ctx, e, j.Setup)
	if err != nil {
		return rehearsal.Options{}, err
	}
	return rehearsal.Options{
		Setup: j.Setup, Dir: j.Dir, Resume: j.Resume, Binary: binary, Isolation: app.IsolationOrNone(ctx, e.Env, ""), Parallel: j.Parallel,
		Log: logger(e), Drain: e.drain,
	}, nil
}

// kept is the directory that is still there afterwards, if any.
func (o rehearseOptions) kept() string {
	if o.resume != "" {
		return o.resume
	}
	return o.dir
}

// check refuses what cannot be meant.
func (o rehearseOptions) check() error {
	if err := knownSuite("loopd rehearse", o.suite); err != nil {
		return err
	}
	switch fault, profile := rehearsal.Fault(o.fault), loop.Profile(o.profile); {
	case fault != rehearsal.NoFault && !slices.Contains(rehearsal.Faults(), fault):
		return hint.Usagef("loopd rehearse --fault frozen-drift", "unknown fault %q", fault)
	case !slices.Contains(loop.Profiles(), profile):
		return hint.Usagef("loopd rehearse --profile strict", "unknown profile %q", profile)
	case o.proposer != "" && !slices.Contains(rehearsal.Proposers(), rehearsal.ProposerKind(o.proposer)):
		return hint.Usagef("loopd rehearse --proposer builtin", "unknown proposer %q: builtin or agent", o.proposer)
	case unknownKind(o.planted()) != "":
		return hint.Usagef("loopd rehearse --kinds shotgun,always_write", "unknown kind %q of candidate", unknownKind(o.planted()))
	case o.candidates < 0 || o.sessions < 1 || o.parallel < 1:
		return hint.Usagef("loopd rehearse --help", "--candidates %d, --sessions %d, --parallel %d: too small", o.candidates, o.sessions, o.parallel)
	}
	if _, err := planOf(o); len(o.kinds) > 0 && err != nil {
		return hint.Usagef("loopd rehearse --print-plan", "%v", err)
	}
	return nil
}

// planted are the kinds to plant, none for the usual ones.
func (o rehearseOptions) planted() []rehearsal.Kind {
	var out []rehearsal.Kind
	for _, k := range o.kinds {
		out = append(out, rehearsal.Kind(k))
	}
	return out
}

func unknownKind(kinds []rehearsal.Kind) rehearsal.Kind {
	for _, k := range kinds {
		if !slices.Contains(rehearsal.Kinds(), k) {
			return k
		}
	}
	return ""
}

func (o rehearseOptions) directory() (dir string, keep bool, err error) {
	switch {
	case o.resume != "":
		return o.resume, true, nil
	case o.dir != "":
		return o.dir, true, nil
	}
	dir, err = os.MkdirTemp("", "loopd-rehearsal-")
	return dir, false, err
}

// rehearsed is the agent CLI that a rehearsal runs.
func rehearsed(ctx context.Context, e env, s rehearsal.Setup) (agent.Binary, error) {
	switch s.Agent {
	case rehearsal.StandIn:
		return app.StandIn()
	case rehearsal.Claude:
		return app.PinAgent(ctx, e.Env, app.FindAgent(e.Env, ""))
	}
	return agent.Binary{}, hint.Usagef("loopd rehearse --agent standin", "unknown agent %q: standin or claude", s.Agent)
}

// printRehearsal shows planned against actual.
func printRehearsal(e env, r rehearsal.Result) error {
	w := e.table()
	fmt.Fprintf(w, "Simulated campaign, seed %d, agent %s: %s\n\n", r.Seed, r.Agent, outcomeText(r))
	fmt.Fprintln(w, "id\tplanted\tverdict\tsessions\tE\t")
	for _, c := range r.Candidates {
		fmt.Fprintf(w, "%s\t%s\t%s\t%d\t%s\t%s\n", c.ID, c.Planted, verdictText(c.Verdict, c.Reason), c.Sessions, eText(c.EValue), mark(c))
	}
	if err := w.Flush(); err != nil {
		return err
	}
	fmt.Fprint(e.stdout, "\n"+fitted(fmt.Sprintf("%d sessions, %d valid, %s; %s", r.Sessions, r.Valid, invalidText(r.Invalid), noteText(r)), "  ", e.page))
	fmt.Fprintf(e.stdout, "%d of %d planted faults as planned\n", shownRight(r.Faults), len(r.Faults))
	fmt.Fprint(e.stdout, fitted(fmt.Sprintf("%d of %d sessions isolated; %d mismatches, %d orphan processes, user's repository untouched: %s",
		r.Isolated, r.Sessions, r.Mismatches, r.Orphans, yesNo(r.UserUntouched)), "  ", e.page))
	if p := r.Proposals; p != nil {
		fmt.Fprint(e.stdout, fitted(proposalsText(*p), "  ", e.page))
	}
	_, err := fmt.Fprintf(e.stdout, "%.0f s, %.2f s a session, at most %.0f MB resident\n", r.WallSeconds, r.SessionSeconds, r.ResidentMB)
	return err
}

// proposalsText says what a proposer brought. Only a scripted one plants anything.
func proposalsText(p rehearsal.Proposals) string {
	text := fmt.Sprintf("%d candidates of %d asks (%d in vain, %d for a deletion)", p.Made, p.Asks, p.InVain, p.Deletions)
	if p.CleanPlanted > 0 {
		text += fmt.Sprintf(";\n%d of %d planted leaks accepted, %d of %d clean edits refused", p.LeaksAccepted, p.LeaksPlanted, p.CleanRefused, p.CleanPlanted)
	}
	return text
}

func shownRight(faults []rehearsal.ShownFault) int {
	n := 0
	for _, f := range faults {
		if f.Right {
			n++
		}
	}
	return n
}

// noteText says how often the hook's note arrived; not every plugin has a hook.
func noteText(r rehearsal.Result) string {
	if r.ExpectNote == 0 {
		return "no session expects a hook note"
	}
	return fmt.Sprintf("hook note verified in %d of %d that expect it", r.VerifiedNotes, r.ExpectNote)
}

// printKept says where to look further when the directory stays.
func printKept(e env, dir string) error {
	_, err := fmt.Fprintf(e.stdout, "\nKept in %s\n\nNext: loopd report --state %s\n", dir, filepath.Join(dir, "state"))
	return err
}
