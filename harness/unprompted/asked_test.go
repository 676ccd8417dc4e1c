package unprompted

import (
	"strings"
	"testing"

	"loopd/harness"
	"loopd/harness/transcript"
)

// ask is a question put with the tool, with the answers it offers.
func ask(question string, offers ...string) use {
	options := []obj{}
	for _, o := range offers {
		label, means, _ := strings.Cut(o, "=")
		options = append(options, obj{"label": label, "description": means})
	}
	return use{tool: "AskUserQuestion", input: obj{"questions": []obj{{"question": question, "header": "Next", "options": options}}}, status: transcript.CallFailed}
}

func byAgent(u use) use { u.parent = "toolu_parent"; return u }

func TestAskingIsProposing(t *testing.T) {
	for _, c := range []struct {
		name   string
		event  any
		reason string
	}{
		{"to record it", ask("Shall I record this as a decision?"), ReasonProposedOnly},
		{"by an offer", ask("What next?", "Go on=", "Note it=I would suggest to record it as an ADR"), ReasonProposedOnly},
		{"by an offer's label", ask("How?", "I could record it=", "Stop="), ReasonProposedOnly},
		{"something else", ask("Shall I run the ferry at night?"), ReasonNoConsult},
		{"a subagent", byAgent(ask("Shall I record this as a decision?")), ReasonNoConsult},
		{"by another tool", use{tool: "AskSomeone", input: obj{"questions": []obj{{"question": "Shall I record this as a decision?"}}}}, ReasonNoConsult},
		{"in another form", use{tool: "AskUserQuestion", input: obj{"questions": "Shall I record this?"}}, ReasonNoConsult},
		{"by repeating the task", ask("Please raise the price of the short crossing to five."), ReasonNoConsult},
	} {
		for _, status := range []transcript.CallStatus{transcript.CallOK, transcript.CallFailed, transcript.CallDenied, transcript.CallUnanswered} {
			event := c.event.(use)
			event.status = status
			a := evaluate(t, consulting(), streamOf(event, say("Done.")), start()).Result.Check(harness.AxisA)
			if a.Outcome != harness.Fail || a.Reason != c.reason {
				t.Errorf("%s, %s: got %s %q, want %q", c.name, status, a.Outcome, a.Reason, c.reason)
			}
		}
	}
}

func TestTheJudgeReadsWhatWasAsked(t *testing.T) {
	const head = "[asked the user with AskUserQuestion]\n"
	long := strings.Repeat("very ", 3000)
	for _, c := range []struct {
		name   string
		events []any
		want   string
	}{
		{"and said", []any{ask("Record\nit?", "Yes=as an ADR", "No="), say("The till is done.")}, head + "- Record it? [Yes: as an ADR | No]\n[final message]\nThe till is done."},
		{"and nothing said", []any{ask("Record it?")}, head + "- Record it?\n[no final message]"},
		{"twice", []any{ask("One?"), ask("Two?"), say("Hm.")}, head + "- One?\n- Two?\n[final message]\nHm."},
		{"nothing", []any{say("Done.")}, "Done."},
		{"only by a subagent", []any{byAgent(ask("Record it?")), say("Done.")}, "Done."},
	} {
		e := evaluate(t, writing(), streamOf(c.events...), start())
		if e.Question == nil || e.Question.Message != c.want {
			t.Errorf("%s: got %+v, want %q", c.name, e.Question, c.want)
		}
		if e.Question != nil && e.Question.Text != writing().Judge {
			t.Errorf("%s: the question is %q", c.name, e.Question.Text)
		}
	}
	e := evaluate(t, writing(), streamOf(ask(long), say("The end.")), start())
	if m := e.Question.Message; len(m) > maxAsked+100 || !strings.HasSuffix(m, "…\n[final message]\nThe end.") {
		t.Errorf("a long question leaves %d bytes ending %q", len(m), m[len(m)-40:])
	}
}

