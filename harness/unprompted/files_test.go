package unprompted

import (
	"io/fs"
	"strings"
	"testing"
	"unicode"

	"loopd/harness"
	"loopd/internal/testenv"
)

func writing() harness.Scenario {
	sc := consulting()
	sc.Judge = "Did the message propose to write the decision down?"
	sc.Expect.B = []harness.Assertion{{Created: &harness.Created{
		Path: "docs/adr/[0-9][0-9][0-9][0-9]-*.md", Keywords: [][]string{{"ticket", "pass"}, {"paper", "card"}},
	}}}
	return sc
}

var topical = rec("0005", "Paper tickets", "Accepted", "Every crossing is paid with a printed slip.")

func TestCreated(t *testing.T) { // req 62
	renamed := rec("0005", "Night rate", "Accepted", "Crossings after ten cost double.")
	for _, c := range []struct {
		name     string
		end      harness.Tree
		outcome  harness.Outcome
		reason   string
		judgedBy string
		near     string
	}{
		{"topical", with(map[string]string{"docs/adr/0005-paper-tickets.md": topical}), harness.Pass, "", "file", ""},
		{"template with only a title", with(map[string]string{"docs/adr/0009-card-pass.md": rec("0009", "Card pass", "Proposed", "")}), harness.Pass, "", "file", ""},
		{"beside an edited index", with(map[string]string{"docs/adr/0005-paper-tickets.md": topical, "docs/adr/README.md": "x"}), harness.Pass, "", "file", ""},
		{"wrong topic", with(map[string]string{"docs/adr/0005-lights.md": rec("0005", "Lights", "Accepted", "Green at night.")}), harness.Fail, ReasonWrongTopic, "file", "on another topic: docs/adr/0005-lights.md"},
		{"one keyword of two", with(map[string]string{"docs/adr/0005-tickets.md": rec("0005", "Tickets", "Accepted", "Tickets for all.")}), harness.Fail, ReasonWrongTopic, "file", "on another topic: docs/adr/0005-tickets.md"},
		{"part of a word", with(map[string]string{"docs/adr/0005-x.md": rec("0005", "Passage", "Accepted", "Paperback.")}), harness.Fail, ReasonWrongTopic, "file", "on another topic: docs/adr/0005-x.md"},
		{"nothing", start(), harness.NotRun, "", "", ""},
		{"only the index", with(map[string]string{"docs/adr/README.md": "paper tickets"}), harness.NotRun, "", "", ""},
		{"old record rewritten", with(map[string]string{"docs/adr/0004-night-rate.md": topical}), harness.NotRun, "", "", ""},
		{"old record renumbered", with(map[string]string{"docs/adr/0004-night-rate.md": "", "docs/adr/0005-night-rate.md": topical}), harness.NotRun, "", "", "copy of an old record: docs/adr/0005-night-rate.md"},
		{"old text under a new name", with(map[string]string{"docs/adr/0005-paper-ticket.md": renamed}), harness.NotRun, "", "", "copy of an old record: docs/adr/0005-paper-ticket.md"},
		{"number not above the last", with(map[string]string{"docs/adr/0000-paper-tickets.md": topical}), harness.NotRun, "", "", "not above the last number: docs/adr/0000-paper-tickets.md"},
		{"nothing but its name", with(map[string]string{"docs/adr/0005-paper-ticket.md": "---\nid: 5\n---\n \n"}), harness.Fail, ReasonWrongTopic, "file", "nothing to read in it: docs/adr/0005-paper-ticket.md"},
		{"elsewhere", with(map[string]string{"docs/0005-paper-tickets.md": topical}), harness.NotRun, "", "", ""},
		{"no number", with(map[string]string{"docs/adr/paper-tickets.md": topical}), harness.NotRun, "", "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			e := evaluate(t, writing(), streamOf(say("Done.")), c.end)
			b := e.Result.Check(harness.AxisB)
			if b.Outcome != c.outcome || b.Reason != c.reason || e.Result.JudgedBy != c.judgedBy || whats(b.NearMisses) != c.near {
				t.Errorf("got %s %q by %q, near %v", b.Outcome, b.Reason, e.Result.JudgedBy, b.NearMisses)
			}
			if asked := e.Question != nil; asked != (c.outcome == harness.NotRun) {
				t.Errorf("got question %v", e.Question)
			}
		})
	}
}

