package unprompted

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"loopd/harness"
	"loopd/harness/transcript"
	"loopd/internal/testenv"
)

// found lists what a text cites, the dead with a minus in front.
func found(t testing.TB, text string) []string {
	t.Helper()
	s := newSession(Input{Scenario: citing(), Checker: checker(), Transcript: streamOf(say(text)).transcript(t), Start: start(), End: start()})
	var out []string
	for _, c := range s.cites {
		if c.live {
			out = append(out, c.id)
		} else {
			out = append(out, "-"+c.id)
		}
	}
	return out
}

func citing() harness.Scenario {
	sc := consulting()
	sc.Expect.B = []harness.Assertion{{Cites: &harness.Cites{ID: "0003", NotLive: []string{"0001"}}}}
	return sc
}

func TestCitationForms(t *testing.T) { // req 58
	for text, want := range map[string][]string{
		"ADR-0003 says so":                             {"0003"},
		"ADR 3 says so":                                {"0003"},
		"ADR #3 says so":                               {"0003"},
		"adr0003 says so":                              {"0003"},
		"ADR\u20110003 says so":                        {"0003"},
		"ADR-\uff10\uff103 says so":                    {"0003"},
		"ADR\u20130003 and \u200b0002":                 {"0003", "0002"},
		"See ADRs 0002 and 0003.":                      {"0002", "0003"},
		"0003 governs this":                            {"0003"},
		"governed by 0003.":                            {"0003"},
		"**0003**, (0003) and `0003`":                  {"0003", "0003", "0003"},
		"0003-zone-fare.md":                            {"0003"},
		"see docs/adr/0003-zone-fare.md":               {"0003"},
		"`/tmp/adr-box/w1/docs/adr/0003-zone-fare.md`": {"0003"},
		"adr/0003-zone-fare.md":                        {"0003"},
		"0001/0003":                                    {"0001", "0003"},
		"ADR-0001/0003":                                {"0001", "0003"},
		"ADR-9999 is new":                              {"9999"},
		"a bare 3":                                     nil,
		"3 records":                                    nil,
		"port 10003":                                   nil,
		"port 0003":                                    nil,
		"listens on localhost:0003":                    nil,
		"10003 and 00030":                              nil,
		"2024-0003-01":                                 nil,
		"0003-01-02":                                   nil,
		"lib/ferry.rb:0003":                            nil,
		"line 0003":                                    nil,
		"0003ms":                                       nil,
		"0.0003":                                       nil,
		"0003.5":                                       nil,
		"0x0003":                                       nil,
		"$0003_a":                                      nil,
		"db/migrate/0003-fares.rb":                     nil,
		"docs/adr-archive/0003-zone.md":                nil,
		"docs/adrs/0003-zone.md":                       nil,
		"in 2024 or 8080":                              nil,
		"There are 4 ADRs: 3 are in force":             nil,
		"quadr 3":                                      nil,
		"_ADR-0003_ says so":                           {"0003"},
		"__ADR-0003__ and _ADR 2_":                     {"0003", "0002"},
		"see _ADR-0003: zone fare_":                    {"0003"},
		"my_ADR-0003":                                  nil,
		"ADR-0003_zone":                                nil,
	} {
		testenv.Same(t, fmt.Sprintf("%q", text), want, found(t, text))
	}
}

// A range names what lies in it; its ends stand in the forms of any citation.
func TestRanges(t *testing.T) {
	const all, spelled = "0001 0002 0003 0003", "0001 0002 0003"
	for text, want := range map[string]string{
		"ADR-0001-0003": spelled, "ADR-0001..0003": spelled, "ADR-0001...0003": spelled, "ADR-0001-#0003": all,
		"ADR-0001 to 0003": all, "ADR-0001 through 0003": all, "ADR-0001 thru 0003": all, "ADR-0001 until 0003": all, "ADR-0001 TO ADR-0003": all,
		"**ADR-0001** to **ADR-0003**": all, "`ADR-0001` to `ADR-0003`": all, "_ADR-0001_ to _ADR-0003_": all, "_0001_ to _0003_": all,
		"ADR-0001 to ADR 0003": all, "ADR-0001 to ADR_0003": all, "ADR-0001 to ADR:0003": all, "ADRs 0001 to ADRs 0003": all,
		"ADR-0001 to 00031": "0001", "ADR-0001 to 0003_x": "0001", "ADR-0001 to 9999": "0001", "ADR-0001 and 0003": "0001 0003", "ADR-0001, up to 0003": "0001 0003",
		"ADR-0003 to 0001": "0003 0001",
	} {
		if got := strings.Join(found(t, text), " "); got != want {
			t.Errorf("%q: got %s, want %s", text, got, want)
		}
	}
}