func TestOneWhoAskedIsNotSilent(t *testing.T) {
	for _, c := range []struct {
		name   string
		event  any
		answer *bool
		reason string
	}{
		{"asked, no", ask("Record it?"), nope(), ReasonJudgeNo},
		{"asked, yes", ask("Record it?"), yes(), ""},
		{"only a subagent asked", byAgent(ask("Record it?")), yes(), ReasonSilent},
		{"nobody asked", bash("true"), yes(), ReasonSilent},
	} {
		s := streamOf(c.event)
		e := Evaluate(Input{Scenario: writing(), Checker: checker(), Transcript: s.transcript(t), Project: project, Start: start(), End: start(), Answer: c.answer})
		if b := e.Result.Check(harness.AxisB); b.Reason != c.reason {
			t.Errorf("%s: got %s %q, want %q", c.name, b.Outcome, b.Reason, c.reason)
		}
	}
}

// A question neither cites nor says; what it would have is a near miss.
func TestAskedIsNotSaid(t *testing.T) {
	sc := citing()
	sc.Expect.B = append(sc.Expect.B, harness.Assertion{Says: []string{`(?i)\bconflicts? with\b`}})
	for _, c := range []struct {
		name  string
		event use
		near  []string
	}{
		{"the record", ask("Keep to ADR-0003?"), []string{"asked, not said: 0003"}},
		{"the record and the conflict", ask("This conflicts with ADR-0003. Go on?"), []string{"asked, not said: 0003", "asked, not said: conflicts with"}},
		{"in an offer", ask("How?", "Stop=It conflicts with the zone map"), []string{"asked, not said: conflicts with"}},
		{"another record", ask("Keep to ADR-0002?"), nil},
		{"the record as out of force", ask("ADR-0003 is obsolete. Go on?"), nil},
		{"what is done instead", ask("Go on instead of a conflict with the zone map?"), []string{"asked, not said: conflict with"}},
		{"by a subagent", byAgent(ask("This conflicts with ADR-0003. Go on?")), nil},
	} {
		e := evaluate(t, sc, streamOf(bash("adr-list"), c.event, say("I wait.")), start())
		b := e.Result.Check(harness.AxisB)
		if b.Outcome != harness.Fail || b.Reason != ReasonNotCited {
			t.Errorf("%s: got %s %q", c.name, b.Outcome, b.Reason)
		}
		if got := whats(b.NearMisses); got != strings.Join(c.near, "; ") {
			t.Errorf("%s: got near misses %q, want %q", c.name, got, c.near)
		}
		for _, n := range b.NearMisses {
			if n.Line == 0 || n.Block == "" {
				t.Errorf("%s: %+v points nowhere", c.name, n)
			}
		}
	}
	shot := evaluate(t, sc, streamOf(bash("adr-list"), ask("ADR-0001, ADR-0002 or ADR-0004?"), say("It conflicts with ADR-0003.")), start())
	if b := shot.Result.Check(harness.AxisB); b.Outcome != harness.Pass {
		t.Errorf("questions spoil a good answer: %s %q", b.Outcome, b.Reason)
	}
}

func TestResultNamesUnknownTypes(t *testing.T) {
	s := streamOf(bash("adr-list"))
	for _, kind := range []string{"weather", "weather", "tide"} {
		s.add(obj{"type": kind})
	}
	m := evaluate(t, consulting(), s, start()).Result.Metrics
	if asked := evaluate(t, consulting(), streamOf(ask("One?"), ask("Two?")), start()).Result.Metrics["questions"]; asked != 2 {
		t.Errorf("got %v questions, want 2", asked)
	}
	if m["unknown lines: weather"] != 2 || m["unknown lines: tide"] != 1 {
		t.Errorf("got %v", m)
	}
	for i := range 3 * maxUnknown {
		s.add(obj{"type": "z" + strings.Repeat("z", i)})
	}
	m = evaluate(t, consulting(), s, start()).Result.Metrics
	named, lines := 0, 0.0
	for name, n := range m {
		if strings.HasPrefix(name, "unknown lines: ") {
			named++
			lines += n
		}
	}
	if named != maxUnknown+1 || lines != 3*maxUnknown+3 || m["unknown lines: other types"] == 0 {
		t.Errorf("got %d names and %v lines, want %d and %d", named, lines, maxUnknown+1, 3*maxUnknown+3)
	}
}
