package web

import (
	"fmt"
	"math"
	"net/http"
	"net/url"
	"slices"
	"time"

	"loopd/harness"
	"loopd/internal/campaign"
	"loopd/internal/daemon"
	"loopd/loop"
	"loopd/report"
)

// campaignData is the page of a campaign.
type campaignData struct {
	Report  report.Campaign
	Digest  report.Digest
	Others  []string // names of the campaigns, newest first
	Now     nowData
	Said    string // what was just done
	Adopt   adoption
	Used    int              // share of the budget in percent
	Exposed [][2]report.Rate // by objective cell: start and champion
	figures
}

// figures are the charts of a campaign.
type figures struct{ Forest, Timeline, Windows, Invalid figure }

// nowData is what is going on, which the page keeps up to date by itself.
type nowData struct {
	Live  *daemon.Live
	Since time.Time // of the last event, where nothing runs
	Head  string
	Over  bool // the campaign has ended
	Used  int
	Of    int
	Round string
}

// adoption is what may be done with what a campaign kept.
type adoption struct {
	Confirmed bool // there is a promotion to take over
	Kept      bool // there is something to take over all the same
	Veto      bool // a person may still say that it is not wanted
	Pages     bool // from here; else by commands alone
}

// campaignPage asks who runs before it takes the store: nobody waits for that.
func (s *Server) campaignPage(w http.ResponseWriter, r *http.Request) {
	live := s.liveNow(r.Context())
	s.page("campaign", func(v view, r *http.Request) (string, any, error) {
		name := r.PathValue("campaign")
		at, ok := v.campaign(name)
		if !ok && name != "" {
			return "", nil, missing("campaign " + name)
		}
		if !ok {
			return "No campaign yet", campaignData{Now: nowOf(live, v)}, nil
		}
		d := s.campaignOf(live, v, at)
		d.Said = r.URL.Query().Get("said")
		return "Campaign " + d.Report.ID, d, nil
	})(w, r)
}

func (s *Server) campaignOf(live *daemon.Live, v view, at int) campaignData {
	b := v.built(at)
	rep := b.digest.Campaign
	d := campaignData{Report: rep, Digest: b.digest, Now: nowOf(live, v), Adopt: s.adoptionOf(v, at), figures: b.figures, Exposed: b.exposed}
	d.Report.Candidates = slices.Clone(rep.Candidates)
	for i := range d.Report.Candidates {
		d.Report.Candidates[i].Rationale = s.mask.text(d.Report.Candidates[i].Rationale)
	}
	if rep.Budget > 0 {
		d.Used = min(100*rep.Sessions/rep.Budget, 100)
	}
	for i := range v.s.states {
		d.Others = append(d.Others, v.state(len(v.s.states)-1-i).Started.Campaign)
	}
	return d
}

// adoptionOf says what may be done with what a campaign kept. A veto is of the last
// campaign alone.
func (s *Server) adoptionOf(v view, at int) adoption {
	st := v.state(at)
	a := adoption{Confirmed: report.Confirmed(st), Pages: s.o.Adopt != nil}
	a.Kept = campaign.Vetoable(st) == nil
	a.Veto = a.Kept && at == len(v.s.states)-1
	return a
}

// figuresOf draws the charts of a campaign.
func figuresOf(st *loop.State, rep report.Campaign) figures {
	var rows []interval
	for _, p := range st.Progress {
		rows = append(rows, intervalOf(st, p))
	}
	return figures{
		Forest:   forest("forest", "Candidates against the champion of their time", "Difference of the mean pass rate over the cells each was weighed on, with its 95 % interval. What was kept was chosen by it and is biased upward.", rows),
		Timeline: timeline(st), Windows: windows(st), Invalid: invalid(rep),
	}
}

// exposures are, by objective cell, how many valid sessions of start and champion
// are proved to have sent their wording.
func exposures(st *loop.State) [][2]report.Rate {
	out := make([][2]report.Rate, len(st.Started.Objective))
	place := make(map[harness.Cell]int, len(out))
	for i, cell := range st.Started.Objective {
		place[cell] = i
	}
	champion := st.CandidateOf(st.Champion)
	for i := range st.Trials {
		t := &st.Trials[i]
		at, counts := place[t.Spec.Slot.Cell]
		if !counts || t.Class != harness.Valid {
			continue
		}
		of := st.CandidateOf(t.Spec.Slot.Wording)
		for arm, id := range []string{loop.SubjectStart, champion} {
			if of == id {
				out[at][arm].N++
				out[at][arm].K += int(truth(t.Exposed))
			}
		}
	}
	return out
}

// nowOf is what is going on, in the newest campaign.
func nowOf(live *daemon.Live, v view) nowData {
	n := nowData{Live: live}
	at, ok := v.campaign("")
	if !ok {
		return n
	}
	st := v.state(at)
	n.Since, n.Over, n.Used, n.Of, n.Head = st.ChangedAt, st.Ended != nil, st.Sessions(), st.Budget(), report.Headline(st)
	if k := len(st.Rounds); k > 0 && st.Ended == nil {
		n.Round = fmt.Sprintf("round %d, %s of %s", st.Rounds[k-1].N, st.Rounds[k-1].Purpose, st.Rounds[k-1].Subject)
	}
	return n
}

func candidatePath(campaign, id string) string {
	return "/campaign/" + url.PathEscape(campaign) + "/candidate/" + url.PathEscape(id)
}