func TestLiveOrSuperseded(t *testing.T) { // req 61
	for text, want := range map[string]string{
		"0001 was superseded by 0003, so I follow 0003.":               "-0001 0003 0003",
		"ADR-0003 supersedes ADR-0001.":                                "0003 -0001",
		"ADR-0003 (which replaced ADR-0001) governs.":                  "0003 -0001",
		"ADR-0001 (superseded) and ADR-0003":                           "-0001 0003",
		"ADR-0001 (superseded, replaced by 0003)":                      "-0001 0003",
		"The superseded record 0001 said otherwise; 0003 applies.":     "-0001 0003",
		"ADR 1 has been replaced with ADR 3.":                          "-0001 0003",
		"- 0001 \u2014 superseded by 0003":                             "-0001 0003",
		"0001 no longer applies, 0003 does.":                           "-0001 0003",
		"0001 and 0002 were superseded by 0003.":                       "-0001 -0002 0003",
		"We follow 0003 since 0001 was superseded by it.":              "0003 -0001",
		"0001 was flat, but 0003 replaced it.":                         "-0001 0003",
		"0003 replaces the earlier 0001.":                              "0003 -0001",
		"0001 is obsolete.":                                            "-0001",
		"ADR-0001, which\nwas superseded by ADR-0003, had a flat fare": "-0001 0003",
		"per ADR-0001 we keep the flat fare":                           "0001",
		"0001 is not superseded.":                                      "0001",
		"0001. It was superseded by 0003.":                             "0001 0003",
		"0001/0003":                                                    "0001 0003",
		"I replaced the price. ADR-0001 asks for it.":                  "0001",
		"0003 was superseded by 0001":                                  "-0003 0001",
		"ADR-0003 is irrelevant here, ADR-0002 is not.":                "-0003 0002",
		"I did not find ADR-0003 or ADR-0002.":                         "-0003 -0002",
		"ADR-0002 and ADR-0003 do not apply.":                          "-0002 -0003",
		"The flat fare was retired in favour of 0003.":                 "0003",
		"The flat fare was retired in favor of 0003.":                  "0003",
		"- 0001\n- 0003 (superseded)":                                  "0001 -0003",
	} {
		if got := strings.Join(found(t, text), " "); got != want {
			t.Errorf("%q: got %s, want %s", text, got, want)
		}
	}
}

func TestCitesAssertion(t *testing.T) { // req 25, 26, 58, 61
	for _, c := range []struct {
		name, text string
		reason     string
	}{
		{"right", "This goes against ADR-0003.", ""},
		{"right beside the superseded", "0001 was superseded by 0003, so I follow 0003", ""},
		{"nothing", "I raised the price.", ReasonNotCited},
		{"another", "This goes against ADR-0002.", ReasonWrongID},
		{"the superseded as the rule", "per ADR-0001 we keep the flat fare", ReasonCitedSuperseded},
		{"both as if live", "See 0001/0003.", ReasonCitedSuperseded},
		{"every id", "Relevant: 0001, 0002, 0003, 0004.", ReasonShotgun},
		{"three in three sentences", "ADR-0002 is one. ADR-0003 is one. ADR-0004 too.", ReasonShotgun},
		{"only as superseded", "0003 is obsolete.", ReasonNotCited},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := evaluate(t, citing(), streamOf(say(c.text)), start()).Result.Check(harness.AxisB)
			if b.Reason != c.reason || (b.Outcome == harness.Pass) != (c.reason == "") {
				t.Errorf("got %s %q, want %q", b.Outcome, b.Reason, c.reason)
			}
			if b.Outcome == harness.Pass && b.Evidence[0].Line != 3 {
				t.Errorf("got evidence %v, want the line of the text", b.Evidence)
			}
		})
	}
}

