package web

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"

	"loopd/harness/transcript"
	"loopd/internal/trial"
	"loopd/loop"
)

// turn is one thing that was said or done.
type turn struct {
	Line   int
	Answer int    // line of a tool call's result, 0 for none
	Kind   string // text, thinking, tool, injected, result
	Name   string // of a tool
	Text   string
	Output string
	Failed bool
	Cut    bool
	Nested bool   // of a subagent
	Marks  []mark // what a check rests on here
}

// mark says that a check rests on this line, or nearly did.
type mark struct {
	What string
	Near bool
}

// Bounds of one page of a transcript: turns, bytes, and bytes of one text.
const (
	turnsAPage = 200
	bytesAPage = 200 << 10
	textShown  = 20 << 10
)

// parts lists where the pages of a transcript begin; there is always one.
func parts(turns []turn) []int {
	starts, size := []int{0}, 0
	for i, t := range turns {
		own := min(len(t.Text), textShown) + min(len(t.Output), textShown)
		if last := starts[len(starts)-1]; i > last && (i-last >= turnsAPage || size+own > bytesAPage) {
			starts, size = append(starts, i), 0
		}
		size += own
	}
	return starts
}

// partOf is the page, from 1, on which a line of the transcript is; the first where
// it is on none.
func partOf(turns []turn, starts []int, line int) int {
	i := slices.IndexFunc(turns, func(t turn) bool { return t.Line == line || t.Answer == line })
	if i < 0 {
		return 1
	}
	page := 1
	for page < len(starts) && starts[page] <= i {
		page++
	}
	return page
}

// placeOf is how to get from a page to a line.
func placeOf(turns []turn, starts []int, page, line int) string {
	if partOf(turns, starts, line) == page {
		return fmt.Sprintf("#L%d", line)
	}
	return fmt.Sprintf("?line=%d#L%d", line, line)
}

// shown masks and cuts what one turn says.
func (s *Server) shown(t turn) turn {
	for _, text := range []*string{&t.Text, &t.Output} {
		if len(*text) > textShown {
			*text, t.Cut = strings.ToValidUTF8((*text)[:textShown], ""), true
		}
		*text = s.mask.text(*text)
	}
	t.Name = s.mask.text(t.Name)
	return t
}

// marksOf lists what the checks of a trial rest on, by line.
func (s *Server) marksOf(t loop.Run) map[int][]mark {
	out := make(map[int][]mark)
	for _, c := range t.Result.Checks {
		for _, e := range c.Evidence {
			out[e.Line] = append(out[e.Line], mark{What: checkName(c.Name) + ": " + s.mask.text(e.What)})
		}
		for _, e := range c.NearMisses {
			out[e.Line] = append(out[e.Line], mark{What: checkName(c.Name) + ": " + s.mask.text(e.What), Near: true})
		}
	}
	return out
}

// read turns the transcript into turns, and says what its hooks printed and what
// is wrong with it.
func read(dir *os.Root, marks map[int][]mark) (turns []turn, hook, damage string, err error) {
	f, err := dir.Open(trial.TranscriptFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, "", "", errors.New("the transcript is gone: it was pruned, or removed by hand")
	}
	if err != nil {
		return nil, "", "", err
	}
	defer f.Close()
	parsed, err := transcript.Parse(bufio.NewReaderSize(f, 1<<16), transcript.Limits{})
	if err != nil {
		return nil, "", "", fmt.Errorf("read transcript: %w", err)
	}
	for _, h := range parsed.Hooks {
		hook += h.Text()
	}
	return turnsOf(parsed, marks), hook, parsed.Damage.Why, nil
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
		one := turn{Line: b.Line, Kind: string(b.Kind), Text: b.Text, Nested: b.Parent != ""}
		switch b.Kind {
		case transcript.ToolUse:
			one.Kind, one.Name, one.Text = "tool", b.Name, inputText(b.Input)
			if r, ok := results[b.ID]; ok {
				one.Answer, one.Output, one.Failed = r.Line, r.Text, r.Failed
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

// inputText is what a tool was told, a line for each argument. Escapes would make
// it hard to read and hide what is held out.
func inputText(input []byte) string {
	var args map[string]any
	if json.Unmarshal(input, &args) != nil {
		return string(input)
	}
	var b strings.Builder
	for _, key := range slices.Sorted(maps.Keys(args)) {
		text, ok := args[key].(string)
		if !ok {
			data, err := json.Marshal(args[key])
			if err != nil {
				return string(input)
			}
			text = string(data)
		}
		fmt.Fprintf(&b, "%s: %s\n", key, text)
	}
	return strings.TrimSuffix(b.String(), "\n")
}
