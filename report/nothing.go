package report

import (
	"fmt"
	"slices"
	"strings"

	"loopd/harness"
)

// nothing says whether sessions were run and not one of them is evidence. A
// report on a broken seal is about the seal.
func (c Campaign) nothing() bool {
	invalid := 0
	for _, i := range c.Invalid {
		invalid += i.Count
	}
	return invalid > 0 && invalid == c.Sessions+c.Unreached && len(c.Drift) == 0 && c.Rescored == nil
}

// remedies say of a class what to look at.
var remedies = map[harness.Class]string{
	harness.Connection:       "the service was not reached: the row service of `loopd doctor` says whether its address answers",
	harness.Overloaded:       "the service has too much to do: `loopd run` again later",
	harness.ServerError:      "the service failed: `loopd run` again later",
	harness.RateLimit:        "a limit of the account: `loopd status` says when it resets",
	harness.UsageLimit:       "a limit of the account: `loopd status` says when it resets",
	harness.Auth:             "the login was refused: `loopd login`",
	harness.Billing:          "the account cannot pay: look at its bill",
	harness.PluginNotLoaded:  "`claude plugin validate .`; a broken hooks.json takes the whole plugin with it",
	harness.HookNotDelivered: "run the hook by hand in an empty directory",
	harness.HookTruncated:    "a note over 10,000 characters arrives cut",
	harness.NotExposed:       "a description over 1,536 characters, or so many skills that the list is cut",
	harness.Startup:          "`loopd doctor` runs hook and programs where sessions run",
	harness.StartupHang:      "`loopd doctor` runs hook and programs where sessions run",
	harness.JudgeError:       "`loopd doctor --judge` asks the judge alone",
	harness.NoOutput:         "the agent printed nothing, as one does that has lost its login: `loopd login`",
}

// lookAt says of each class that occurred, once, what to look at.
func lookAt(list []Invalid) []string {
	var out []string
	for _, i := range list {
		what, known := remedies[i.Class]
		if !known {
			what = "read transcript and stderr of a session"
		}
		line := fmt.Sprintf("`%s`: %s.", i.Class, strings.TrimSuffix(what, "."))
		if !slices.Contains(out, line) {
			out = append(out, line)
		}
	}
	return out
}

// windowsText says how the start did in each window.
func windowsText(w *Windows) string {
	text := "The start in each window"
	for _, r := range w.Rates {
		text += ", " + r.Name + " " + rateText(r)
	}
	return fmt.Sprintf("%s: uneven with p = %.2g.", text, w.P)
}