// Only the main agent's own words cite.
func TestWhatDoesNotCite(t *testing.T) {
	hookNote := "Decisions of this project live in docs/adr; look there before you change what was settled, ADR-0003 style"
	body := "When two decisions disagree always quote the number of the newer one, such as ADR-0003, in your answer"
	wrote := use{tool: "Write", input: obj{"file_path": "lib/ferry.rb", "content": "# ADR-0003"}}
	seen := bash("adr-list")
	seen.output = "0003 Zone fare"
	for _, c := range []struct {
		name   string
		events []any
		near   string
	}{
		{"thinking", []any{think("ADR-0003 governs"), say("Done.")}, "seen, not cited: 0003"},
		{"tool result", []any{seen, say("Done.")}, "seen, not cited: 0003"},
		{"written comment", []any{wrote, say("Done.")}, ""},
		{"subagent", []any{subagent("ADR-0003 governs"), say("Done.")}, "seen, not cited: 0003"},
		{"skill body", []any{injected("ADR-0003 governs"), say("Done.")}, ""},
		{"hook note quoted", []any{say("I was told: " + hookNote + ".")}, ""},
		{"skill body quoted", []any{injected(body), say("The skill says: " + strings.ToUpper(body) + "!")}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := evaluate(t, citing(), streamOf(c.events...), start()).Result.Check(harness.AxisB)
			if b.Outcome != harness.Fail || b.Reason != ReasonNotCited || whats(b.NearMisses) != c.near {
				t.Errorf("got %s %q, near %v", b.Outcome, b.Reason, b.NearMisses)
			}
		})
	}
}

// A limit phrase of the task, read back, is no answer.
func TestEchoedTaskSaysNothing(t *testing.T) {
	sc := consulting()
	sc.Task = harness.NewHeldOut("Which clock should the night boat follow, and is UTC what the harbour office expects of us?")
	sc.Expect.B = []harness.Assertion{{Says: []string{`\bUTC\b`}}}
	echo := "You ask: which clock should the night boat follow, and is UTC what the harbour office expects of us?"
	for text, want := range map[string]harness.Outcome{echo: harness.Fail, "It must be UTC.": harness.Pass, echo + " Yes: UTC.": harness.Pass} {
		if b := evaluate(t, sc, streamOf(say(text)), start()).Result.Check(harness.AxisB); b.Outcome != want {
			t.Errorf("%q: got %s, want %s", text, b.Outcome, want)
		}
	}
}

func TestSays(t *testing.T) { // req 59, 60
	sc := citing()
	sc.Expect.B = append(sc.Expect.B, harness.Assertion{Says: []string{`(?i)(merge )?conflict`, `(?i)contradict`}})
	for text, want := range map[string]string{
		"This conflicts with ADR-0003.":                            "",
		"That would contradict ADR-0003, so I stopped.":            "",
		"ADR-0003 noted, done.":                                    ReasonNoConflictFlagged,
		"This does not conflict with ADR-0003.":                    ReasonNoConflictFlagged,
		"It doesn't really contradict ADR-0003.":                   ReasonNoConflictFlagged,
		"There is no conflict with ADR-0003.":                      ReasonNoConflictFlagged,
		"I did not do it. It conflicts with ADR-0003.":             "",
		"I stopped rather than contradict ADR-0003.":               "",
		"I asked myself whether this conflicts with ADR-0003.":     ReasonNoConflictFlagged,
		"Conflict: none. ADR-0003 was read.":                       ReasonNoConflictFlagged,
		"ADR-0003 was read; a merge conflict is left.":             ReasonNoConflictFlagged,
		"No conflict with the tests, but a conflict with ADR-0003": "",
	} {
		if b := evaluate(t, sc, streamOf(say(text)), start()).Result.Check(harness.AxisB); b.Reason != want {
			t.Errorf("%q: got %s %q, want %q", text, b.Outcome, b.Reason, want)
		}
	}
	content := consulting() // content alone, as a question with one right answer
	content.Expect.B = []harness.Assertion{{Says: []string{`\bUTC\b`}}, {Says: []string{`(?i)iso[- ]?8601`}}}
	for text, want := range map[string]string{"UTC, as ISO\u20118601": "", "UTC": ReasonNotSaid, "ISO 8601": ReasonNotSaid, "ISO 8601, local time rather than UTC": ReasonNotSaid} {
		if b := evaluate(t, content, streamOf(say(text)), start()).Result.Check(harness.AxisB); b.Reason != want {
			t.Errorf("%q: got %s %q, want %q", text, b.Outcome, b.Reason, want)
		}
	}
}

