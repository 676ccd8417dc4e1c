package web

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strconv"
	"time"

	"loopd/harness"
	"loopd/report"
)

// Opened is a report that a person named: how it is called, and how to read it
// from its beginning, as often as it is asked for.
type Opened struct {
	Name string
	Open func() (io.ReadCloser, error)
}

// saved is a report that pages show, with its id in addresses.
type saved struct {
	ID string
	Opened
}

// savedReports lists what was opened by name, else what the state directory
// keeps, the oldest first. An id of an address is looked for in this list and
// names no file itself.
func (s *Server) savedReports() ([]saved, error) {
	var out []saved
	for i, o := range s.o.Opened {
		out = append(out, saved{strconv.Itoa(i + 1), o})
	}
	if len(out) > 0 {
		return out, nil
	}
	ids, err := s.store.home().KeptEvals()
	for _, id := range ids {
		out = append(out, saved{id, Opened{id, func() (io.ReadCloser, error) { return s.store.home().OpenEval(id) }}})
	}
	return out, err
}

func (s *Server) savedReport(id string) (saved, error) {
	list, err := s.savedReports()
	if err != nil {
		return saved{}, err
	}
	at := slices.IndexFunc(list, func(one saved) bool { return one.ID == id })
	if at < 0 {
		return saved{}, missing("report " + id)
	}
	return list[at], nil
}

// longestSaved bounds what is read of a report, in bytes, and longestCompared what
// is held of one to compare it.
const (
	longestSaved    = 256 << 20
	longestCompared = 64 << 20
)

// each hands on the results of a report one by one.
func (o Opened) each(f func(harness.Evaluated) error) (report.Eval, error) {
	r, err := o.Open()
	if err != nil {
		return report.Eval{}, err
	}
	defer r.Close()
	return report.ReadEval(o.Name, io.LimitReader(r, longestSaved), f)
}

// head is a report without its results.
func (o Opened) head() (report.Eval, error) {
	return o.each(func(harness.Evaluated) error { return report.ErrEnough })
}

// document reads a whole report.
func (o Opened) document() (report.Document, error) {
	r, err := o.Open()
	if err != nil {
		return report.Document{}, err
	}
	defer r.Close()
	data, err := io.ReadAll(io.LimitReader(r, longestCompared+1))
	if err == nil && len(data) > longestCompared {
		err = fmt.Errorf("%s has over %d MiB", o.Name, longestCompared>>20)
	}
	return report.Document{Name: o.Name, Data: data}, err
}

// evalsData is the page of the reports that are kept.
type evalsData struct{ Reports []evalLine }

// evalLine is one kept report. Base is the first kept one of the same cases, empty
// where it is that itself.
type evalLine struct {
	ID, Title, Cases, Headline, Base, Problem string
	Kept                                      time.Time
}

func (s *Server) evalsPage(*http.Request) (string, any, error) {
	lines, err := s.evalLines()
	slices.Reverse(lines)
	return "Evaluations", evalsData{lines}, err
}

// evalLines lists the kept reports, the oldest first.
func (s *Server) evalLines() ([]evalLine, error) {
	list, err := s.savedReports()
	if err != nil {
		return nil, err
	}
	var out []evalLine
	first := make(map[[2]string]string)
	for _, one := range list {
		line := evalLine{ID: one.ID, Kept: keptAt(one)}
		e, err := one.head()
		if err != nil {
			line.Problem = s.mask.text(err.Error())
			out = append(out, line)
			continue
		}
		of := [2]string{string(e.Harness), e.Cases}
		line.Title, line.Cases, line.Headline, line.Base = e.Title(), s.shownWord(e.Cases), e.Summary.Headline(), first[of]
		if line.Base == "" {
			first[of] = one.ID
		}
		out = append(out, line)
	}
	return out, nil
}

// keptAt is when a report was kept, as its file says.
func keptAt(one saved) time.Time {
	r, err := one.Open()
	if err != nil {
		return time.Time{}
	}
	defer r.Close()
	if f, ok := r.(*os.File); ok {
		if info, err := f.Stat(); err == nil {
			return info.ModTime()
		}
	}
	return time.Time{}
}

// pageOf is a part of a long list, and the way to the others.
type pageOf struct {
	Page, Pages int
	From, To    int    // of the list, To not included
	Show        string // the one outcome that is shown, empty for all
	Across      bool
}

// pagedBy is how many rows a page has, and wholeFile how many a file.
const (
	pagedBy   = 100
	wholeFile = 10_000
)

func newPageOf(n, by, page int) pageOf {
	p := pageOf{Pages: max(1, (n+by-1)/by)}
	p.Page = min(max(page, 1), p.Pages)
	p.From = (p.Page - 1) * by
	p.To = min(p.From+by, n)
	return p
}

// evalData is the page of one report.
type evalData struct {
	ID, Name, Headline, Title string
	Totals                    [][]string
	Traces                    bool // of diagnosis traces, else of submissions
	Shows                     []evalShow
	Rows                      []evalRow
	Base                      string
	Alone                     bool
	pageOf
}

// evalShow counts the results of one outcome, which can be shown alone.
type evalShow struct {
	Outcome string
	N       int
}

