package main

import (
	"context"
	"errors"
	"fmt"

	"loopd/internal/config"
	"loopd/report"
)

// runHome is loopd alone: what there is, and always the next command.
func runHome(e env) error {
	r, err := openReview(context.Background(), e, "")
	if _, missing := errors.AsType[*config.NotFoundError](err); missing {
		_, err := fmt.Fprint(e.stdout, `No plugin is set up in this directory.

  loopd init        writes loopd.yaml beside the plugin
  loopd freeze      seals what measures
  loopd run         opens a campaign

To see a whole campaign first, simulated:  loopd rehearse

Next: loopd init
`)
		return err
	}
	if err != nil {
		return err
	}
	if len(r.states) == 0 {
		l, err := loadConfig(e)
		if err != nil {
			return err
		}
		_, err = fmt.Fprintf(e.stdout, "No campaign yet.\n\nNext: %s\n", nextStep(context.Background(), e, l.Config, r.home))
		return err
	}
	s := r.states[len(r.states)-1]
	rep := report.Build(s)
	head := fmt.Sprintf("Campaign %s: %s", rep.ID, rep.Headline)
	live, err := liveOf(context.Background(), r.home.Dir)
	if err != nil {
		return err
	}
	if live != nil && s.Ended == nil && s.Halted == nil {
		e.sentence(head, "  ")
		fmt.Fprintf(e.stdout, "%d of %d sessions used.\n", rep.Sessions, rep.Budget)
		e.sentence(fmt.Sprintf("loopd %s (process %d): %s", live.Verb, live.PID, liveLine(*live)), "  ")
		_, err = fmt.Fprint(e.stdout, "\nNext: loopd status --watch\n")
		return err
	}
	e.sentence(head, "  ")
	_, err = fmt.Fprintf(e.stdout, "%d of %d sessions used.\n\nNext: %s\n", rep.Sessions, rep.Budget, nextAfter(s))
	return err
}