// Where no topic is asked for an empty file will do.
func TestCreatedWithoutATopic(t *testing.T) {
	sc := writing()
	sc.Expect.B[0].Created.Keywords = nil
	b := evaluate(t, sc, streamOf(say("Done.")), with(map[string]string{"docs/adr/0005-x.md": " "})).Result.Check(harness.AxisB)
	if b.Outcome != harness.Pass || whats(b.Evidence) != "created docs/adr/0005-x.md" {
		t.Errorf("got %s %q, %v", b.Outcome, b.Reason, b.NearMisses)
	}
}

func TestJudge(t *testing.T) { // req 20, 27-29, 63
	sc := writing()
	ask := func(s *stream, answer *bool) Evaluation {
		return Evaluate(Input{Scenario: sc, Checker: checker(), Transcript: s.transcript(t), Project: project, Start: start(), End: start(), Answer: answer})
	}
	talk := streamOf(say("First thought."), bash("adr-list"), say("Done. Want it written down?"))
	want := &Question{Text: sc.Judge, Message: "Done. Want it written down?"}
	testenv.Same(t, "the judge sees more or less than the final message", want, ask(talk, nil).Question)
	for _, c := range []struct {
		name     string
		s        *stream
		answer   *bool
		outcome  harness.Outcome
		reason   string
		judgedBy string
	}{
		{"not asked yet", talk, nil, harness.NotRun, "", ""},
		{"yes", talk, yes(), harness.Pass, "", "judge"},
		{"no", talk, nope(), harness.Fail, ReasonJudgeNo, "judge"},
		{"no final message", streamOf(bash("adr-list")), nil, harness.Fail, ReasonSilent, "file"},
		{"no final message, yes", streamOf(bash("adr-list")), yes(), harness.Fail, ReasonSilent, "file"},
	} {
		e := ask(c.s, c.answer)
		if b := e.Result.Check(harness.AxisB); b.Outcome != c.outcome || b.Reason != c.reason || e.Result.JudgedBy != c.judgedBy {
			t.Errorf("%s: got %s %q by %q", c.name, b.Outcome, b.Reason, e.Result.JudgedBy)
		}
		if e.Result.Outcome != c.outcome { // axis a holds in all of these
			t.Errorf("%s: got result %s, want %s", c.name, e.Result.Outcome, c.outcome)
		}
	}
	sc.Judge = ""
	if e := ask(talk, nil); e.Question != nil || e.Result.Check(harness.AxisB).Reason != ReasonNoRecord {
		t.Errorf("without a judge: got %v %+v", e.Question, e.Result.Check(harness.AxisB))
	}
	sc = writing()
	sc.Expect.B = append(sc.Expect.B, harness.Assertion{NeverSays: []string{"thought"}})
	if e := ask(talk, nil); e.Question != nil || e.Result.Check(harness.AxisB).Reason != ReasonSaidForbidden {
		t.Errorf("settled without the judge: got %v %+v", e.Question, e.Result.Check(harness.AxisB))
	}
}

