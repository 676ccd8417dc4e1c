package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"loopd/internal/campaign"
	"loopd/internal/config"
	"loopd/internal/hint"
	"loopd/internal/trial"
	"loopd/loop"
)

type rescoreOptions struct {
	suite        string
	state        string
	campaign     string
	ask          bool
	allowMissing bool
	accept       bool
	reason       string
	json         bool
}

const rescoreHelp = `  loopd verify rescore --suite ../suite-fixed
  loopd verify rescore --suite ../suite-fixed --accept --reason "the citation rule was too strict"

Scores every kept session of a campaign again, by the rules of a suite and of
this program, and lists each trial and verdict that would come out otherwise
beside what was recorded. It starts no session and changes nothing. Exit code 0
nothing differs, 3 something does, 1 where a kept session is gone or damaged
(--allow-missing lets it stand as recorded).

With --accept the result is recorded, and reports show it beside the recorded
one. That can take a keep or a promotion back and grants neither: the promise is
about the procedure that ran. A judge is asked only with --ask, and only what
nobody has answered.`

func newRescore(e env) *cobra.Command {
	var o rescoreOptions
	cmd := &cobra.Command{
		Use: "rescore [CAMPAIGN]", Short: "score the kept sessions again, by rules that changed", Long: rescoreHelp, Args: atMostOne("campaign"),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.campaign = strings.Join(args, "") // the newest where none is named
			return runRescore(cmd.Context(), e, o)
		},
	}
	f := cmd.Flags()
	flagSuite(cmd, &o.suite, "`directory` of a suite whose rules are asked, instead of the campaign's; it need not be sealed")
	flagState(cmd, &o.state)
	f.BoolVar(&o.ask, "ask", false, "ask the judge of the settings or of LOOPD_JUDGE_CMD what nobody has answered")
	f.BoolVar(&o.allowMissing, "allow-missing", false, "let sessions that are gone or damaged stand as recorded")
	f.BoolVar(&o.accept, "accept", false, "record the result")
	flagReason(cmd, &o.reason)
	flagJSON(cmd, &o.json)
	return cmd
}

func runRescore(ctx context.Context, e env, o rescoreOptions) error {
	if o.accept != (strings.TrimSpace(o.reason) != "") {
		return hint.Usagef(`loopd verify rescore --accept --reason "why the rules changed"`, "rescore: --accept and --reason go together")
	}
	home, cfg, err := o.places(ctx, e)
	if err != nil {
		return err
	}
	ro := campaign.RescoreOptions{Home: home, ID: o.campaign}
	if ro.Suite, err = o.rules(e, home, cfg); err != nil {
		return err
	}
	if ro.Judge, err = o.judge(e, cfg, ro.Suite); err != nil {
		return err
	}
	found, err := campaign.Rescore(ctx, ro)
	_, unknown := errors.AsType[*campaign.NoCampaignError](err)
	if unknown {
		return hint.Usagef("loopd status", "rescore: %w", err)
	}
	if err != nil {
		return err
	}
	if o.json {
		err = printJSON(e.stdout, found)
	} else {
		err = printRescoring(e, found)
	}
	if err != nil {
		return err
	}
	if found.Differs() && found.Instrument == found.Recorded {
		fmt.Fprintln(e.stderr, "loopd: the same rules give other results: what was kept is not what was scored")
	}
	return o.outcome(ctx, e, home, cfg, found)
}

// places finds the state directory with a campaign in it, and the settings where
// it is not given.
func (o rescoreOptions) places(ctx context.Context, e env) (campaign.Home, config.Config, error) {
	r, err := openReview(ctx, e, o.state)
	if err == nil {
		_, err = r.current()
	}
	if err != nil || o.state != "" {
		return r.home, config.Config{}, err
	}
	l, err := loadConfig(e)
	return r.home, l.Config, err
}

// rules reads the suite named, or the one the campaign was run with, as it lies
// there: whether it is what was sealed is part of the answer.
func (o rescoreOptions) rules(e env, home campaign.Home, cfg config.Config) (campaign.Sealed, error) {
	dir := home.Suite()
	switch {
	case o.suite != "":
		dir = e.Path(o.suite)
	case o.state == "" && cfg.Suite != config.Bundled:
		dir = cfg.Suite
	}
	if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
		return campaign.Sealed{}, hint.Usagef("loopd verify rescore --suite loopd-suite", "rescore: no suite in %s", dir)
	}
	s, err := campaign.LoadSuite(dir)
	if err != nil {
		return s, hint.New(hint.Usage, err, "loopd verify rescore --help")
	}
	return s, nil
}

func (o rescoreOptions) judge(e env, cfg config.Config, s campaign.Sealed) (trial.Judge, error) {
	if !o.ask {
		return nil, nil
	}
	j := storedJudge(e, cfg, s.Suite)
	if j == nil {
		return nil, hint.Usagef("LOOPD_JUDGE_CMD=./judge.sh loopd verify rescore --ask", "rescore: no judge is set")
	}
	return j, nil
}

