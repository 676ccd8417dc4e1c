package web

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"slices"

	"loopd/harness"
	"loopd/loop"
	"loopd/report"
	"loopd/stats"
)

// candidateData is the page of a candidate.
type candidateData struct {
	Report  report.Candidate
	Verdict string
	Class   string
	Diff    []report.DiffLine
	NoDiff  string // why there is none
	Path    figure
	Differ  []flip // pairs of trials that came out differently
	Trials  []trialRow
	Exposed report.Rate
	Alone   bool // in a file, without the pages around it
}

// flip is one repetition of a cell that one arm passed and the other did not.
type flip struct {
	Cell                string
	Rep                 int
	Champion, Candidate string // trial ids
	Won                 bool   // the candidate passed
}

// trialRow is one session in a list.
type trialRow struct {
	ID, Cell, Arm, Outcome, Class, Why string
	Rep, Attempt                       int
}

func (s *Server) candidatePage(v view, r *http.Request) (string, any, error) {
	at, ok := v.campaign(r.PathValue("campaign"))
	if !ok {
		return "", nil, missing("campaign " + r.PathValue("campaign"))
	}
	st, id := v.state(at), r.PathValue("candidate")
	p := st.Find(id)
	if p == nil {
		return "", nil, missing("candidate " + id + " in campaign " + st.Started.Campaign)
	}
	return "Candidate " + id, s.candidateOf(v, at, p), nil
}

// candidateOf is the page of a candidate, made once for every change of its
// campaign; its wording is read anew, for its report is written later.
func (s *Server) candidateOf(v view, at int, p *loop.Progress) candidateData {
	st, b := v.state(at), v.begun(at)
	d, known := b.candidates[p.Candidate.ID]
	if !known {
		d = s.measuredOf(st, p)
		b.candidates[p.Candidate.ID] = d
	}
	text, err := wordingDiff(v, st.Started.Campaign, p.Candidate.ID)
	switch {
	case err != nil:
		d.NoDiff = err.Error()
	case text == "":
		d.NoDiff = "It was refused before its wording was laid on the champion's."
	}
	d.Diff = report.Words(s.mask.text(text))
	return d
}

// measuredOf is what was measured of a candidate.
func (s *Server) measuredOf(st *loop.State, p *loop.Progress) candidateData {
	c, _ := report.BuildCandidate(st, p.Candidate.ID, nil, nil)
	c.Rationale, c.Author, c.Note = s.mask.text(c.Rationale), s.mask.text(c.Author), s.mask.text(c.Note)
	c.Findings = slices.Clone(c.Findings)
	for i := range c.Findings {
		c.Findings[i].Detail = s.mask.text(c.Findings[i].Detail)
	}
	d := candidateData{Report: c, Verdict: stateOf(p.Decided), Class: classOf(p.Decided), Path: evidencePath(c.Path, st.Started.Settings.KeepAt)}
	d.Differ, d.Trials = flips(st, p), s.trialsOf(st, p)
	d.Exposed = exposedOf(st, "exposed", func(t *loop.Run) bool { return t.Spec.Slot.Wording == p.Commit })
	return d
}

// exposedOf counts the valid sessions picked that are proved to have sent their
// wording.
func exposedOf(st *loop.State, name string, pick func(t *loop.Run) bool) report.Rate {
	var c stats.Count
	for i := range st.Trials {
		if t := &st.Trials[i]; t.Class == harness.Valid && pick(t) {
			c.N++
			if t.Exposed {
				c.Pass++
			}
		}
	}
	return report.Rate{Name: name, K: c.Pass, N: c.N, CI: stats.Wilson(c, .95)}
}

// wordingDiff reads the diff that was projected beside the campaign: making it
// needs the private repository.
func wordingDiff(v view, campaign, id string) (string, error) {
	dir, err := os.OpenRoot(v.s.home().Report(campaign))
	if errors.Is(err, fs.ErrNotExist) {
		return "", errors.New("its report has not been written yet")
	}
	if err != nil {
		return "", err
	}
	defer dir.Close()
	data, err := dir.ReadFile(filepath.Base(id) + ".json")
	if errors.Is(err, fs.ErrNotExist) {
		return "", errors.New("its report has not been written yet")
	}
	if err != nil {
		return "", err
	}
	var c report.Candidate
	if err := json.Unmarshal(data, &c); err != nil {
		return "", fmt.Errorf("its report cannot be read; loopd verify makes it again: %w", err)
	}
	return c.Diff, nil
}

// flips lists the repetitions of a cell that came out differently in the two arms.
// Repetitions are counted over a campaign, so that equal numbers are no pair: the
// n-th of each arm is set beside the n-th of the other.
func flips(st *loop.State, p *loop.Progress) []flip {
	if p.Comparison == nil {
		return nil
	}
	arms := map[string]map[string][]*loop.Run{p.Comparison.Against: {}, p.Comparison.Wording: {}}
	last := len(st.Trials) - 1 // of its comparison: what came later decided nothing
	for last >= 0 && st.Trials[last].Subject != p.Candidate.ID {
		last--
	}
	for i := range st.Trials[:last+1] {
		t := &st.Trials[i]
		if cells, own := arms[t.Spec.Slot.Wording]; own && t.Class == harness.Valid {
			cell := t.Spec.Slot.Cell.String()
			cells[cell] = append(cells[cell], t)
		}
	}
	var out []flip
	for _, cell := range st.Started.Objective {
		a, b := arms[p.Comparison.Against][cell.String()], arms[p.Comparison.Wording][cell.String()]
		for i := range min(len(a), len(b)) {
			if a[i].Passed() != b[i].Passed() {
				out = append(out, flip{Cell: cell.String(), Rep: i + 1, Champion: a[i].ID, Candidate: b[i].ID, Won: b[i].Passed()})
			}
		}
	}
	return out
}

// trialsOf lists the sessions of a comparison, both arms.
func (s *Server) trialsOf(st *loop.State, p *loop.Progress) []trialRow {
	var out []trialRow
	for i := range st.Trials {
		t := &st.Trials[i]
		if t.Subject != p.Candidate.ID {
			continue
		}
		arm := "champion"
		if t.Spec.Slot.Wording == p.Commit {
			arm = "candidate"
		}
		row := rowOf(*t, arm)
		row.Why = s.mask.text(row.Why)
		out = append(out, row)
	}
	slices.Reverse(out)
	return out
}

func rowOf(t loop.Run, arm string) trialRow {
	r := trialRow{ID: t.ID, Cell: t.Spec.Slot.Cell.String(), Arm: arm, Rep: t.Spec.Slot.Rep, Attempt: t.Spec.Attempt, Class: string(t.Class), Why: t.Why}
	switch {
	case t.Class != harness.Valid:
		r.Outcome = "invalid"
	case t.Passed():
		r.Outcome = "pass"
	default:
		r.Outcome = "fail"
	}
	return r
}
