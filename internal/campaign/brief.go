package campaign

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"loopd/candidates"
	"loopd/candidates/propose"
	"loopd/harness"
	"loopd/harness/transcript"
	"loopd/internal/redact"
	"loopd/internal/trial"
	"loopd/loop"
)

// Bounds of a brief. What a proposer reads beyond them costs money and says no
// more.
const (
	briefTranscripts = 4       // of practice sessions
	briefSession     = 6 << 10 // bytes of one
	briefOutput      = 400     // bytes of what one tool said
	briefFailed      = 20      // sessions whose tools are counted
	briefRejected    = 12      // candidates, the last ones
	briefEdit        = 2 << 10 // bytes of one edit's text
)

// Brief is what a proposer is told at this moment: the champion's wording, its
// rates under names that say nothing, what failed, what was tried. Only practice
// scenarios are shown as sessions, and whatever in these is the sealed suite's
// alone is blotted out.
func (c *Campaign) Brief(ctx context.Context, s *loop.State, n int, ask propose.Ask) (propose.Brief, error) {
	tree, err := c.Wordings.Tree(s.Champion)
	if err != nil {
		return propose.Brief{}, fmt.Errorf("write brief: %w", err)
	}
	base := bytesOf(tree)
	surface := candidates.NewSurface(base, c.Sealed.Suite.Launch.Note.File)
	seen, err := c.preparer(s).seen(surface)
	if err != nil {
		return propose.Brief{}, fmt.Errorf("write brief: %w", err)
	}
	w := briefWriter{c: c, s: s, base: base, leaks: newLeaks(c.Sealed.Suite, tree)}
	b := propose.Brief{
		Version: propose.Version, N: n, Ask: ask, Wording: []propose.File{}, Limits: propose.LimitsOf(), Cells: w.cells(),
		Failures: w.failures(), Tools: w.tools(ctx), Practice: w.practice(ctx), Rejected: w.rejected(),
		Left: propose.Left{Sessions: s.SearchLeft(), Proposals: s.ProposalsLeft()}, Tried: slices.Sorted(maps.Keys(seen)),
	}
	for _, p := range surface.Paths {
		b.Wording = append(b.Wording, propose.File{Path: p, Text: string(base[p]), Note: p == surface.Note})
	}
	return b, nil
}

// briefWriter gathers the parts of a brief.
type briefWriter struct {
	c     *Campaign
	s     *loop.State
	base  map[string][]byte // the champion's files
	leaks *leaks
}

// own says whether a trial is one of the champion's, on a cell of the metric.
// The pilot's second label is the start by another name.
func (w briefWriter) own(t loop.Run) bool {
	wording := t.Spec.Slot.Wording
	if wording == w.s.AAArm {
		wording = w.s.Started.Start
	}
	return wording == w.s.Champion && slices.Contains(w.s.Started.Objective, t.Spec.Slot.Cell)
}

func (w briefWriter) cells() []propose.Cell {
	out := make([]propose.Cell, len(w.s.Started.Objective))
	for i := range out {
		out[i].Name = fmt.Sprintf("cell %d", i+1)
	}
	for _, t := range w.s.Trials {
		if !w.own(t) || t.Class != harness.Valid {
			continue
		}
		cell := &out[slices.Index(w.s.Started.Objective, t.Spec.Slot.Cell)]
		cell.N++
		cell.A += one(t.Result.Check(harness.AxisA).Outcome == harness.Pass)
		cell.B += one(t.Result.Check(harness.AxisB).Outcome == harness.Pass)
		cell.Both += one(t.Passed())
	}
	return out
}

func one(yes bool) int {
	if yes {
		return 1
	}
	return 0
}

// reasonWord is how the checker and the ladder write a reason. Anything else is
// prose, and prose may hold what a session said.
var reasonWord = regexp.MustCompile(`^[a-z_]{2,40}$`)

func (w briefWriter) failures() []propose.Tally {
	counts := make(map[string]int)
	for _, t := range w.s.Trials {
		switch {
		case !w.own(t) || t.Passed():
		case t.Class != harness.Valid:
			counts[string(t.Class)]++
		default:
			for _, r := range t.Result.Reasons() {
				counts[known(r, reasonWord.MatchString(r))]++
			}
		}
	}
	return tallies(counts)
}

func known(word string, ok bool) string {
	if ok {
		return word
	}
	return "other"
}

func tallies(counts map[string]int) []propose.Tally {
	out := []propose.Tally{}
	for word, n := range counts {
		out = append(out, propose.Tally{Word: word, N: n})
	}
	slices.SortFunc(out, func(a, b propose.Tally) int { return cmp.Or(b.N-a.N, strings.Compare(a.Word, b.Word)) })
	return out
}

// knownTools are the agent's own tools. A name beyond them is the model's
// invention and could say anything.
var knownTools = []string{
	"Agent", "AskUserQuestion", "Bash", "BashOutput", "Edit", "EnterPlanMode", "ExitPlanMode", "Glob", "Grep", "KillShell", "MultiEdit", "NotebookEdit",
	"Read", "Skill", "Task", "TaskCreate", "TaskUpdate", "TodoWrite", "ToolSearch", "Write",
}