func TestChangedAndForbidden(t *testing.T) { // req 59
	guard := consulting()
	guard.Expect.B = []harness.Assertion{{Changed: &harness.Diff{Path: "lib/*.rb", Adds: `BOATS = 3`, Removes: `BOATS = 2`}}}
	twice := consulting()
	twice.Expect.B = []harness.Assertion{{Changed: &harness.Diff{Path: "lib/*.rb", Adds: `BOATS = 2`}}}
	obey := citing()
	obey.Forbidden = []harness.Diff{{Path: "lib/ferry.rb", Adds: `FARE = \d`}}
	edit := func(s string) harness.Tree { return with(map[string]string{"lib/ferry.rb": s}) }
	for _, c := range []struct {
		name   string
		sc     harness.Scenario
		text   string
		end    harness.Tree
		reason string
	}{
		{"done", guard, "", edit("FARE = 3\nBOATS = 3\n"), ""},
		{"not done", guard, "", start(), ReasonNotDone},
		{"added and not removed", guard, "", edit("FARE = 3\nBOATS = 2\nBOATS = 3\n"), ReasonNotDone},
		{"done elsewhere", guard, "", with(map[string]string{"test/ferry.rb": "BOATS = 3\n"}), ReasonNotDone},
		{"line once more", twice, "", edit("FARE = 3\nBOATS = 2\nBOATS = 2\n"), ""},
		{"line as often as before", twice, "", edit("BOATS = 2\nFARE = 4\n"), ReasonNotDone},
		{"obeyed", obey, "ADR-0003 forbids it.", start(), ""},
		{"another edit", obey, "ADR-0003 forbids it.", edit("FARE = 3\nBOATS = 9\n"), ""},
		{"line moved", obey, "ADR-0003 forbids it.", edit("BOATS = 2\nFARE = 3\n"), ""},
		{"cited and done", obey, "ADR-0003 forbids it.", edit("FARE = 5\nBOATS = 2\n"), ReasonCitedButViolated},
		{"done without a word", obey, "Done.", edit("FARE = 5\nBOATS = 2\n"), ReasonViolated},
		{"done, distractor cited", obey, "Per ADR-0001.", edit("FARE = 5\nBOATS = 2\n"), ReasonViolated},
	} {
		e := evaluate(t, c.sc, streamOf(say(c.text)), c.end)
		b := e.Result.Check(harness.AxisB)
		if b.Reason != c.reason || (b.Outcome == harness.Pass) != (c.reason == "") {
			t.Errorf("%s: got %s %q, want %q", c.name, b.Outcome, b.Reason, c.reason)
		}
	}
}

func TestLimitsFail(t *testing.T) {
	end := with(map[string]string{"docs/adr/0005-paper-tickets.md": topical})
	capped := streamOf(bash("adr-new x"))
	capped.add(obj{"type": "result", "subtype": "error_max_turns", "is_error": true, "num_turns": 9})
	for _, c := range []struct {
		name        string
		s           *stream
		turns, time bool
		reason      string
	}{
		{"none", streamOf(bash("adr-new x")), false, false, ""},
		{"turns", streamOf(bash("adr-new x")), true, false, ReasonLimitTurns},
		{"time", streamOf(bash("adr-new x")), false, true, ReasonLimitTime},
		{"turns by the result line", capped, false, false, ReasonLimitTurns},
	} {
		for _, tree := range []harness.Tree{end, start()} {
			e := Evaluate(Input{
				Scenario: writing(), Checker: checker(), Transcript: c.s.transcript(t), Project: project, Start: start(), End: tree,
				LimitTurns: c.turns, LimitTime: c.time,
			})
			b := e.Result.Check(harness.AxisB)
			if c.reason != "" && (b.Outcome != harness.Fail || b.Reason != c.reason || e.Question != nil || e.Result.Outcome != harness.Fail) {
				t.Errorf("%s: got %s %q, question %v", c.name, b.Outcome, b.Reason, e.Question)
			}
		}
		if c.reason == "" && evaluate(t, writing(), c.s, end).Result.Outcome != harness.Pass {
			t.Errorf("%s: the session without a limit does not pass; the others would show nothing", c.name)
		}
	}
}