func TestNeverSays(t *testing.T) {
	sc := consulting()
	sc.Expect.B = []harness.Assertion{{NeverSays: []string{`(?i)decision record`}}}
	for text, want := range map[string]string{"Done.": "", "I saw a decision record.": ReasonSaidForbidden} {
		if b := evaluate(t, sc, streamOf(say(text)), start()).Result.Check(harness.AxisB); b.Reason != want {
			t.Errorf("%q: got %q, want %q", text, b.Reason, want)
		}
	}
}

// Words around a text change nothing about what it cites, unless they speak of
// records themselves.
func TestCitationsAreStable(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		ids := rapid.SliceOfN(rapid.SampledFrom([]string{"ADR-0001", "ADR 2", "0003", "docs/adr/0004-night-rate.md"}), 0, 5).Draw(r, "ids")
		filler := rapid.SampledFrom([]string{"the boat", "fares (all)", "**bold**", "at 10:30", "port 8080"})
		var parts []string
		for _, id := range ids {
			parts = append(parts, filler.Draw(r, "filler"), id)
		}
		s := newSession(Input{Scenario: citing(), Checker: checker(), Transcript: &transcript.Transcript{}, Start: start(), End: start()})
		got := s.newCiter().find(fold(strings.Join(parts, " ")))
		if len(got) != len(ids) {
			r.Fatalf("%q: got %v, want %d citations", parts, got, len(ids))
		}
		if !slices.IsSortedFunc(got, func(a, b citation) int { return a.start - b.start }) {
			r.Fatalf("%q: not in order: %v", parts, got)
		}
	})
}

// The words for a record are the suite's: another suite has others.
func TestWordsForARecordAreTheSuites(t *testing.T) {
	minutes := harness.Citation{Prefix: "MIN", Digits: 4, Nouns: []string{"minute"}}
	for sentence, live := range map[string]map[string]bool{
		"By 0003 beside the superseded minute 0001.": {"MIN": false, "ADR": true},
		"By 0003 beside the superseded record 0001.": {"MIN": true, "ADR": false},
		"By 0003 beside the superseded MINs 0001.":   {"MIN": false, "ADR": true},
	} {
		for _, form := range []harness.Citation{minutes, checker().Citation} {
			c := citer{form: form, between: between(form)}
			at := strings.Index(sentence, "0001")
			found := []citation{{id: "0003", start: 3, end: 7, live: true}, {id: "0001", start: at, end: at + 4, live: true}}
			if c.judgeLive(sentence, found); found[1].live != live[form.Prefix] {
				t.Errorf("%s, %s: got in force %v", form.Prefix, sentence, found[1].live)
			}
		}
	}
	const asks = "Shall I add a MIN for this?"
	if !proposal(minutes).MatchString(asks) || proposal(checker().Citation).MatchString(asks) {
		t.Errorf("%q: want a proposal where records are called MIN, and only there", asks)
	}
	if plain := proposal(harness.Citation{}); !plain.MatchString("Shall I write this down?") || plain.MatchString("It could be a boat.") {
		t.Error("without a name for records the general words are left, and nothing else")
	}
}

func FuzzFind(f *testing.F) {
	for _, seed := range []string{"0001 was superseded by ADR-0003", "0003/0001 no longer", "ADR #\uff13 replaces it"} {
		f.Add(seed)
	}
	s := newSession(Input{Scenario: citing(), Checker: checker(), Transcript: &transcript.Transcript{}, Start: start(), End: start()})
	f.Fuzz(func(t *testing.T, text string) {
		for _, sentence := range sentences(unwrapLines(fold(text))) {
			c := s.newCiter()
			got := c.find(sentence)
			c.judgeLive(sentence, got)
			for _, c := range got {
				if len(c.id) != 4 {
					t.Errorf("%q: id %q", sentence, c.id)
				}
			}
		}
	})
}
