package main

import (
	"fmt"
	"io"

	"loopd/internal/app"
	"loopd/internal/campaign"
)

// evalHome is the state directory that keeps reports of evaluators: the one given,
// or that of the plugin here.
func evalHome(e env, state string) (campaign.Home, error) {
	if state != "" {
		return campaign.Home{Dir: e.Path(state)}, nil
	}
	l, err := loadConfig(e)
	if err != nil {
		return campaign.Home{}, err
	}
	return app.HomeOf(e.Env, l.Config)
}

// keep puts the report where the pages find it, after the baseline it was compared
// with: the first that is kept of the same cases is what later ones are held
// against.
func (v evaluation) keep(e env, o evalOptions) error {
	home, err := evalHome(e, o.state)
	if err != nil {
		return err
	}
	if err := home.Make(); err != nil {
		return err
	}
	if o.baseline != "" {
		base, err := readReport(e.Path(o.baseline))
		if err != nil {
			return fmt.Errorf("keep baseline %s: %w", o.baseline, err)
		}
		write := func(w io.Writer) error {
			_, err := w.Write(base)
			return err
		}
		if _, err := home.KeepEval(v.report.Harness, write); err != nil {
			return err
		}
	}
	id, err := home.KeepEval(v.report.Harness, func(w io.Writer) error { return v.report.WriteJSON(w, v.spool.all) })
	if err != nil || o.quiet() {
		return err
	}
	_, err = fmt.Fprintf(e.stdout, "\nKept as %s; %s shows it.\n", id, withState("loopd report", o.state)+" --open")
	return err
}
