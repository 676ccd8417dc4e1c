package web

import (
	"fmt"
	"html/template"
	"strings"
	"time"

	"loopd/internal/daemon"
	"loopd/loop"
	"loopd/report"
)

// parsePages reads every template of the pages.
func parsePages() (*template.Template, error) {
	return template.New("pages").Funcs(template.FuncMap{
		"rate": rateText, "e": eText, "usd": usdText, "when": whenText, "short": shortText, "verdict": verdictOf, "span": spanText,
		"path": candidatePath, "trialPath": func(id string) string { return "/trial/" + id },
		"css": styleSheet, "state": stateWord, "until": untilText, "odd": func(i int) bool { return i%2 == 1 },
		"typed":  func(text string) []string { return strings.Split(text, "`") }, // every other part is to be typed
		"branch": func(ref string) string { return strings.TrimPrefix(ref, "refs/heads/") }, "add": func(a, b int) int { return a + b }, "bytes": bytesText, "price": priceText,
	}).ParseFS(files, "pages/*.html")
}

// styleSheet is the style of the pages, for a page that is a file.
func styleSheet() (template.CSS, error) {
	data, err := files.ReadFile("static/loopd.css")
	return template.CSS(data), err
}

// rateText is k of n with its interval; never a bare percentage.
func rateText(r report.Rate) string {
	if r.N == 0 {
		return "not run"
	}
	if r.CI.High == 0 && r.CI.Low == 0 && r.K > 0 {
		return fmt.Sprintf("%d/%d", r.K, r.N)
	}
	return fmt.Sprintf("%d/%d [%.2f, %.2f]", r.K, r.N, r.CI.Low, r.CI.High)
}

func eText(v *float64) string {
	if v == nil {
		return "–"
	}
	return fmt.Sprintf("%.3g", *v)
}

// usdText is a list price. What reported none did not cost nothing.
func usdText(c report.Cost) string {
	if c.USD == 0 && c.Unreported > 0 {
		return "cost not reported"
	}
	text := fmt.Sprintf("%.2f USD", c.USD)
	if c.PaidWith == loop.Subscription {
		text += " at list price, not billed"
	} else {
		text += " at list price"
	}
	if c.Unreported > 0 {
		text += fmt.Sprintf(", not reported by %d sessions", c.Unreported)
	}
	return text
}

// priceText is the list price of one session.
func priceText(usd *float64) string {
	if usd == nil {
		return "not reported"
	}
	return fmt.Sprintf("%.4f USD", *usd)
}

func whenText(t time.Time) string {
	if t.IsZero() {
		return "never"
	}
	return t.Local().Format("2006-01-02 15:04")
}

func shortText(digest string) string { return digest[:min(len(digest), 12)] }

func verdictOf(s report.Summary) string {
	switch {
	case s.Withdrawn:
		return string(s.Verdict) + ", withdrawn"
	case s.Verdict == "":
		return "no verdict yet"
	case s.Reason != "":
		return fmt.Sprintf("%s (%s)", s.Verdict, s.Reason)
	}
	return string(s.Verdict)
}

// spanText is a difference with its interval, in words where it may be nothing.
func spanText(e *report.Effect) string {
	if e == nil {
		return "not known: a cell lacks a rep in one arm"
	}
	text := fmt.Sprintf("%+.3f [%+.3f, %+.3f] over %d cells", e.Difference, e.CI.Low, e.CI.High, e.Cells)
	if e.CI.Low <= 0 && e.CI.High >= 0 {
		text += ", which may be nothing"
	}
	return text
}

// stateWord is what a loopd that runs does, in words.
func stateWord(l *daemon.Live) string {
	switch l.Phase {
	case daemon.Running:
		return fmt.Sprintf("running, %d sessions under way", len(l.Sessions))
	case daemon.Idle:
		return "idle until the next window"
	}
	text := string(l.Phase)
	if l.Why != "" {
		text += ": " + l.Why
	}
	return text
}

func untilText(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.Local().Format("Mon 15:04")
}

func bytesText(n int64) string {
	switch {
	case n >= 1<<20:
		return fmt.Sprintf("%.1f MB", float64(n)/(1<<20))
	case n >= 1<<10:
		return fmt.Sprintf("%.0f kB", float64(n)/(1<<10))
	}
	return strings.TrimSpace(fmt.Sprintf("%d B", n))
}
