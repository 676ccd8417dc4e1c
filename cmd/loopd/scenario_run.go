package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"loopd/harness"
	"loopd/internal/app"
	"loopd/internal/hint"
	"loopd/report"
)

type cellOptions struct {
	reps        int
	results     string
	noIsolation bool
	json        bool
}

func newCell(e env) *cobra.Command {
	var o cellOptions
	cmd := &cobra.Command{
		Use: "run SCENARIO MODEL DIR", Short: "run one scenario on one tier, outside a campaign", Args: theArgs("SCENARIO", "MODEL", "DIR"),
		Long: "  loopd scenario run R2 haiku runs --reps 3 --results runs/results.tsv\n\nRuns the scenario with the plugin as HEAD has it and keeps every attempt below\nDIR. It is the only way a task reaches a model outside a campaign; nothing of it\nenters one. A suite that was never sealed is a draft: its rows have one more\ncolumn, draft, and a file of their own. With --json each session is one line.\nExit code 0 when every session was evidence and passed, 3 when one failed, 1\nwhen one was no evidence.",
		RunE: func(cmd *cobra.Command, args []string) error {
			return runCell(cmd.Context(), e, args[0], args[1], args[2], o)
		},
	}
	f := cmd.Flags()
	f.IntVar(&o.reps, "reps", 1, "sessions to run")
	f.StringVar(&o.results, "results", "", "append one row a session to this file")
	flagJSON(cmd, &o.json)
	flagNoIsolation(cmd, &o.noIsolation)
	return cmd
}

func runCell(ctx context.Context, e env, id, tier, dir string, o cellOptions) (err error) {
	dir = e.Path(dir)
	if o.reps < 1 {
		return hint.Usagef("loopd scenario run --help", "run cell: --reps %d is below 1", o.reps)
	}
	b, isDraft, err := openDraftBench(ctx, e)
	if err != nil {
		return err
	}
	defer b.close()
	if b.cfg.Plugin == "" {
		return hint.Usagef("loopd init", "run cell: no loopd.yaml here says which plugin a session gets")
	}
	if err := b.runnable(id, tier); err != nil {
		return err
	}
	sessions, err := b.sessions(ctx, e, dir, o.noIsolation)
	if err != nil {
		return err
	}
	defer sessions.Close()
	executor, err := sessions.Executor(ctx)
	if err != nil {
		return err
	}
	rows, err := openRows(e, o.results, isDraft)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	said, name := cellSaid{rows: rows, json: o.json, draft: isDraft}, "cell"
	if isDraft {
		name = "draft"
		fmt.Fprintln(e.stderr, "loopd: the suite is a draft, not sealed: rows are marked draft and enter no campaign")
	}
	var worst error
	for rep := 1; rep <= o.reps; rep++ {
		select {
		case <-e.drain:
			return context.Canceled
		default:
		}
		spec := harness.Spec{
			Campaign: fmt.Sprintf("%s-%d", name, time.Now().UnixNano()), Attempt: 1,
			Slot: harness.Slot{Wording: b.commit, Cell: harness.Cell{Scenario: id, Tier: tier}, Rep: rep},
		}
		t, err := executor.Run(ctx, spec)
		if err != nil {
			return err
		}
		worst = worse(worst, t, app.WhyFailed(ctx, e.Env, t.Class))
		if err := said.tell(e, t, filepath.Join(dir, t.ID)); err != nil {
			return err
		}
	}
	return worst
}

// runnable says whether the cell is one of the suite's that can be run here.
func (b bench) runnable(id, tier string) error {
	sc, ok := b.sealed.Suite.Scenario(id)
	if !ok {
		return hint.Usagef("loopd selftest", "run cell: the suite has no scenario %q", id)
	}
	if _, ok := b.sealed.Suite.Launch.Model(tier); !ok {
		return hint.Usagef("loopd scenario run --help", "run cell: the launch profile has no tier %q", tier)
	}
	_, unrun := b.sealed.Suite.Runnable(sc.Role, b.graphs)
	for _, u := range unrun {
		if u.Scenario == id {
			return hint.Usagef(u.Hint, "run cell: %s is not run: %s", id, u.Reason)
		}
	}
	return nil
}

