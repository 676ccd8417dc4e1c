package unprompted

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"loopd/harness"
	"loopd/harness/transcript"
)

const project = "/tmp/adr-box/w1" // the path itself must never count

// checker is a suite's checker.yaml in values of our own.
func checker() harness.Checker {
	return harness.Checker{
		Plugin:   "os-adr",
		Records:  harness.Records{Dir: "docs/adr", File: "[0-9][0-9][0-9][0-9]-*.md"},
		Consult:  []harness.Assertion{{Skill: "os-adr:*"}, {Command: "adr-*"}, {Touches: "docs/adr/**"}},
		Citation: harness.Citation{Prefix: "ADR", Digits: 4, MaxLive: 2, Nouns: []string{"decision", "record"}},
	}
}

func start() harness.Tree {
	return harness.Tree{
		"lib/ferry.rb":                text("FARE = 3\nBOATS = 2\n"),
		"docs/adr/README.md":          text("| 0001 | 0002 | 0003 |\n"),
		"docs/adr/0001-flat-fare.md":  text(rec("0001", "Flat fare", "Superseded", "One price for every crossing keeps the till simple.")),
		"docs/adr/0002-two-boats.md":  text(rec("0002", "Two boats", "Accepted", "The second boat stays in the harbour as a reserve.")),
		"docs/adr/0003-zone-fare.md":  text(rec("0003", "Zone fare", "Accepted", "Prices follow the zone map and nothing else.")),
		"docs/adr/0004-night-rate.md": text(rec("0004", "Night rate", "Accepted", "Crossings after ten cost double.")),
	}
}

func text(s string) harness.File { return harness.File{Mode: 0o644, Data: []byte(s)} }

func rec(id, title, status, body string) string {
	return fmt.Sprintf("---\nid: %q\ntitle: %s\nstatus: %s\n---\n\n# %s. %s\n\n## Decision\n\n%s\n", id, title, status, id, title, body)
}

// with returns a copy of the start tree after edits; an empty text removes.
func with(edits map[string]string) harness.Tree {
	out := start()
	for p, s := range edits {
		if s == "" {
			delete(out, p)
			continue
		}
		out[p] = text(s)
	}
	return out
}

// stream builds a session from events.
type stream struct{ lines []string }

func streamOf(events ...any) *stream {
	s := &stream{}
	s.add(obj{"type": "system", "subtype": "hook_response", "hook_name": "SessionStart:startup", "hook_event": "SessionStart", "exit_code": 0,
		"outcome": "success", "stdout": "[os-adr] Decisions of this project live in docs/adr; look there before you change what was settled, ADR-0003 style."})
	s.add(obj{"type": "system", "subtype": "init", "cwd": project, "skills": []string{"os-adr:find-decision", "os-adr:record-decision", "verify"}})
	for _, e := range events {
		s.event(e)
	}
	return s
}

type obj map[string]any

func (s *stream) add(o obj) {
	data, err := json.Marshal(o)
	if err != nil {
		panic(err)
	}
	s.lines = append(s.lines, string(data))
}

// say is a text of the main agent, use one tool call with what came of it.
type say string

type use struct {
	tool   string
	input  obj
	status transcript.CallStatus // ok when empty
	output string
	parent string
}

type (
	think    string
	subagent string
	injected string
)

func (s *stream) event(e any) {
	block := func(b obj, parent string) obj {
		return obj{"type": "assistant", "parent_tool_use_id": parent, "message": obj{"id": "m", "model": "x", "content": []obj{b}}}
	}
	switch e := e.(type) {
	case say:
		s.add(block(obj{"type": "text", "text": string(e)}, ""))
	case subagent:
		s.add(block(obj{"type": "text", "text": string(e)}, "toolu_parent"))
	case think:
		s.add(block(obj{"type": "thinking", "thinking": string(e)}, ""))
	case injected:
		s.add(obj{"type": "user", "message": obj{"content": []obj{{"type": "text", "text": string(e)}}}})
	case use:
		id := fmt.Sprintf("toolu_%d", len(s.lines))
		s.add(block(obj{"type": "tool_use", "id": id, "name": e.tool, "input": e.input}, e.parent))
		if e.status == transcript.CallUnanswered {
			return
		}
		line := obj{"type": "user", "message": obj{"content": []obj{{
			"type": "tool_result", "tool_use_id": id, "content": e.output, "is_error": e.status == transcript.CallFailed || e.status == transcript.CallDenied,
		}}}}
		if e.status == transcript.CallDenied {
			line["tool_result_meta"] = []obj{{"id": id, "non_execution_kind": "permission-rule"}}
		}
		s.add(line)
	default:
		panic(fmt.Sprintf("no event %T", e))
	}
}

func bash(command string) use { return use{tool: "Bash", input: obj{"command": command}} }

func skill(name string) use { return use{tool: "Skill", input: obj{"skill": name}} }

func read(p string) use { return use{tool: "Read", input: obj{"file_path": p}} }

func (s *stream) transcript(t testing.TB) *transcript.Transcript {
	t.Helper()
	tr, err := transcript.Parse(strings.NewReader(strings.Join(s.lines, "\n")+"\n"), transcript.Limits{})
	if err != nil || tr.Damage != (transcript.Damage{}) {
		t.Fatalf("the test's own stream does not parse: %v %+v", err, tr.Damage)
	}
	return tr
}

func yes() *bool { v := true; return &v }

func nope() *bool { v := false; return &v }

// consulting asks for axis a alone; axis b holds by itself.
func consulting() harness.Scenario {
	return harness.Scenario{
		ID: "T1", Role: harness.Objective, Task: harness.NewHeldOut("Please raise the price of the short crossing to five."),
		Expect: harness.Expect{A: []harness.Assertion{{Consults: yes()}}, B: []harness.Assertion{{NeverSays: []string{"zzz"}}}},
	}
}

func evaluate(t testing.TB, sc harness.Scenario, s *stream, end harness.Tree) Evaluation {
	t.Helper()
	return Evaluate(Input{Scenario: sc, Checker: checker(), Transcript: s.transcript(t), Project: project, Start: start(), End: end})
}
