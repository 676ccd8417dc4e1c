package main

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"loopd/internal/hint"
	"loopd/internal/rehearsal"
	"loopd/loop"
)

// manySeeds is the result of several rehearsals.
type manySeeds struct {
	Simulated  bool               `json:"simulated"`
	Seeds      []rehearsal.Result `json:"seeds"`
	Mismatches int                `json:"mismatches"`
	Sessions   int                `json:"sessions"`
}

// rehearseMany runs one rehearsal after another. Single mismatches are expected
// at the stated error rates, so they do not fail the whole.
func rehearseMany(ctx context.Context, e env, o rehearseOptions, to uint64) error {
	if o.dir != "" || o.resume != "" {
		return hint.Usagef("loopd rehearse --seed 1 --dir DIR", "several seeds work in temporary directories only")
	}
	all := manySeeds{Simulated: true}
	for seed := o.seed; seed <= to; seed++ {
		o.seed = seed
		res, err := rehearse(ctx, e, o)
		if err != nil {
			return fmt.Errorf("seed %d: %w", seed, err)
		}
		if res.Outcome == "" && res.HaltedBy == "" {
			return loop.ErrDrained
		}
		res.Dir = ""
		all.Seeds = append(all.Seeds, res)
		all.Mismatches += res.Mismatches
		all.Sessions += res.Sessions
		if !o.json {
			fmt.Fprintf(e.stdout, "seed %-3d %-12s %d mismatches, %d sessions, %.0f s\n", seed, res.Outcome, res.Mismatches, res.Sessions, res.WallSeconds)
		}
	}
	if o.json {
		return printJSON(e.stdout, all)
	}
	_, err := fmt.Fprintf(e.stdout, "%d mismatches in %d rehearsals\n", all.Mismatches, len(all.Seeds))
	return err
}

// seedRange reads "3" or "1-10".
func seedRange(text string) (from, to uint64, err error) {
	first, last, ok := strings.Cut(text, "-")
	if !ok {
		last = first
	}
	from, err1 := strconv.ParseUint(strings.TrimSpace(first), 10, 63)
	to, err2 := strconv.ParseUint(strings.TrimSpace(last), 10, 63)
	if err1 != nil || err2 != nil || from > to {
		return 0, 0, hint.Usagef("loopd rehearse --seed 1-10", "%q is not a range of seeds", text)
	}
	return from, to, nil
}
