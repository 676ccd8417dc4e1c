package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"

	"github.com/spf13/cobra"

	"loopd/internal/admission"
	"loopd/internal/app"
	"loopd/internal/config"
	"loopd/internal/git"
	"loopd/internal/hint"
	"loopd/internal/rehearsal"
	"loopd/internal/setup"
)

func newDoctor(e env) *cobra.Command {
	var asJSON, probe, judge, noIsolation bool
	var kind string
	cmd := &cobra.Command{
		Use: "doctor", Short: "can a campaign run here, and what to type if not", Args: noArgs,
		Long: "  loopd doctor\n  loopd doctor --probe\n\nLooks at the machine, the agent CLI, the plugin and its suite. Spends nothing:\nof the service it asks only whether its address answers.\nWith --probe it runs one session instead, against a simulated model, with the\nlaunch profile and the isolation of a campaign, in poisoned surroundings: an\ninvented user's settings, hooks, plugin, servers, instructions and variables. The\nrows say whether any of them reached the session, and whether the hook's note and\nthe skills did. Exits 3 when something keeps a campaign from starting.\n\n  LOOPD_JUDGE_CMD=./judge.sh loopd doctor --judge\n\nWith --judge it asks the judge every message of the suite's gold.yaml once, as a\ncampaign does before its first session, and prints what it got right. Exits 3\nwhen a campaign would halt: a YES where NO is right, fewer than 9 of 10 YES items\nright, or an item without an answer.",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if judge && probe {
				return hint.Usagef("loopd doctor --probe", "doctor: --judge and --probe are asked for one at a time")
			}
			if judge {
				return runJudge(cmd.Context(), e, noIsolation, asJSON)
			}
			if probe {
				return runProbe(cmd.Context(), e, rehearsal.AgentKind(kind), asJSON)
			}
			return runDoctor(cmd.Context(), e, asJSON)
		},
	}
	cmd.Flags().BoolVar(&probe, "probe", false, "run one simulated session in poisoned surroundings")
	cmd.Flags().StringVar(&kind, "agent", string(rehearsal.Claude), "agent CLI of the probe: claude or standin")
	cmd.Flags().BoolVar(&judge, "judge", false, "ask the judge the gold set now")
	flagNoIsolation(cmd, &noIsolation)
	flagJSON(cmd, &asJSON)
	return cmd
}

func runDoctor(ctx context.Context, e env, asJSON bool) error {
	l, configErr := loadConfig(e)
	if _, missing := errors.AsType[*config.NotFoundError](configErr); configErr != nil && !missing {
		return configErr
	}
	if configErr != nil {
		l.Config.Rung = e.Getenv("LOOPD_ISOLATION_RUNG") // the rest of the environment means nothing without a plugin
	}
	// Several rows tell of the same try.
	g := sync.OnceValues(func() (app.Isolation, error) { return app.ProbeIsolation(ctx, e.Env, l.Config.Rung) })
	checks := machineChecks(ctx, e, l.Config, g)
	if configErr == nil {
		checks = append(append(checks, pluginChecks(e, l.Config)...), settingsChecks(e, l.Config)...)
	}
	rows := setup.Examine(ctx, append(checks, serviceRow(e))...)
	stands, groundErr := g()
	rows = append(rows, rungRows(stands)...)
	if configErr == nil && groundErr == nil {
		rows = append(rows, programRows(ctx, e, l.Config, stands)...)
	}
	next := "loopd init"
	if home, err := app.HomeOf(e.Env, l.Config); configErr == nil && err == nil {
		next = nextStep(ctx, e, l.Config, home)
	}
	return tellRows(e, rows, next, asJSON)
}

func runProbe(ctx context.Context, e env, kind rehearsal.AgentKind, asJSON bool) error {
	rows, err := probeRows(ctx, e, kind)
	if err != nil {
		return err
	}
	return tellRows(e, rows, "loopd plan", asJSON)
}

// examined is the JSON of the verb.
type examined struct {
	Rows []setup.Row `json:"rows"`
}

// tellRows prints the rows and what to type next; a bad one is the exit code's.
func tellRows(e env, rows []setup.Row, next string, asJSON bool) error {
	if asJSON {
		if err := printJSON(e.stdout, examined{rows}); err != nil {
			return err
		}
	} else if err := printRows(e, rows); err != nil {
		return err
	}
	if setup.Worst(rows) == setup.HealthBad {
		return hint.New(hint.Measured, errors.New("a campaign cannot run here yet"), "")
	}
	if asJSON {
		return nil
	}
	_, err := fmt.Fprintf(e.stdout, "\nNext: %s\n", next)
	return err
}

