package main

import (
	"context"
	"fmt"
	"os"

	"loopd/harness"
	"loopd/internal/app"
	"loopd/internal/hint"
	"loopd/internal/trial"
	"loopd/loop"
)

// judgeResult is the JSON of doctor --judge.
type judgeResult struct {
	harness.JudgeTest
	Missed []missedItem `json:"missed"`
	Fault  string       `json:"fault,omitempty"` // why a campaign would halt
}

// missedItem is a gold item that was not answered right, by its place in
// gold.yaml.
type missedItem struct {
	Item     int              `json:"item"`
	Scenario string           `json:"scenario"`
	Kind     harness.GoldKind `json:"kind"`
	Answered bool             `json:"answered"`
}

func runJudge(ctx context.Context, e env, noIsolation, asJSON bool) error {
	b, err := openBench(ctx, e)
	if err != nil {
		return err
	}
	defer b.close()
	if len(b.sealed.Suite.Gold) == 0 {
		return hint.Usagef(`loopd freeze --reason "a gold set"`, "test the judge: the suite has no gold.yaml")
	}
	judge, name, closeAll, err := b.judge(ctx, e, noIsolation)
	if err != nil {
		return err
	}
	defer closeAll()
	test, err := trial.TestJudge(ctx, b.sealed.Suite, judge, name, max(b.cfg.Parallel, 1))
	if err != nil {
		return fmt.Errorf("test the judge: %w", err)
	}
	out := judgeResult{JudgeTest: test, Missed: missedItems(b.sealed.Suite, test), Fault: loop.JudgeFault(test)}
	if asJSON {
		err = printJSON(e.stdout, out)
	} else {
		err = printJudge(e, out)
	}
	if err == nil && out.Fault != "" {
		err = hint.New(hint.Measured, fmt.Errorf("not to be trusted: %s", out.Fault), "")
	}
	return err
}

// judge makes the judge of the settings. Only one that is a session itself
// needs what sessions need.
func (b bench) judge(ctx context.Context, e env, noIsolation bool) (trial.Judge, string, func(), error) {
	chosen, err := app.ChooseJudge(e.Env, b.cfg, b.sealed.Suite)
	if err != nil {
		return nil, "", nil, err
	}
	if app.JudgeCommand(e.Env, b.cfg, b.sealed.Suite.Launch.Judge) != "" {
		judge, err := chosen.Make(ctx, trial.Options{})
		return judge, chosen.Name, func() {}, err
	}
	if b.cfg.Plugin == "" {
		return nil, "", nil, hint.Usagef("LOOPD_JUDGE_CMD=./judge.sh loopd doctor --judge", "test the judge: no loopd.yaml here, and no command judges")
	}
	dir, err := os.MkdirTemp("", "loopd-judge-")
	if err != nil {
		return nil, "", nil, err
	}
	s, err := b.sessions(ctx, e, dir, noIsolation)
	if err != nil {
		return nil, "", nil, err
	}
	return s.Options.Judge, chosen.Name, func() { s.Close(); os.RemoveAll(dir) }, nil
}

func missedItems(s harness.Suite, t harness.JudgeTest) []missedItem {
	out := []missedItem{}
	add := func(list []int, answered bool) {
		for _, n := range list {
			out = append(out, missedItem{n, s.Gold[n-1].Scenario, s.Gold[n-1].Kind, answered})
		}
	}
	add(t.Wrong, true)
	add(t.Unanswered, false)
	return out
}

func printJudge(e env, r judgeResult) error {
	fmt.Fprintf(e.stdout, "%s\nrubric %s\n\n", r.Judge, r.Rubric)
	w := e.table()
	fmt.Fprintln(w, "items\tright answer\tright")
	fmt.Fprintf(w, "yes\tYES\t%d of %d\n", r.Yes.Right, r.Yes.Of)
	fmt.Fprintf(w, "no\tNO\t%d of %d\n", r.No.Right, r.No.Of)
	fmt.Fprintf(w, "attack\tNO\t%d of %d\n", r.Attack.Right, r.Attack.Of)
	if err := w.Flush(); err != nil || len(r.Missed) == 0 {
		return err
	}
	fmt.Fprintln(e.stdout)
	for _, m := range r.Missed {
		what := "wrong"
		if !m.Answered {
			what = "no answer"
		}
		fmt.Fprintf(e.stdout, "item %d (%s, %s): %s\n", m.Item, m.Scenario, m.Kind, what)
	}
	return nil
}