// sessions opens what real sessions need, and a judge that is one, keeping
// attempts in dir.
func (b bench) sessions(ctx context.Context, e env, dir string, noIsolation bool) (*app.Sessions, error) {
	parts, err := app.RealParts(ctx, e.Env, b.cfg, b.home, b.sealed, b.graphs, noIsolation)
	if err != nil {
		return nil, err
	}
	parts.Wording, parts.Store = app.Fixed(b.wording), dir
	return app.Connect(ctx, parts)
}

// draftColumn is the last column of a draft's rows, and what stands in it.
const draftColumn = "draft"

// marked is a row with the column of a draft, where it is one's.
func marked(row []byte, isDraft bool) []byte {
	if !isDraft {
		return row
	}
	return append(bytes.TrimSuffix(row, []byte("\n")), "\t"+draftColumn+"\n"...)
}

// openRows opens the file of results before the first session is paid for, and
// begins a new one with the header. Rows of a draft and of a sealed suite never
// stand in one file. Without a name, rows go nowhere else.
func openRows(e env, name string, isDraft bool) (io.WriteCloser, error) {
	if name == "" {
		return nothing{io.Discard}, nil
	}
	name = e.Path(name)
	f, err := os.OpenFile(name, os.O_CREATE|os.O_APPEND|os.O_RDWR, 0o600)
	if err != nil {
		return nil, hint.New(hint.Usage, fmt.Errorf("open results: %w", err), "loopd scenario run --help")
	}
	header := marked(report.RowHeader(), isDraft)
	first, err := bufio.NewReader(io.LimitReader(f, 4096)).ReadBytes('\n')
	switch {
	case len(first) == 0 && errors.Is(err, io.EOF):
		_, err = f.Write(header)
	case bytes.HasSuffix(first, []byte("\t"+draftColumn+"\n")) != isDraft:
		err = hint.Usagef("loopd scenario run --help", "open results: %s: rows of a draft and of a sealed suite do not go into one file", name)
	case errors.Is(err, io.EOF):
		err = nil
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// nothing is a file that keeps nothing.
type nothing struct{ io.Writer }

func (nothing) Close() error { return nil }

// cellSession is the JSON of the verb, one a session.
type cellSession struct {
	scored
	Tier      string   `json:"tier"`
	Rep       int      `json:"rep"`
	Trial     string   `json:"trial"`
	Kept      string   `json:"kept"` // directory of the attempt
	Model     string   `json:"model"`
	Isolation string   `json:"isolation"`
	CostUSD   *float64 `json:"cost_usd"` // null when nothing says
	Seconds   float64  `json:"seconds"`
	// Draft says that the suite was not sealed: the session is comparable with
	// nothing.
	Draft bool `json:"draft"`
}

// cellSaid is where sessions are told of, and how.
type cellSaid struct {
	rows        io.Writer
	json, draft bool
}

// tell prints a session, as its row or as JSON, and appends its row to the
// results.
func (s cellSaid) tell(e env, t harness.Trial, kept string) error {
	cell := t.Spec.Slot.Cell
	row := marked(report.Row(cell.Scenario, cell.Tier, t.Class, t.Result), s.draft)
	said := row
	if s.json {
		var err error
		if said, err = marshal(cellSession{
			scored: scored{Scenario: cell.Scenario, Class: t.Class, Why: t.Why, Result: t.Result}, Tier: cell.Tier, Rep: t.Spec.Slot.Rep, Trial: t.ID,
			Kept: kept, Model: t.Model, Isolation: t.Isolation, CostUSD: t.CostUSD, Seconds: t.Seconds, Draft: s.draft,
		}); err != nil {
			return err
		}
	}
	if _, err := e.stdout.Write(said); err != nil {
		return err
	}
	fmt.Fprintf(e.stderr, "loopd: kept in %s\n", kept)
	if _, err := s.rows.Write(row); err != nil {
		return fmt.Errorf("append result: %w", err)
	}
	return nil
}

// worse keeps the more serious of the outcomes so far. By what a session was
// refused stands behind its class.
func worse(so error, t harness.Trial, by string) error {
	var now error
	switch {
	case t.Class != harness.Valid:
		now = hint.New(hint.Failed, fmt.Errorf("nothing measured: %s%s: %s", t.Class, by, t.Why), "")
	case t.Result.Outcome != harness.Pass:
		now = hint.New(hint.Measured, fmt.Errorf("%s failed", t.Spec.Slot.Cell), "")
	}
	if so == nil || now != nil && hint.ExitOf(now) == hint.Failed {
		return now
	}
	return so
}