// outcome records what is accepted, or turns the result into an exit code.
func (o rescoreOptions) outcome(ctx context.Context, e env, home campaign.Home, cfg config.Config, r campaign.Rescoring) error {
	switch {
	case len(r.Lost) > 0 && !o.allowMissing:
		return hint.New(hint.Failed, fmt.Errorf("%d of %d trials cannot be scored again", len(r.Lost), r.Sessions), "loopd verify rescore --allow-missing")
	case !r.Differs():
		return o.tellNext(e)
	case !o.accept:
		return hint.New(hint.Measured, errors.New(r.Summary()), o.acceptance(r))
	case r.State.Ended == nil:
		return hint.Usagef(nextAfter(r.State), "rescore: campaign %s has not ended, and is decided by the rules it began with", r.Campaign)
	case !r.Newest:
		return hint.Usagef("loopd verify rescore "+r.Campaign, "rescore: campaign %s is not the newest: its record is closed", r.Campaign)
	}
	if err := r.Accept(ctx, home, o.reason, time.Now); err != nil {
		return err
	}
	return o.follow(ctx, e, home, cfg)
}

// follow renews what follows from the ledger, and says what does not.
func (o rescoreOptions) follow(ctx context.Context, e env, home campaign.Home, cfg config.Config) error {
	if o.state == "" {
		sealed, err := openSuite(ctx, home, cfg)
		if err == nil {
			_, err = campaign.Check(ctx, campaign.Options{Home: home, Plugin: cfg.Plugin, Sealed: sealed, Now: time.Now, Log: logger(e)}, false)
		}
		if err != nil {
			return fmt.Errorf("the rescore is recorded; renew the reports of candidates: %w", err)
		}
	}
	fmt.Fprintln(e.stderr, "loopd: recorded")
	return o.tellNext(e)
}

// tellNext says what to type after a rescore that is done with.
func (o rescoreOptions) tellNext(e env) error {
	if o.json {
		return nil
	}
	_, err := fmt.Fprintf(e.stdout, "\nNext: %s\n", withState("loopd report", o.state))
	return err
}

// acceptance is the command that records the result, empty where it cannot be.
func (o rescoreOptions) acceptance(r campaign.Rescoring) string {
	if !r.Newest || r.State.Ended == nil {
		return ""
	}
	command := "loopd verify rescore"
	for _, f := range []struct{ name, value string }{{"suite", o.suite}, {"state", o.state}, {"campaign", o.campaign}} {
		if f.value != "" {
			command += " --" + f.name + " " + quoted(f.value)
		}
	}
	if o.allowMissing {
		command += " --allow-missing"
	}
	return command + ` --accept --reason "why the rules changed"`
}

func printRescoring(e env, r campaign.Rescoring) error {
	fmt.Fprintf(e.stdout, "campaign %s: %d trials, %d scored again, %d left no stream to score\n", r.Campaign, r.Sessions, r.Scored, r.NoStream)
	rules := "the campaign's own"
	if r.Instrument != r.Recorded {
		rules = "the campaign had " + r.SealedAs.Short()
		if r.Seal == r.SealedAs {
			rules = "the campaign's own; the program's checks changed"
		}
	}
	fmt.Fprintf(e.stdout, "suite: %s, %s\n", r.Seal.Short(), rules)
	for _, l := range r.Lost {
		fmt.Fprintf(e.stdout, "cannot be scored again: %s %s: %s\n", l.ID, l.Cell, l.Why)
	}
	for _, why := range r.Stops {
		fmt.Fprintf(e.stdout, "would have stopped the campaign: %s\n", why)
	}
	if err := printScores(e, r.Trials); err != nil {
		return err
	}
	if err := printNewVerdicts(e, r.Verdicts); err != nil {
		return err
	}
	switch {
	case r.Accepted && r.Any():
		fmt.Fprintln(e.stdout, "\nthis is in the record, accepted")
	case !r.Any() && len(r.State.Rescored) > 0:
		fmt.Fprintln(e.stdout, "nothing differs from what was recorded first; an accepted rescore says otherwise")
	case !r.Any():
		fmt.Fprintln(e.stdout, "nothing differs from the record")
	}
	return nil
}

func printScores(e env, list []loop.ScoreChange) error {
	if len(list) == 0 {
		return nil
	}
	w := e.table()
	fmt.Fprintln(w, "\ntrial\tcell\twording\twas\tnow")
	for _, c := range list {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", c.ID, c.Cell, c.Wording, c.Was, c.Now)
	}
	return w.Flush()
}

func printNewVerdicts(e env, list []loop.NewVerdict) error {
	if len(list) == 0 {
		return nil
	}
	w := e.table()
	fmt.Fprintln(w, "\nabout\twas\tE\tnow\tE\tfrom")
	for _, v := range list {
		from := ""
		if v.Round > 0 {
			from = fmt.Sprintf("round %d", v.Round)
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\n", v.Subject, v.Was, eText(v.Was.EValue), v.Now, eText(v.Now.EValue), from)
	}
	return w.Flush()
}
