package web

import (
	"context"
	"errors"
	"io/fs"
	"net/http"
	"os"
	"strconv"
	"strings"

	"loopd/harness"
	"loopd/loop"
)

// session is a trial with what its campaign knows of it.
type session struct {
	loop.Run
	campaign string
	arm      string // the candidate whose wording it ran under, or start
}

// session finds a trial by its id. It is a copy: the store may go on.
func (s *Server) session(ctx context.Context, id string) (session, error) {
	var out session
	err := s.with(ctx, func(v view) error {
		st, t, ok := v.trial(id)
		if !ok {
			return missing("trial " + id)
		}
		out = session{t, st.Started.Campaign, st.CandidateOf(t.Spec.Slot.Wording)}
		return nil
	})
	return out, err
}

// trialData is the page of one session.
type trialData struct {
	Trial    loop.Run
	Why      string // what its class rests on
	Campaign string
	Arm      string // the candidate whose wording it ran under, or start
	Outcome  string
	Checks   []checkRow
	Task     string
	Question string // that a judge was asked, where the suite still has it
	Lost     string // why there is no transcript to show
	Damage   string // what is wrong with it
	Turns    []turn
	Page     int
	Pages    int
	Hook     string
	Files    []string
	Launch   []launchRow
}

// checkRow is one check with the places it rests on.
type checkRow struct {
	Name, Outcome, Reason string
	Rests, Near           []place
}

// place is a line of the transcript; Href is empty where it cannot be shown.
type place struct {
	Line       int
	What, Href string
}

func (s *Server) trialPage(r *http.Request) (string, any, error) {
	t, err := s.session(r.Context(), r.PathValue("trial"))
	if err != nil {
		return "", nil, err
	}
	page, _ := strconv.Atoi(r.URL.Query().Get("page")) // what is no number is the first
	line, _ := strconv.Atoi(r.URL.Query().Get("line"))
	return "Trial " + t.ID, s.trialOf(t, page, line), nil
}

// trialOf shows the page of a session, or the one that holds a line of its
// transcript where line is not 0.
func (s *Server) trialOf(t session, page, line int) trialData {
	d := trialData{
		Trial: t.Run, Why: s.mask.text(t.Why), Campaign: t.campaign, Arm: t.arm, Outcome: rowOf(t.Run, "").Outcome,
		Page: 1, Pages: 1, Task: s.task(t.Spec.Slot.Cell.Scenario), Question: s.question(t.Run),
	}
	if turns, ok := s.openTrial(&d, t.Run); ok {
		starts := parts(turns)
		d.Pages = len(starts)
		d.Page = min(max(page, 1), d.Pages)
		if line > 0 {
			d.Page = partOf(turns, starts, line)
		}
		d.Checks = s.checksOf(t.Run, func(line int) string { return placeOf(turns, starts, d.Page, line) })
		end := len(turns)
		if d.Page < d.Pages {
			end = starts[d.Page]
		}
		d.Turns = turns[starts[d.Page-1]:end]
		for i := range d.Turns {
			d.Turns[i] = s.shown(d.Turns[i])
		}
		return d
	}
	d.Checks = s.checksOf(t.Run, func(int) string { return "" })
	return d
}

// openTrial fills in what is kept of a session; false where its transcript cannot
// be shown.
func (s *Server) openTrial(d *trialData, t loop.Run) ([]turn, bool) {
	dir, err := s.trialDir(t.ID)
	if err != nil {
		d.Lost = err.Error()
		return nil, false
	}
	defer dir.Close()
	for _, name := range rawFiles {
		if _, err := dir.Stat(name); err == nil {
			d.Files = append(d.Files, name)
		}
	}
	d.Launch = s.launchOf(dir)
	turns, hook, damage, err := read(dir, s.marksOf(t))
	if err != nil {
		d.Lost = err.Error()
		return nil, false
	}
	d.Hook, d.Damage = s.mask.text(hook), damage
	return turns, true
}

// checksOf lists the checks of a trial; where says how to get to a line.
func (s *Server) checksOf(t loop.Run, where func(line int) string) []checkRow {
	places := func(list []harness.Evidence) []place {
		var out []place
		for _, e := range list {
			out = append(out, place{Line: e.Line, What: s.mask.text(e.What), Href: where(e.Line)})
		}
		return out
	}
	var out []checkRow
	for _, c := range t.Result.Checks {
		out = append(out, checkRow{Name: checkName(c.Name), Outcome: string(c.Outcome), Reason: s.mask.text(c.Reason), Rests: places(c.Evidence), Near: places(c.NearMisses)})
	}
	return out
}

// checkName is a check's name for people: axis a, not axis_a.
func checkName(name string) string { return strings.ReplaceAll(name, "_", " ") }

// question is what a judge was asked about a session, empty where none was.
func (s *Server) question(t loop.Run) string {
	if t.Judgement == nil {
		return ""
	}
	sc, _ := s.mask.scenario(t.Spec.Slot.Cell.Scenario)
	return s.mask.text(sc.Judge)
}

// task is the prompt of a scenario, masked unless the server reveals it.
func (s *Server) task(id string) string {
	sc, ok := s.mask.scenario(id)
	switch {
	case !ok:
		return heldOut
	case sc.Role == harness.Practice:
		return sc.PracticeTask
	case s.o.Reveal:
		return sc.Task.Reveal()
	}
	return heldOut
}

// trialDir opens the folder of a trial by an id the ledger knows.
func (s *Server) trialDir(id string) (*os.Root, error) {
	all, err := os.OpenRoot(s.store.home().Trials())
	if err != nil {
		return nil, errors.New("nothing is kept of this session's folder")
	}
	defer all.Close()
	dir, err := all.OpenRoot(id)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, errors.New("the session's files are gone: they were pruned, or removed by hand")
	}
	return dir, err
}
