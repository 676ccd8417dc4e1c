package main

import (
	"context"
	"fmt"

	"loopd/internal/app"
	"loopd/internal/doctor"
	"loopd/internal/hint"
)

// serviceRow says whether anything answers where the sessions' model calls go.
func serviceRow(e env) doctor.Check {
	return func(ctx context.Context) doctor.Row {
		row := doctor.Row{Name: "service", Health: doctor.Bad}
		u, err := app.ServiceURL(e.Env)
		if err != nil {
			row.Detail, row.Fix = err.Error(), hint.Of(err)
			return row
		}
		at, err := app.Answers(ctx, u)
		switch {
		case err == nil:
			return doctor.Row{Name: row.Name, Health: doctor.Good, Detail: app.ShownURL(u) + " answers"}
		case e.Getenv(app.BaseVariable) != "":
			row.Fix = "unset " + app.BaseVariable
		default:
			row.Fix = "curl -I " + app.ShownURL(u)
		}
		row.Detail = fmt.Sprintf("nothing answers at %s (%s: %s)", app.ShownURL(u), at, err)
		return row
	}
}
