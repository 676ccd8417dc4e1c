package trial_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"strings"

	"loopd/frozen"
	"loopd/harness"
	"loopd/internal/fake"
)

// apartName is what the process of a model apart is called.
const apartName = "model-apart"

// The scenario whose sessions are measured: two tool calls and an answer.
const (
	costScenario = "R1"
	costTier     = "haiku"
)

// apartMain is that process: an address, then a line for every key registered.
func apartMain(ctx context.Context, dir string, in io.Reader, out io.Writer) error {
	sealed, err := frozen.Load(dir)
	if err != nil {
		return err
	}
	suite, err := harness.ParseSuite(sealed.FS())
	if err != nil {
		return err
	}
	sc, _ := suite.Scenario(costScenario)
	cell := harness.Cell{Scenario: sc.ID, Tier: costTier}
	model, err := fake.StartModel(ctx, fake.Wording{Base: map[harness.Cell]float64{cell: .5}})
	if err != nil {
		return err
	}
	defer model.Close()
	fmt.Fprintln(out, model.URL())
	long := sc
	long.Oracle = longSteps(sc.Oracle)
	for lines := bufio.NewScanner(in); lines.Scan(); {
		key, kind, _ := strings.Cut(lines.Text(), " ")
		s := fake.ModelSession{Scenario: sc, Cell: cell}
		if kind == "true" {
			s.Scenario = long
		}
		if err := model.Register(key, s); err != nil {
			return err
		}
		fmt.Fprintln(out, "ok")
	}
	return nil
}

// longSteps make a perfect run print over 5 MB: two dozen commands with all the
// output the agent takes from one, a large file, and a long last word, which the
// stream says twice.
func longSteps(steps []harness.Step) []harness.Step {
	const line = "The gauge was read again and nothing had moved.\n"
	var out []harness.Step
	for range 24 {
		out = append(out, harness.Step{Bash: "yes 'The tide goes out and the gauge falls by a hand.' | head -c 29000"})
	}
	out = append(out, harness.Step{Write: &harness.WriteStep{Path: "notes.txt", Content: strings.Repeat(line, 30_000)}})
	out = append(out, steps...)
	out[len(out)-1].Text += strings.Repeat(line, 15_000)
	return out
}
