package transcript

import (
	"regexp"
	"strings"

	"loopd/harness"
)

// resetTime recognises the text of a structured 429 that names the moment a
// quota comes back. Text is read for nothing else.
var resetTime = regexp.MustCompile(`(?i)\breset(s|ting)?\b[^.\n]{0,40}\d`)

// endedWell reads the last result: the only one that decides. Reaching the
// turn limit is an ending the wording answers for, so it passes.
func endedWell(t *Transcript, _ Want, _ External) verdict {
	r, _ := t.Last()
	switch {
	case r.Subtype == "error_max_turns":
		return verdict{}
	case r.Subtype == "error_max_budget_usd":
		return no(harness.Budget, r.Line, "the session's budget was used up")
	case strings.HasPrefix(r.TerminalReason, "aborted_"):
		return no(harness.Cancelled, r.Line, "the session was interrupted: %s", r.TerminalReason)
	case !r.IsError && r.Subtype == "success":
		return verdict{}
	}
	failure := failure(t, r)
	return no(failureClass(t, failure), failure.Line, "the session ended with an error: %s", describe(r, failure))
}

// failure returns the line with which the CLI explains the result, or what the
// result itself says when there is none.
func failure(t *Transcript, r Result) Synthetic {
	f := Synthetic{Line: r.Line, Text: r.Text}
	for _, s := range t.Synthetic {
		if s.Line < r.Line && s.Error != "" {
			f = s
		}
	}
	if f.Status == 0 {
		f.Status = r.APIErrorStatus
	}
	return f
}

func describe(r Result, f Synthetic) string {
	for _, s := range []string{f.Error, r.TerminalReason, r.Subtype} {
		if s != "" {
			return s
		}
	}
	return "no reason given"
}

// failureClass goes by the error's name and falls back on the HTTP status.
func failureClass(t *Transcript, f Synthetic) harness.Class {
	switch f.Error {
	case "rate_limit":
		return limitClass(f)
	case "overloaded":
		return harness.Overloaded
	case "authentication_failed", "oauth_org_not_allowed":
		return harness.Auth
	case "billing_error":
		return harness.Billing
	case "model_not_found":
		return harness.ModelGone
	case "max_output_tokens":
		return harness.OutputLimit
	case "refusal":
		return harness.Refusal
	}
	if len(t.Refusals) > 0 {
		return harness.Refusal
	}
	return statusClass(f)
}

func statusClass(f Synthetic) harness.Class {
	switch s := f.Status; {
	case s == 401 || s == 403:
		return harness.Auth
	case s == 402:
		return harness.Billing
	case s == 404:
		return harness.ModelGone
	case s == 429:
		return limitClass(f)
	case s == 529:
		return harness.Overloaded
	case s >= 500:
		return harness.ServerError
	case s == 0 && f.Error == "server_error":
		return harness.Connection
	default:
		return harness.AgentError
	}
}

func limitClass(f Synthetic) harness.Class {
	if (f.Status == 429 || f.Status == 0) && resetTime.MatchString(f.Text) {
		return harness.UsageLimit
	}
	return harness.RateLimit
}
