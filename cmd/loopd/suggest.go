package main

import (
	"context"
	"fmt"
	"time"

	"loopd/loop"
)

// budgets is the JSON of a plan without a budget.
type budgets struct {
	Budgets []outlook `json:"budgets"`
}

// suggest prints three budgets worth thinking about. Where it goes with a refusal
// the hint of that says what to type.
func (p planner) suggest(ctx context.Context, e env, asJSON, refused bool) error {
	all := []outlook{}
	least, err := p.outlook(ctx, 1, loop.Scout)
	if err != nil {
		return err
	}
	for _, sessions := range []int{(least.Smallest + 9) / 10 * 10, 500, 1200} {
		o, err := p.outlook(ctx, sessions, "")
		if err != nil {
			return err
		}
		if o.Reachable {
			all = append(all, o)
		}
	}
	if asJSON {
		return printJSON(e.stdout, budgets{all})
	}
	if err := printSuggestions(e, all); err != nil || len(all) == 0 || refused {
		return err
	}
	_, err = fmt.Fprintf(e.stdout, "\nNext: %s\n", p.next(likely(all)))
	return err
}

func printSuggestions(e env, all []outlook) error {
	if len(all) == 0 {
		_, err := fmt.Fprintln(e.stdout, "No budget within reason decides anything on this grid.")
		return err
	}
	w := e.table()
	fmt.Fprintf(w, "On %d cells, pass rates %s.\nOf 10 candidates with a rise of .20 or .08 the gate confirms about:\n\n", all[0].Cells, all[0].Rates)
	fmt.Fprintln(w, "\t.20\t.08\tlooks at\thours")
	for _, o := range all {
		fmt.Fprintf(w, "loopd run --sessions %d --profile %s\t%.0f\t%.0f\tabout %.0f\t%.1f\n",
			o.Sessions, o.Profile, 10*o.Detects[0].Found, 10*o.Detects[1].Found, o.Candidates, o.Hours)
	}
	return w.Flush()
}

// likely is the first budget that is more likely than not to confirm a rise of
// .20, else the last.
func likely(all []outlook) outlook {
	for _, o := range all {
		if o.Detects[0].Found >= .5 {
			return o
		}
	}
	return all[len(all)-1]
}

// suggestBudgets tells a user who gave none what to give.
func suggestBudgets(ctx context.Context, e env) error {
	ctx, cancel := context.WithTimeout(ctx, suggestTime)
	defer cancel()
	p, err := newPlanner(ctx, e)
	if err != nil {
		return err
	}
	return p.suggest(ctx, e, false, true)
}

// suggestTime bounds what a refusal may take.
const suggestTime = time.Minute