// evalRow is one result. What its document does not report is said so.
type evalRow struct {
	Case, Document, Outcome, Verdict      string
	Evidence, Calls, Duration, Tokens, Of string
	Checks                                []evalCheck
}

// evalCheck is a check that did not pass.
type evalCheck struct {
	Name, Outcome, Reason string
	Findings              []string
}

func (s *Server) evalPage(r *http.Request) (string, any, error) {
	one, err := s.savedReport(r.PathValue("report"))
	if err != nil {
		return "", nil, err
	}
	page, _ := strconv.Atoi(r.URL.Query().Get("page")) // what is no number is the first
	d, err := s.evalOf(one, r.URL.Query().Get("show"), page, pagedBy)
	if err != nil {
		return "", nil, unreadable(err)
	}
	if len(s.o.Opened) > 0 {
		return "Report " + d.Name, d, nil
	}
	lines, err := s.evalLines()
	for _, line := range lines {
		if line.ID == one.ID {
			d.Base = line.Base
		}
	}
	return "Report " + d.Name, d, err
}

// unreadable is the answer for a report that is none, or not whole.
func unreadable(err error) error {
	if _, ok := errors.AsType[*report.IncomparableError](err); ok {
		return &problem{http.StatusUnprocessableEntity, err.Error()}
	}
	return err
}

// worstFirst is the order in which results are shown.
var worstFirst = []harness.Outcome{harness.Fail, harness.Invalid, harness.NotRun, harness.Pass}

// evalOf shows a part of a report, what failed first. It reads the report twice
// and holds the part alone: once to count, which says where each outcome begins.
func (s *Server) evalOf(one saved, show string, page, by int) (evalData, error) {
	counts := make(map[harness.Outcome]int)
	e, err := one.each(func(r harness.Evaluated) error {
		counts[outcomeOf(r.Outcome)]++
		return nil
	})
	if err != nil {
		return evalData{}, err
	}
	d := evalData{ID: one.ID, Name: s.shownWord(one.Name), Headline: e.Summary.Headline(), Title: e.Title(), Traces: e.Harness == harness.Trace}
	if !slices.Contains(worstFirst, harness.Outcome(show)) {
		show = ""
	}
	total, next := 0, make(map[harness.Outcome]int)
	for _, o := range worstFirst {
		d.Shows = append(d.Shows, evalShow{string(o), counts[o]})
		if show == "" || show == string(o) {
			next[o] = total
			total += counts[o]
		}
	}
	d.Totals = s.totalsOf(e)
	d.pageOf = newPageOf(total, by, page)
	d.Show = show
	d.Rows = make([]evalRow, d.To-d.From)
	_, err = one.each(func(r harness.Evaluated) error {
		o := outcomeOf(r.Outcome)
		at, shown := next[o]
		if !shown {
			return nil
		}
		next[o]++
		if at >= d.From && at < d.To {
			d.Rows[at-d.From] = s.evalRow(r)
		}
		return nil
	})
	return d, err
}

// outcomeOf takes a word that is no outcome for not run.
func outcomeOf(o harness.Outcome) harness.Outcome {
	if slices.Contains(worstFirst, o) {
		return o
	}
	return harness.NotRun
}

// notReported stands where a document does not say.
const notReported = "not reported"

func (s *Server) totalsOf(e report.Eval) [][]string {
	out := [][]string{{"cases", s.shownWord(e.Cases)}, {"instrument", shortText(e.Instrument)}}
	for _, row := range e.Summary.Rows() {
		out = append(out, []string{row[0], s.mask.text(row[1])})
	}
	if e.Harness == harness.Trace && e.Summary.MeanCostEquivalent == nil {
		out = append(out, []string{"mean cost-equivalent tokens", notReported})
	}
	return out
}

func (s *Server) evalRow(r harness.Evaluated) evalRow {
	metric := func(name string) string {
		if v, ok := r.Metrics[name]; ok {
			return fmt.Sprintf("%.0f", v)
		}
		return notReported
	}
	row := evalRow{
		Case: s.shownWord(r.Case), Document: s.shownWord(r.Trace + r.Submission), Outcome: string(outcomeOf(r.Outcome)), Verdict: s.shownWord(r.Verdict),
		Evidence: "none asked for", Calls: metric(harness.ToolCalls), Duration: metric(harness.DurationMS), Tokens: metric(harness.CostEquivalent),
		Of: metric(harness.Differences),
	}
	if c := r.Coverage; c != nil {
		row.Evidence = fmt.Sprintf("%d of %d", len(c.Covered), len(c.Covered)+len(c.Uncovered))
	}
	for _, c := range report.NotPassed(r) {
		check := evalCheck{Name: s.shownWord(checkName(c.Name)), Outcome: string(outcomeOf(c.Outcome)), Reason: s.shownWord(c.Reason)}
		for _, f := range c.Findings {
			check.Findings = append(check.Findings, s.shownWord(f))
		}
		row.Checks = append(row.Checks, check)
	}
	return row
}

// longestShown bounds one text of a report on a page, in characters.
const longestShown = 2000

// shownWord is a text of a report, masked and within its bound.
func (s *Server) shownWord(text string) string {
	text = s.mask.text(text)
	if r := []rune(text); len(r) > longestShown {
		return string(r[:longestShown]) + "…"
	}
	return text
}