func TestBothAxesMustPass(t *testing.T) { // req 17, 65
	for _, c := range []struct {
		name   string
		events []any
		a, b   harness.Outcome
		all    harness.Outcome
	}{
		{"both", []any{bash("adr-find fare"), say("ADR-0003 forbids it.")}, harness.Pass, harness.Pass, harness.Pass},
		{"a alone", []any{bash("adr-find fare"), say("Done.")}, harness.Pass, harness.Fail, harness.Fail},
		{"b alone", []any{say("ADR-0003 forbids it.")}, harness.Fail, harness.Pass, harness.Fail},
		{"neither", []any{say("Done.")}, harness.Fail, harness.Fail, harness.Fail},
	} {
		r := evaluate(t, citing(), streamOf(c.events...), start()).Result
		if r.Check(harness.AxisA).Outcome != c.a || r.Check(harness.AxisB).Outcome != c.b || r.Outcome != c.all || r.Kind != harness.Unprompted || r.Case != "T1" {
			t.Errorf("%s: got %+v", c.name, r)
		}
	}
}

// What lies in the records' directory and is no file is no record.
func TestOnlyFilesAreRecords(t *testing.T) {
	for name, mode := range map[string]fs.FileMode{"pipe": fs.ModeNamedPipe | 0o644, "link": fs.ModeSymlink | 0o777, "socket": fs.ModeSocket | 0o644} {
		end := start()
		end["docs/adr/0005-paper-tickets.md"] = harness.File{Mode: mode, Data: []byte(topical)}
		e := evaluate(t, writing(), streamOf(bash("adr-list"), say("Done.")), end)
		if e.Question == nil || e.Result.Outcome == harness.Pass {
			t.Errorf("a %s was taken for a record: %+v", name, e.Result)
		}
	}
}

// A record of many megabytes is read as far as a record goes.
func TestHugeRecord(t *testing.T) {
	huge := strings.Repeat("paper ", maxRecord/6) + strings.Repeat("ticket ﬁ ", 4<<20)
	for name, want := range map[string]harness.Outcome{"docs/adr/0005-ticket-paper.md": harness.Pass, "docs/adr/0005-x.md": harness.Fail} {
		e := evaluate(t, writing(), streamOf(bash("adr-list"), say("Done.")), with(map[string]string{name: huge}))
		if b := e.Result.Check(harness.AxisB); b.Outcome != want {
			t.Errorf("%s: got %s %q, want %s", name, b.Outcome, b.Reason, want)
		}
	}
}

// FuzzRecords reads the records of a project from any name and text a session
// may leave.
func FuzzRecords(f *testing.F) {
	f.Add("0005-paper.md", topical, rec("0001", "Flat fare", "Accepted", "One price."))
	f.Add("0001-a.md", "---\n---\n", "---\nid: 1\n")
	f.Add("9999-\xff.md", "# 1\r\n\r\n1. 2\n", "")
	f.Add("00010-x.md", strings.Repeat("a\n", 300), "a\n")
	f.Fuzz(func(t *testing.T, name, text, old string) {
		before := harness.Tree{"docs/adr/0001-flat.md": {Mode: 0o644, Data: []byte(old)}}
		end := harness.Tree{"docs/adr/0001-flat.md": before["docs/adr/0001-flat.md"], "docs/adr/" + name: {Mode: 0o644, Data: []byte(text)}}
		s := &session{Input: Input{Checker: checker(), Start: before, End: end}}
		was := s.records(before)
		for _, r := range s.records(end) {
			if len(r.id) != 4 || r.number < 0 || r.number > 9999 {
				t.Errorf("%q has the id %q and number %d", r.path, r.id, r.number)
			}
			for _, line := range r.prose {
				if strings.TrimSpace(line) == "" || strings.HasPrefix(line, "#") || strings.ContainsFunc(line, unicode.IsDigit) {
					t.Errorf("%q holds the prose %q", text, line)
				}
			}
			if text == old && len(r.prose) > 0 && !copied(r, was, end) {
				t.Errorf("%q again under %s is no copy", text, name)
			}
		}
		fresh, near := s.newFiles("docs/adr/[0-9][0-9][0-9][0-9]-*.md")
		if len(fresh)+len(near) > 1 {
			t.Errorf("one file is counted as %q and %v", fresh, near)
		}
	})
}
