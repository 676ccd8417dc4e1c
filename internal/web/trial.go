package web

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"loopd/harness"
	"loopd/harness/transcript"
	"loopd/internal/trial"
	"loopd/loop"
)

// trialData is the page of one session.
type trialData struct {
	Trial    loop.Run
	Campaign string
	Arm      string // the candidate whose wording it ran under, or start
	Outcome  string
	Checks   []harness.Check
	Task     string
	Lost     string // why there is no transcript to show
	Turns    []turn
	Page     int
	Pages    int
	Hook     string
	Files    []string
}

// turn is one thing that was said or done.
type turn struct {
	Line    int
	Kind    string // text, thinking, tool, injected, result
	Name    string // of a tool
	Text    string
	Output  string
	Failed  bool
	Cut     bool
	Subsume bool   // of a subagent
	Marks   []mark // what a check rests on here
}

// mark says that a check rests on this line, or nearly did.
type mark struct {
	What string
	Near bool
}

// Bounds of one page of a transcript: turns, and bytes of one text.
const (
	turnsAPage = 200
	textShown  = 20 << 10
)

func (s *Server) trialPage(_ context.Context, v view, r *http.Request) (string, any, error) {
	st, t, ok := v.trial(r.PathValue("trial"))
	if !ok {
		return "", nil, missing("trial " + r.PathValue("trial"))
	}
	page, err := strconv.Atoi(r.URL.Query().Get("page"))
	if err != nil || page < 1 {
		page = 1
	}
	d, err := s.trialOf(v, st, t, page)
	return "Trial " + t.ID, d, err
}

func (s *Server) trialOf(v view, st *loop.State, t loop.Run, page int) (trialData, error) {
	d := trialData{
		Trial: t, Campaign: st.Started.Campaign, Arm: st.CandidateOf(t.Spec.Slot.Wording), Outcome: rowOf(t, "").Outcome,
		Checks: t.Result.Checks, Page: page, Task: s.task(t.Spec.Slot.Cell.Scenario),
	}
	dir, err := trialDir(v, t.ID)
	if err != nil {
		d.Lost = err.Error()
		return d, nil
	}
	defer dir.Close()
	for _, name := range rawFiles {
		if _, err := dir.Stat(name); err == nil {
			d.Files = append(d.Files, name)
		}
	}
	turns, hook, err := s.read(dir, marksOf(t))
	if err != nil {
		d.Lost = err.Error()
		return d, nil
	}
	d.Hook = s.mask.text(hook)
	d.Pages = max((len(turns)+turnsAPage-1)/turnsAPage, 1)
	d.Page = min(page, d.Pages)
	d.Turns = turns[(d.Page-1)*turnsAPage : min(d.Page*turnsAPage, len(turns))]
	for i := range d.Turns {
		d.Turns[i] = s.shown(d.Turns[i])
	}
	return d, nil
}