func machineChecks(ctx context.Context, e env, cfg config.Config, ground func() (app.Isolation, error)) []setup.Check {
	return []setup.Check{
		setup.Git,
		setup.Agent(func(ctx context.Context) (string, string, error) {
			b, err := app.PinAgent(ctx, e.Env, agentNamed(e, cfg))
			return b.Path, b.Version, err
		}),
		setup.Isolation(func(context.Context) (string, error) {
			g, err := ground()
			return g.Sandbox.String(), err
		}, hint.Of),
		setup.Managed(app.ManagedFiles()...),
		setup.User(os.Geteuid(), func(context.Context) (int, bool) {
			g, err := ground()
			return g.UID, err == nil
		}),
		setup.CheckOf("credential", "loopd login", setup.HealthBad, func(context.Context) (string, error) {
			c, err := config.FindCredential(e.Getenv)
			return c.String(), err
		}),
		func(ctx context.Context) setup.Row { return graphRow(ctx, e, cfg) },
	}
}

// notLooked is the row of a check that another row's cause keeps from being made.
func notLooked(name, cause string) setup.Row {
	return setup.Row{Name: name, Health: setup.HealthWarning, Detail: "not looked at: " + cause}
}

// suiteCheck is the name of the row that tells of the suite.
const suiteCheck = "suite"

// graphRow looks for graphify where a scenario rests on a code graph, also before
// the suite is sealed.
func graphRow(ctx context.Context, e env, cfg config.Config) setup.Row {
	if cfg.Plugin == "" {
		return setup.Graphify(ctx)
	}
	w, err := openWorkbench(ctx, e)
	if err != nil {
		return notLooked("graphify", suiteCheck)
	}
	defer w.close()
	if len(w.subject.Suite.Checker.Graph) == 0 {
		return setup.Row{Name: "graphify", Health: setup.HealthOK, Detail: "no scenario has a code graph"}
	}
	return setup.Graphify(ctx)
}

// pluginChecks are those that need the settings of a plugin.
func pluginChecks(e env, cfg config.Config) []setup.Check {
	home, homeErr := app.HomeOf(e.Env, cfg)
	return []setup.Check{
		setup.CheckOf("repository", "git init && git add --all && git commit", setup.HealthBad, func(context.Context) (string, error) {
			user, err := git.OpenUser(cfg.Plugin)
			if err != nil {
				return "", err
			}
			head, err := user.Head()
			return "at " + head.Commit, err
		}),
		func(ctx context.Context) setup.Row {
			if homeErr != nil {
				return setup.Row{Name: suiteCheck, Health: setup.HealthBad, Detail: homeErr.Error(), Fix: hint.Of(homeErr)}
			}
			sealed, err := openSuite(ctx, home, cfg)
			if err != nil {
				fix := cmp.Or(suiteStep(ctx, e, cfg, home), hint.Of(err), "loopd scenario lint")
				return setup.Row{Name: suiteCheck, Health: setup.HealthBad, Detail: err.Error(), Fix: fix}
			}
			detail := fmt.Sprintf("%s, seal %s holds", counted(len(sealed.Suite.Scenarios), "scenario"), sealed.Frozen.Digest().Short())
			return setup.Row{Name: suiteCheck, Health: setup.HealthOK, Detail: detail}
		},
		setup.Disk(home.Dir, admission.FreeBytes),
	}
}

func printRows(e env, rows []setup.Row) error {
	names := 0
	for _, r := range rows {
		names = max(names, len(r.Name))
	}
	indent := strings.Repeat(" ", 9+names+2)
	var b strings.Builder
	for _, r := range rows {
		b.WriteString(hung(fmt.Sprintf("%-9s%-*s", r.Health, names+2, r.Name), strings.ReplaceAll(r.Detail, "\n", "; ")))
		if r.Fix != "" {
			fmt.Fprintf(&b, "%s  fix: %s\n", indent, r.Fix) // whole, to be copied
		}
	}
	_, err := fmt.Fprint(e.stdout, b.String())
	return err
}
