package web

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"strconv"

	"loopd/report"
)

// savedDiffData is the page of two reports side by side.
type savedDiffData struct {
	A, B        sideOf
	Headline    string
	Regressions []string // where there are no items: of campaigns
	Notes       []string
	Tables      [][][]string
	Items       []itemRow
	Others      int // items that are no regression
	Saved       bool
	Alone       bool
	// Differs says why the two are only compared on demand.
	Differs string
	pageOf
}

// sideOf is one of the two; Href is empty where it has no page.
type sideOf struct{ Name, Href string }

// itemRow is one thing that changed.
type itemRow struct {
	Regression            bool
	Subject, A, B, Change string
}

func (s *Server) savedDiffPage(r *http.Request) (string, any, error) {
	now, err := s.savedReport(r.PathValue("report"))
	if err != nil {
		return "", nil, err
	}
	base, err := s.savedReport(r.PathValue("base"))
	if err != nil {
		return "", nil, err
	}
	q := r.URL.Query()
	page, _ := strconv.Atoi(q.Get("page")) // what is no number is the first
	d, err := s.savedDiffOf(base, now, q.Has("across"), page, pagedBy)
	return "Comparison", d, err
}

// savedDiffOf compares a report with the one it is held against and shows a part
// of what changed, regressions first.
func (s *Server) savedDiffOf(base, now saved, across bool, page, by int) (savedDiffData, error) {
	d := savedDiffData{A: s.sideOf(base), B: s.sideOf(now), Headline: "not compared"}
	a, err := base.document()
	if err != nil {
		return d, err
	}
	b, err := now.document()
	if err != nil {
		return d, err
	}
	diff, err := report.Compare(a, b, across || s.o.Across)
	if other, ok := errors.AsType[*report.InstrumentsError](err); ok {
		d.Differs = other.Error()
		d.pageOf = newPageOf(0, by, 1)
		return d, nil
	}
	if err != nil {
		return d, unreadable(err)
	}
	d.Headline, d.Saved = diff.Headline(), diff.Evals != nil
	for _, note := range diff.Notes {
		d.Notes = append(d.Notes, s.shownWord(note))
	}
	for i, rows := range diff.Tables {
		if i > 1 && d.Saved {
			break // the items, which are shown page by page
		}
		d.Tables = append(d.Tables, s.shownRows(rows))
	}
	if diff.Evals == nil {
		for _, text := range diff.Regressions {
			d.Regressions = append(d.Regressions, s.shownWord(text))
		}
		d.pageOf = newPageOf(0, by, 1)
		return d, nil
	}
	d.Others = diff.Evals.Summary.Changes
	d.pageOf = newPageOf(len(diff.Evals.Items), by, page)
	d.Across = across
	d.Items = s.itemRows(diff.Evals, d.From, d.To)
	return d, nil
}

func (s *Server) sideOf(one saved) sideOf {
	side := sideOf{Name: s.shownWord(one.Name)}
	if _, err := one.head(); err == nil && s.http != nil {
		side.Href = "/eval/" + one.ID
	}
	return side
}

// itemRows are the items from one place to another, regressions first.
func (s *Server) itemRows(diff *report.EvalDiff, from, to int) []itemRow {
	out := make([]itemRow, to-from)
	regressed, other := 0, diff.Summary.Regressions
	for _, i := range diff.Items {
		at := &other
		if i.Regression {
			at = &regressed
		}
		if *at >= from && *at < to {
			out[*at-from] = itemRow{i.Regression, s.shownWord(i.Subject()), s.shownWord(i.A), s.shownWord(i.B), i.Change()}
		}
		*at++
	}
	return out
}

func (s *Server) shownRows(rows [][]string) [][]string {
	out := make([][]string, len(rows))
	for i, r := range rows {
		for _, cell := range r {
			out[i] = append(out[i], s.shownWord(cell))
		}
	}
	return out
}

// openedPage leads to what was opened by name.
func (s *Server) openedPage(w http.ResponseWriter, r *http.Request) {
	to := "/eval/1"
	if len(s.o.Opened) > 1 {
		to = "/eval/2/beside/1"
	}
	http.Redirect(w, r, to, http.StatusSeeOther)
}

// FileOfReport renders the report that was opened, or the two as a comparison, as
// one page that needs nothing else.
func FileOfReport(o Options) ([]byte, error) {
	s := &Server{o: o}
	s.mask.reveal = true
	var err error
	if s.pages, err = parsePages(); err != nil {
		return nil, err
	}
	list, err := s.savedReports()
	if err != nil {
		return nil, err
	}
	name, f := "eval", frame{Made: o.Now(), Alone: true}
	if len(list) == 1 {
		d, err := s.evalOf(list[0], "", 1, wholeFile)
		if err != nil {
			return nil, err
		}
		d.Alone = true
		f.Title, f.Page = fmt.Sprintf("Report %s", d.Name), d
	} else {
		d, err := s.savedDiffOf(list[0], list[1], o.Across, 1, wholeFile)
		if err != nil {
			return nil, err
		}
		if d.Differs != "" {
			return nil, errors.New(d.Differs)
		}
		d.Alone = true
		name, f.Title, f.Page = "evaldiff", "Comparison", d
	}
	var out bytes.Buffer
	err = s.pages.ExecuteTemplate(&out, name, f)
	return out.Bytes(), err
}
