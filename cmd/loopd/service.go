package main

import (
	"context"
	"fmt"

	"loopd/internal/app"
	"loopd/internal/hint"
	"loopd/internal/setup"
)

// serviceRow says whether anything answers where the sessions' model calls go.
func serviceRow(e env) setup.Check {
	return func(ctx context.Context) setup.Row {
		row := setup.Row{Name: "service", Health: setup.HealthBad}
		u, err := app.ServiceURL(e.Env)
		if err != nil {
			row.Detail, row.Fix = err.Error(), hint.Of(err)
			return row
		}
		at, err := app.Answers(ctx, u)
		switch {
		case err == nil:
			return setup.Row{Name: row.Name, Health: setup.HealthOK, Detail: app.ShownURL(u) + " answers"}
		case e.Getenv(app.BaseVariable) != "":
			row.Fix = "unset " + app.BaseVariable
		default:
			row.Fix = "curl -I " + app.ShownURL(u)
		}
		row.Detail = fmt.Sprintf("nothing answers at %s (%s: %s)", app.ShownURL(u), at, err)
		return row
	}
}