// intervalOf is one row of the forest plot.
func intervalOf(st *loop.State, p *loop.Progress) interval {
	out := interval{Name: p.Candidate.ID, Class: classOf(p.Decided), State: stateOf(p.Decided)}
	if _, e := report.Weighed(st, p); e != nil {
		out.Value, out.Low, out.High, out.Known = e.Difference, e.CI.Low, e.CI.High, true
	}
	return out
}

func classOf(d *loop.Decided) string {
	switch {
	case d == nil:
		return "open"
	case d.Verdict == loop.Keep:
		return "kept"
	case d.Verdict == loop.Reject || d.Verdict == loop.Broken:
		return "rejected"
	}
	return "undecided"
}

func stateOf(d *loop.Decided) string {
	switch {
	case d == nil:
		return "no verdict yet"
	case d.Reason != "":
		return fmt.Sprintf("%s (%s)", d.Verdict, d.Reason)
	}
	return string(d.Verdict)
}

// timeline is the mean pass rate of every candidate in the order they were tried,
// the kept ones marked.
func timeline(st *loop.State) figure {
	f := figure{ID: "timeline", Title: "Mean pass rate, candidate by candidate", About: "Squares were kept and became the champion; crosses were rejected; rings are undecided.", Head: []string{"candidate", "verdict", "mean pass rate", "sessions"}}
	var points []xy
	for i, p := range st.Progress {
		cells, _ := report.Weighed(st, p)
		mean, some := meanOf(cells)
		if !some {
			continue
		}
		id := p.Candidate.ID
		points = append(points, xy{X: float64(i + 1), Y: mean, Name: fmt.Sprintf("%s: %.3f, %s", id, mean, stateOf(p.Decided)), Class: classOf(p.Decided)})
		f.Rows = append(f.Rows, []string{id, stateOf(p.Decided), fmt.Sprintf("%.3f", mean), fmt.Sprint(p.Comparison.Sessions)})
	}
	return series(f, points, "%.0f", "%.2f", nil)
}

// meanOf is the candidate's mean over the cells it has reps in.
func meanOf(cells []report.Cell) (float64, bool) {
	sum, n := 0.0, 0
	for _, c := range cells {
		if c.Candidate.N > 0 {
			sum += float64(c.Candidate.K) / float64(c.Candidate.N)
			n++
		}
	}
	if n == 0 {
		return 0, false
	}
	return sum / float64(n), true
}

// windows is what every window cost.
func windows(st *loop.State) figure {
	f := figure{ID: "windows", Title: "Cost by window", About: "Sessions of each window, with their list price. What reported no cost is not counted as none.", Head: []string{"window", "sessions and list price"}}
	type sum struct {
		sessions, unreported int
		usd                  float64
	}
	var sums []sum
	for _, t := range st.Trials {
		for len(sums) < t.Window {
			sums = append(sums, sum{})
		}
		w := &sums[t.Window-1]
		w.sessions++
		if t.CostUSD == nil {
			w.unreported++
		} else {
			w.usd += *t.CostUSD
		}
	}
	var list []bar
	for i, w := range sums {
		text := fmt.Sprintf("%d, %.2f USD", w.sessions, w.usd)
		if w.unreported == w.sessions {
			text = fmt.Sprintf("%d, cost not reported", w.sessions)
		} else if w.unreported > 0 {
			text += fmt.Sprintf(", not reported by %d", w.unreported)
		}
		list = append(list, bar{Name: fmt.Sprintf("window %d", i+1), Value: float64(w.sessions), Text: text})
	}
	return bars(f, list)
}

// invalid is what was no evidence, by class.
func invalid(rep report.Campaign) figure {
	f := figure{ID: "invalid", Title: "Sessions that are no evidence", About: "By class, over all wordings. They are in no rate.", Head: []string{"class", "sessions"}}
	counts := make(map[string]int)
	for _, i := range rep.Invalid {
		counts[string(i.Class)] += i.Count
	}
	var list []bar
	for class, n := range counts {
		list = append(list, bar{Name: class, Value: float64(n), Text: fmt.Sprint(n)})
	}
	slices.SortFunc(list, func(a, b bar) int {
		if a.Value != b.Value {
			return int(b.Value - a.Value)
		}
		return slices.Compare([]byte(a.Name), []byte(b.Name))
	})
	return bars(f, list)
}

// evidencePath draws the evidence of a comparison against its sessions, with the
// bound it had to reach.
func evidencePath(path []loop.PathPoint, keepAt float64) figure {
	f := figure{ID: "path", Title: "Evidence against sessions", About: "log10 of E after every round. Above the line a candidate may be kept.", Head: []string{"sessions", "E", "log10 E"}}
	var points []xy
	for _, p := range path {
		y := p.LogE / math.Ln10
		points = append(points, xy{X: float64(p.Sessions), Y: y, Name: fmt.Sprintf("%d sessions: E = %.3g", p.Sessions, math.Exp(p.LogE)), Class: "open"})
		f.Rows = append(f.Rows, []string{fmt.Sprint(p.Sessions), fmt.Sprintf("%.3g", math.Exp(p.LogE)), fmt.Sprintf("%+.2f", y)})
	}
	return series(f, points, "%.0f", "%.2f", map[string]float64{fmt.Sprintf("keep at E = %g", keepAt): math.Log10(keepAt)})
}