// task is the prompt of a scenario, masked unless the server reveals it.
func (s *Server) task(id string) string {
	if s.o.Suite == nil {
		return heldOut
	}
	suite, err := s.o.Suite()
	if err != nil {
		return heldOut
	}
	sc, ok := suite.Scenario(id)
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

// shown masks and cuts what one turn says.
func (s *Server) shown(t turn) turn {
	for _, text := range []*string{&t.Text, &t.Output} {
		if len(*text) > textShown {
			*text, t.Cut = strings.ToValidUTF8((*text)[:textShown], ""), true
		}
		*text = s.mask.text(*text)
	}
	return t
}

// marksOf lists what the checks of a trial rest on, by line.
func marksOf(t loop.Run) map[int][]mark {
	out := make(map[int][]mark)
	for _, c := range t.Result.Checks {
		for _, e := range c.Evidence {
			out[e.Line] = append(out[e.Line], mark{What: fmt.Sprintf("axis %s: %s", c.Name, e.What)})
		}
		for _, e := range c.NearMisses {
			out[e.Line] = append(out[e.Line], mark{What: fmt.Sprintf("axis %s, near miss: %s", c.Name, e.What), Near: true})
		}
	}
	return out
}

// trialDir opens the folder of a trial by an id the ledger knows.
func trialDir(v view, id string) (*os.Root, error) {
	all, err := os.OpenRoot(v.home().Trials())
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

// read turns the transcript into turns.
func (s *Server) read(dir *os.Root, marks map[int][]mark) ([]turn, string, error) {
	f, err := dir.Open(trial.TranscriptFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, "", errors.New("the transcript is gone: it was pruned, or removed by hand")
	}
	if err != nil {
		return nil, "", err
	}
	defer f.Close()
	parsed, err := transcript.Parse(bufio.NewReaderSize(f, 1<<16), transcript.Limits{})
	if err != nil {
		return nil, "", fmt.Errorf("read transcript: %w", err)
	}
	hook := ""
	for _, h := range parsed.Hooks {
		hook += h.Text()
	}
	return turnsOf(parsed, marks), hook, nil
}

// turnsOf sets every tool call beside its result, in the order of the stream.
func turnsOf(t *transcript.Transcript, marks map[int][]mark) []turn {
	results := make(map[string]transcript.Block)
	for _, b := range t.Blocks {
		if b.Kind == transcript.ToolResult {
			results[b.ID] = b
		}
	}
	var out []turn
	taken := make(map[int]bool)
	for _, b := range t.Blocks {
		one := turn{Line: b.Line, Kind: string(b.Kind), Text: b.Text, Subsume: b.Parent != ""}
		switch b.Kind {
		case transcript.ToolUse:
			one.Kind, one.Name, one.Text = "tool", b.Name, string(b.Input)
			if r, ok := results[b.ID]; ok {
				one.Output, one.Failed = r.Text, r.Failed
				one.Marks = append(one.Marks, marks[r.Line]...)
				taken[r.Line] = true
			}
		case transcript.ToolResult:
			continue
		}
		if !taken[b.Line] {
			one.Marks = append(one.Marks, marks[b.Line]...)
			taken[b.Line] = true
		}
		out = append(out, one)
	}
	if r, ok := t.Last(); ok {
		out = append(out, turn{Line: r.Line, Kind: "result", Text: r.Subtype, Failed: r.IsError, Marks: marks[r.Line]})
	}
	return out
}

// rawFiles are the files of a trial that can be looked at as they are.
var rawFiles = []string{trial.TranscriptFile, trial.StderrFile, trial.ChangesFile, trial.LaunchFile}

// rawFile sends one file of a trial, line by line masked.
func (s *Server) rawFile(w http.ResponseWriter, r *http.Request) {
	name := r.PathValue("file")
	var f *os.File
	err := s.store.with(r.Context(), func(v view) error {
		_, t, ok := v.trial(r.PathValue("trial"))
		if !ok || !slices.Contains(rawFiles, name) {
			return missing("such file")
		}
		dir, err := trialDir(v, t.ID)
		if err != nil {
			return &problem{http.StatusNotFound, err.Error()}
		}
		defer dir.Close()
		if f, err = dir.Open(name); err != nil {
			return missing("such file")
		}
		return nil
	})
	if err != nil {
		s.answer(w, nil, err)
		return
	}
	defer f.Close()
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	if s.o.Reveal {
		_, _ = io.Copy(w, f)
		return
	}
	lines := bufio.NewReader(f)
	for {
		line, err := lines.ReadString('\n')
		if _, writeErr := io.WriteString(w, s.mask.text(line)); writeErr != nil || err != nil {
			return
		}
	}
}

// pairData is two sessions side by side.
type pairData struct {
	Cell   string
	Sides  [2]trialData
	Rows   []pairRow
	Differ int // the first row at which the two do something else, from 1; 0 for none
}

// pairRow is the n-th call of each side.
type pairRow struct {
	N    int
	A, B *turn
	Same bool
}

func (s *Server) pairPage(_ context.Context, v view, r *http.Request) (string, any, error) {
	var d pairData
	var calls [2][]turn
	for i, id := range []string{r.PathValue("a"), r.PathValue("b")} {
		st, t, ok := v.trial(id)
		if !ok {
			return "", nil, missing("trial " + id)
		}
		side, err := s.trialOf(v, st, t, 1)
		if err != nil {
			return "", nil, err
		}
		d.Sides[i], d.Cell = side, t.Spec.Slot.Cell.String()
		calls[i] = slices.DeleteFunc(slices.Clone(side.Turns), func(t turn) bool { return t.Kind != "tool" && t.Kind != "text" })
	}
	if d.Sides[0].Trial.Spec.Slot.Cell != d.Sides[1].Trial.Spec.Slot.Cell {
		return "", nil, &problem{http.StatusBadRequest, "the two sessions are of different cells"}
	}
	for i := range max(len(calls[0]), len(calls[1])) {
		row := pairRow{N: i + 1}
		if i < len(calls[0]) {
			row.A = &calls[0][i]
		}
		if i < len(calls[1]) {
			row.B = &calls[1][i]
		}
		row.Same = row.A != nil && row.B != nil && row.A.Kind == row.B.Kind && row.A.Name == row.B.Name && (row.A.Kind == "text" || withoutPlace(row.A.Text) == withoutPlace(row.B.Text))
		if !row.Same && d.Differ == 0 {
			d.Differ = i + 1
		}
		d.Rows = append(d.Rows, row)
	}
	return "Pair in " + d.Cell, d, nil
}

// boxes are the places of sandboxes.
var boxes = regexp.MustCompile(`/tmp/[a-z]{8,}/[a-z]{8,}/`)

// withoutPlace takes the names of the sandboxes out of a call: they differ by
// chance.
func withoutPlace(text string) string { return boxes.ReplaceAllString(text, "/") }