// tools counts what failed sessions called, those recorded last.
func (w briefWriter) tools(ctx context.Context) []propose.Tally {
	counts := make(map[string]int)
	read := 0
	for _, t := range slices.Backward(w.s.Trials) {
		if read == briefFailed || !w.own(t) || t.Class != harness.Valid || t.Passed() {
			continue
		}
		session, ok := w.session(ctx, t)
		if !ok {
			continue
		}
		read++
		for _, call := range session.ToolUses() {
			counts[known(call.Name, slices.Contains(knownTools, call.Name))]++
		}
	}
	return tallies(counts)
}

// session reads the transcript of a trial; false where it is gone.
func (w briefWriter) session(ctx context.Context, t loop.Run) (*transcript.Transcript, bool) {
	run, err := trial.ReadStored(ctx, filepath.Join(w.c.Home.Trials(), t.ID), harness.Tree{})
	return run.Transcript, err == nil
}

// practice shows the last sessions of practice scenarios.
func (w briefWriter) practice(ctx context.Context) []propose.Practice {
	out := []propose.Practice{}
	for _, t := range slices.Backward(w.s.Trials) {
		sc, ok := w.c.Sealed.Suite.Scenario(t.Spec.Slot.Cell.Scenario)
		if len(out) == briefTranscripts || !ok || sc.Role != harness.Practice || t.Class != harness.Valid {
			continue
		}
		if session, ok := w.session(ctx, t); ok {
			out = append(out, propose.Practice{Task: w.clean(sc.PracticeTask), Passed: t.Passed(), Transcript: w.clean(told(session))})
		}
	}
	return out
}

// told is a session as text: what the main agent said, what it called and the
// beginning of what came of it.
func told(t *transcript.Transcript) string {
	calls := make(map[int]transcript.Call)
	for _, c := range t.ToolUses() {
		calls[c.Line] = c
	}
	var b strings.Builder
	for _, block := range t.Blocks {
		switch {
		case block.Parent != "":
		case block.Kind == transcript.Text && block.Message != "":
			b.WriteString("says: " + strings.TrimSpace(block.Text) + "\n")
		case block.Kind == transcript.ToolUse:
			b.WriteString("calls " + known(block.Name, slices.Contains(knownTools, block.Name)) + ": " + cutText(string(block.Input), briefOutput) + "\n")
			if c, ok := calls[block.Line]; ok && c.ID == block.ID {
				b.WriteString(string(c.Status) + ": " + cutText(strings.TrimSpace(c.Output), briefOutput) + "\n")
			}
		}
	}
	return cutText(b.String(), briefSession)
}

// cutText keeps the beginning of a text.
func cutText(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + " […]"
}

// clean blots out secrets, and what is the suite's alone.
func (w briefWriter) clean(text string) string {
	text = string(redact.New().Bytes([]byte(text)))
	spans := w.leaks.find(text)
	slices.SortFunc(spans, func(a, b candidates.Span) int { return cmp.Or(a.Start-b.Start, b.End-a.End) })
	var b strings.Builder
	at := 0
	for _, s := range spans {
		if s.Start >= at {
			b.WriteString(text[at:s.Start] + "[…]")
		}
		at = max(at, s.End)
	}
	return b.String() + text[at:]
}

// rejected lists what was tried and not kept. Of what the lint refused only the
// classes are told, and of a verdict's note nothing: it names cells.
func (w briefWriter) rejected() []propose.Rejected {
	out := []propose.Rejected{}
	for _, p := range w.s.Progress {
		d := p.Decided
		if d == nil || d.Verdict == loop.Keep || d.Verdict == loop.Shortlisted {
			continue
		}
		r := propose.Rejected{Verdict: string(d.Verdict), Reason: string(d.Reason)}
		if d.Reason == loop.ByLint {
			r.Classes = candidates.Classes(d.Findings)
		} else {
			r.Rationale = w.clean(p.Candidate.Rationale)
			r.Edits = w.edits(p.Candidate.Edits)
		}
		out = append(out, r)
	}
	return out[max(len(out)-briefRejected, 0):]
}

func (w briefWriter) edits(edits []candidates.Edit) []candidates.Edit {
	var out []candidates.Edit
	for _, e := range edits {
		if e.Whole != nil {
			e.Old, e.New = changedLines(string(w.base[e.Path]), *e.Whole)
			e.Whole = nil
		}
		e.Old, e.New = w.clean(cutText(e.Old, briefEdit)), w.clean(cutText(e.New, briefEdit))
		out = append(out, e)
	}
	return out
}

// changedLines are the lines of two texts between those they begin and end with
// alike.
func changedLines(was, is string) (old, next string) {
	a, b := strings.SplitAfter(was, "\n"), strings.SplitAfter(is, "\n")
	for len(a) > 0 && len(b) > 0 && a[0] == b[0] {
		a, b = a[1:], b[1:]
	}
	for len(a) > 0 && len(b) > 0 && a[len(a)-1] == b[len(b)-1] {
		a, b = a[:len(a)-1], b[:len(b)-1]
	}
	return strings.Join(a, ""), strings.Join(b, "")
}
