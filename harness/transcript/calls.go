package transcript

import (
	"strings"

	"loopd/harness"
)

// CallStatus says what became of a tool call.
type CallStatus string

// What can become of a tool call.
const (
	CallOK         CallStatus = "ok"
	CallFailed     CallStatus = "failed"
	CallDenied     CallStatus = "denied"
	CallUnanswered CallStatus = "unanswered"
)

// Call is one tool call with its result.
type Call struct {
	Block
	Status     CallStatus
	Output     string
	OutputLine int
}

// Subagent reports whether the call was made by a subagent.
func (c Call) Subagent() bool { return c.Parent != "" }

// askTool is the tool with which an agent puts questions to its user.
const askTool = "AskUserQuestion"

// Questions lists what a call of AskUserQuestion asks, one text a question
// with the answers it offers in brackets. Any other call asks nothing. A
// question with a key twice is left out, as it may show a reader another text
// than it shows the user.
func (c Call) Questions() []string {
	if c.Name != askTool {
		return nil
	}
	var out []string
	for _, e := range value(c.Input).object().get("questions").elements() {
		q := e.object()
		text := strings.TrimSpace(q.get("question").text())
		if _, twice := q.duplicate(); twice || text == "" {
			continue
		}
		var offered []string
		for _, o := range q.get("options").elements() {
			if s := offer(o); s != "" {
				offered = append(offered, s)
			}
		}
		if len(offered) > 0 {
			text += " [" + strings.Join(offered, " | ") + "]"
		}
		out = append(out, text)
	}
	return out
}

// offer is an answer a question offers: its label and what it is said to mean.
func offer(v value) string {
	o := v.object()
	label, means := strings.TrimSpace(o.get("label").text()), strings.TrimSpace(o.get("description").text())
	switch _, twice := o.duplicate(); {
	case twice:
		return ""
	case label == "" || means == "":
		return label
	default:
		return label + ": " + means
	}
}

// ToolUses lists every tool call once, in order, paired with its first result.
func (t *Transcript) ToolUses() []Call {
	results := make(map[string]Block)
	for _, b := range t.Blocks {
		if _, seen := results[b.ID]; b.Kind == ToolResult && b.ID != "" && !seen {
			results[b.ID] = b
		}
	}
	denied := make(map[string]bool)
	for _, d := range t.Denials {
		denied[d.ID] = true
	}
	var out []Call
	seen := make(map[string]bool)
	for _, b := range t.Blocks {
		if b.Kind != ToolUse || b.ID != "" && seen[b.ID] {
			continue
		}
		seen[b.ID] = true
		r, answered := results[b.ID]
		out = append(out, Call{b, status(r, answered, b.ID != "" && denied[b.ID]), r.Text, r.Line})
	}
	return out
}

func status(r Block, answered, denied bool) CallStatus {
	switch {
	case denied || r.Unexecuted != "":
		return CallDenied
	case !answered:
		return CallUnanswered
	case r.Failed:
		return CallFailed
	default:
		return CallOK
	}
}

// MainText lists the texts of the main agent in order: no thinking, no
// subagent, nothing the CLI wrote itself.
func (t *Transcript) MainText() []Block {
	var out []Block
	for _, b := range t.Blocks {
		if b.Kind == Text && b.Parent == "" && strings.TrimSpace(b.Text) != "" {
			out = append(out, b)
		}
	}
	return out
}

// Last returns the result that decides, the last one.
func (t *Transcript) Last() (Result, bool) {
	if len(t.Results) == 0 {
		return Result{}, false
	}
	return t.Results[len(t.Results)-1], true
}

// FinalText returns the message the session ended with: the last result's
// text, or the main agent's last text when the result has none.
func (t *Transcript) FinalText() string {
	if r, _ := t.Last(); r.HasText && !r.IsError {
		return r.Text
	}
	if texts := t.MainText(); len(texts) > 0 {
		return texts[len(texts)-1].Text
	}
	return ""
}

// Init returns how the session started.
func (t *Transcript) Init() (Init, bool) {
	if len(t.Inits) == 0 {
		return Init{}, false
	}
	return t.Inits[0], true
}

// Usage sums the tokens of all models as the last result reports them, which
// is cumulative. It is zero when no result came: per-line usage repeats and
// must not be added up.
func (t *Transcript) Usage() harness.Usage {
	r, _ := t.Last()
	if len(r.Models) == 0 {
		return harness.Usage{Input: r.Usage.Input, Output: r.Usage.Output, CacheRead: r.Usage.CacheRead, CacheWrite: r.Usage.CacheWrite}
	}
	var u harness.Usage
	for _, m := range r.Models {
		u.Input += m.Input
		u.Output += m.Output
		u.CacheRead += m.CacheRead
		u.CacheWrite += m.CacheWrite
	}
	return u
}

// CostUSD returns the latest cumulative cost, nil when none was reported.
func (t *Transcript) CostUSD() *float64 {
	for i := len(t.Results) - 1; i >= 0; i-- {
		if t.Results[i].CostUSD != nil {
			return t.Results[i].CostUSD
		}
	}
	return nil
}
