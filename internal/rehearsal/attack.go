package rehearsal

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"loopd/harness"
	"loopd/harness/transcript"
	"loopd/harness/unprompted"
	"loopd/internal/fake"
	"loopd/internal/trial"
)

// SelfReport is what the checker made of all fabricated runs: cases with one
// right answer, and exploits, which are killed by anything but a pass.
type SelfReport struct {
	Cases []SelfCase
	// Kinds counts the distinct kinds of exploit that were tried, Skipped how
	// often one did not fit a scenario.
	Kinds, Skipped int
	Attempts       []AttackCase
}

// AttackCase is one exploit of one scenario with what it came to.
type AttackCase struct {
	Scenario string          `json:"scenario"`
	Kind     string          `json:"kind"`
	Class    harness.Class   `json:"class"`
	Got      harness.Outcome `json:"got"`
	Reasons  []string        `json:"reasons"`
	Killed   bool            `json:"killed"`
}

// Killed counts the attempts that did not pass.
func (r SelfReport) Killed() int {
	n := 0
	for _, a := range r.Attempts {
		if a.Killed {
			n++
		}
	}
	return n
}

// scorer scores a fabricated run.
type scorer func(ctx context.Context, suite harness.Suite, r fake.Fabricated) (harness.Class, harness.Result, error)

// scorerOf scores a fabricated run by the steps a real session is scored by.
func scorerOf(suite harness.Suite) scorer {
	sealed := trial.SealedTexts(suite)
	return func(ctx context.Context, suite harness.Suite, r fake.Fabricated) (harness.Class, harness.Result, error) {
		return scoreRun(ctx, suite, sealed, r)
	}
}

func scoreRun(ctx context.Context, suite harness.Suite, sealed *harness.Runs, r fake.Fabricated) (harness.Class, harness.Result, error) {
	t, err := transcript.Parse(bytes.NewReader(r.Stream), transcript.Limits{})
	if err != nil {
		return "", harness.Result{}, err
	}
	s := trial.Session{
		Input: unprompted.Input{
			Scenario: r.Scenario, Checker: suite.Checker, Transcript: t, Start: r.Start, End: r.End, LimitTime: r.External.LimitTime,
		},
		Want: r.Want, External: r.External, Sealed: sealed,
	}
	class, _, result, err := s.Score(ctx, suite, trial.NewReplies(r.Replies))
	return class, result, err
}

// groundsOf pairs the two kept runs of every scenario. Where one did not come
// out right there is nothing to start from, and the case says so.
func groundsOf(
	s harness.Suite, graphs map[string]harness.Tree, e *trial.Executor, store string, specs []harness.Spec, cases []SelfCase,
) ([]fake.Pair, error) {
	var out []fake.Pair
	for i := 0; i+1 < len(specs); i += 2 {
		if cases[i].Class != harness.Valid || cases[i+1].Class != harness.Valid {
			continue
		}
		g := fake.Pair{Suite: s}
		g.Scenario, _ = e.Scenario(specs[i].Slot.Cell.Scenario)
		var err error
		if g.Start, err = trial.StartOf(s, g.Scenario, graphs); err != nil {
			return nil, err
		}
		if g.Want, err = e.Want(specs[i]); err != nil {
			return nil, err
		}
		g.Want.PluginPath = "" // the two runs had each a copy of their own
		for j, base := range []*fake.Played{&g.Oracle, &g.Nop} {
			if *base, err = keptBase(filepath.Join(store, specs[i+j].TrialID()), g.Start); err != nil {
				return nil, err
			}
		}
		out = append(out, g)
	}
	return out, nil
}

func keptBase(dir string, start harness.Tree) (fake.Played, error) {
	stream, err := os.ReadFile(filepath.Join(dir, trial.TranscriptFile))
	if err != nil {
		return fake.Played{}, fmt.Errorf("read fabricated run: %w", err)
	}
	kept, err := trial.ReadStored(context.Background(), dir, start)
	return fake.Played{Stream: stream, End: kept.End}, err
}

// attack scores the damaged runs and the exploits of every scenario.
func (f fabricated) attack(ctx context.Context, score scorer, parallel int) (SelfReport, error) {
	grounds := f.grounds
	parts, errs := make([]SelfReport, len(grounds)), make([]error, len(grounds))
	next := make(chan int)
	var workers sync.WaitGroup
	for range parallel {
		workers.Go(func() {
			for i := range next {
				parts[i], errs[i] = attackOne(ctx, f.suite, grounds[i], score)
			}
		})
	}
	for i := range grounds {
		next <- i
	}
	close(next)
	workers.Wait()
	report := SelfReport{Cases: slices.Clone(f.cases)}
	tried := make(map[string]bool)
	for i, part := range parts {
		if errs[i] != nil {
			return SelfReport{}, fmt.Errorf("self-test of %s: %w", grounds[i].Scenario.ID, errs[i])
		}
		report.Cases = append(report.Cases, part.Cases...)
		report.Attempts = append(report.Attempts, part.Attempts...)
		report.Skipped += part.Skipped
		for _, a := range part.Attempts {
			tried[a.Kind] = true
		}
	}
	report.Kinds = len(tried)
	return report, nil
}

func attackOne(ctx context.Context, s harness.Suite, g fake.Pair, score scorer) (out SelfReport, err error) {
	damaged, err := fake.Damages(g)
	if err != nil {
		return out, err
	}
	for _, d := range damaged {
		class, result, err := score(ctx, s, d.Run)
		if err != nil {
			return out, fmt.Errorf("%s: %w", d.Damage, err)
		}
		out.Cases = append(out.Cases, damageCase(g.Scenario, d, class, result))
	}
	attempts, skipped, err := fake.Attempts(g)
	if err != nil {
		return out, err
	}
	out.Skipped = skipped
	for _, a := range attempts {
		class, result, err := score(ctx, s, a.Run)
		if err != nil {
			return out, fmt.Errorf("%s: %w", a.Kind, err)
		}
		out.Attempts = append(out.Attempts, AttackCase{
			Scenario: g.Scenario.ID, Kind: a.Kind, Class: class, Got: result.Outcome, Reasons: result.Reasons(),
			Killed: class != harness.Valid || result.Outcome != harness.Pass,
		})
	}
	return out, nil
}

// damageCase compares what became of a damaged run with what had to.
func damageCase(sc harness.Scenario, d fake.Damaged, class harness.Class, result harness.Result) SelfCase {
	a, b := result.Check(harness.AxisA), result.Check(harness.AxisB)
	c := SelfCase{
		Scenario: sc.ID, Run: DamageRun, Damage: d.Damage, WantClass: d.Want.Class, WantReason: d.Want.Reason,
		Want: harness.Invalid, Got: result.Outcome, AxisA: a.Outcome, AxisB: b.Outcome, Class: class, Reasons: result.Reasons(),
	}
	if d.Want.Class == harness.Valid {
		c.Want = d.Want.AxisB
	}
	c.Right = class == d.Want.Class &&
		(class != harness.Valid || b.Outcome == d.Want.AxisB && (d.Want.Reason == "" || b.Reason == d.Want.Reason))
	return c
}
