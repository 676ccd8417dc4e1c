package unprompted

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"loopd/harness"
	"loopd/harness/transcript"
)

// The patterns by which English is read, each against what it must take and
// what it must leave.
func TestPatterns(t *testing.T) {
	for _, c := range []struct {
		name     string
		re       *regexp.Regexp
		yes, not []string
	}{
		{"dead word", deadWord, []string{
			"supersede", "supersedes", "superseded", "superseding", "replace", "replaces", "replaced", "replacing", "overrides", "overridden",
			"overriding", "overrules", "overruled", "overruling", "obsolete", "obsoletes", "obsoleted", "outdated", "deprecated", "retired",
			"withdrawn", "revoked", "historical", "no longer", "Deprecated",
		}, []string{"ahistorical", "deprecatedly", "in force"}},
		{"passive", passive, []string{" by x", " with x", " in favour of", " in favor of", " since x", ", by x", " BY x"},
			[]string{" bygone", " x by", "    , by x"}},
		{"pronoun", pronoun, []string{
			" it", " that", " this", " them", " the old", " the older one", " the earlier", " the former", " the previous", " the old, so", " IT",
		}, []string{" items", "x it", " the new"}},
		{"negated", negated, []string{"is not ", "was never ", "isn't ", "not yet ", "NOT "}, []string{"knot ", "whatnever ", "not a bit ", "not so x"}},
		{"joined", joined, []string{
			" ", " and ", " or ", " und ", " through ", " to ", " AND ", ",and,", "/and/", "&and&", "*and*", "_and_", "`and`", ", ", "** **",
		}, []string{" but ", "x and ", " and x"}},
		{"active", active, []string{
			"supersede", "supersedes", "superseded", "superseding", "replace", "replaces", "replaced", "replacing", "overrides", "overriding",
			"overrules", "overruled", "overruling", "obsoletes", "Replaces",
		}, []string{"retired", "unreplaces", "obsoletesx", "overridden"}},
		{"between", between(harness.Citation{Prefix: "ADR", Nouns: []string{"decision", "record"}}), []string{
			" ", " the ", " our ", " a ", " an ", " old ", " older ", " earlier ", " former ", " previous ", " original ", " decision ", " record ",
			" adr ", " adrs ", " both ", " The ", " (", " [", ` "`, " '", " `", " *", " the old decision record ",
		}, []string{", the ", "x the ", " the new ", "the ", " the x"}},
		{"number word", numberWord, []string{
			"port ", "ports ", "line ", "lines ", "issue ", "pr ", "pull request ", "year ", "pid ", "status ", "code ", "error ", "Port ",
			"port:", "port #", "port=", "port", "port: ",
		}, []string{"report ", "port of ", "adr "}},
		{"record and slash", recordSlash, []string{"0001/", "ADR-0001/", "adr_1/", "adr#1/", "ADR0001/"}, []string{"x/0001/", "0001/x/", "adr/"}},
		{"closing", closing, []string{
			"", " ", ",", ";", "!", "?", ")", "]", "}", `"`, "'", "`", "*", ">", "|", "/", ".", ". ", ".x", ":", ": x", "-", "-x", "_", "_ ", "__a",
		}, []string{".5", ":30", "-01", "_a", "a", "1", "x,"}},
		{"negator", negator, []string{
			"no ", "not ", "never ", "without ", "nor ", "neither ", "hardly ", "cannot ", "NOT ", "isn't ", "not a b ", "not it's ", "not half-way ",
		}, []string{"piano ", "not a b c ", "not x"}},
		{"negator of more than a word", negator, []string{"nothing ", "none ", "unlikely ", "free of ", "it can't "}, []string{"freedom of "}},
		{"supposed", supposed, []string{
			"whether ", "whether a b c ", "whether it's ", "whether half-way ", "if ", "IF ", "if it ", "if this ", "if that ", "if they ", "if anything ",
			"if something ", "if there ", "if the ", "if a ", "if an ", "if any ", "if some ", "if is ", "if are ", "if was ", "if were ", "if do ", "if does ",
			"if did ", "if would ", "if should ", "if could ", "if might ", "if change ", "if request ", "if your ", "if my ", "if it is the ",
		}, []string{"serif ", "if boats ", "whether a b c d ", "if it x"}},
		{"taken back", takenBack, []string{
			"-free", "s: none", "**: none", "__: none", ": none", "= none", " - none", ": nothing", ": n/a", ": 0", ": *none", ": _none", ": NONE", "*_: none",
			" with nothing", " with none", " is not needed", " are not needed", " was not needed", " were not needed", " isn't needed",
			" is not required", " is not necessary", " is not applicable", " is not relevant", " is not wanted", " is not used",
			" does not apply", " do not apply", " doesn't apply", " does not exist", " does not arise", " does not matter",
		}, []string{"-freedom", " x: none", " x-free", ": nonesuch", ": 01", " with nothings", " is not neededx", " does not applying", " is needed"}},
		{"declined", declined, []string{
			"instead of ", "rather than ", "RATHER than ", "instead of a b ", "rather than it's ", "rather than half-way ",
		}, []string{"xinstead of ", "instead of a b c ", "instead of x"}},
		{"other conflict", otherConflict, []string{
			"merge conflict", "git conflict", "rebase conflict", "version conflict", "dependency conflict", "naming conflict", "scheduling conflict",
			"merge-conflict", "merge_conflict", "Merge conflicts",
		}, []string{"submerge conflict", "price conflict", "merge of a conflict"}},
		{"set aside", setAside, []string{
			" is irrelevant", " are irrelevant", " was irrelevant", " were irrelevant", " seems irrelevant", " seem irrelevant", " is unrelated",
			" is inapplicable", " is missing", ") is missing", "] is missing", `" is missing`, "' is missing", "* is missing", "_ is missing",
			"` is missing", ", is missing", "**, is missing", " IS missing",
			" is not relevant", " are not relevant", " was not relevant", " were not relevant", " isn't relevant", " is not related",
			" is not applicable", " is not found", " is not there", " is not about this", " do not apply", " does not apply", " did not apply",
			" doesn't apply", " does not exist", " does not matter", " does not really apply", " does not actually apply", " does not seem to apply",
			" does not appear to apply",
		}, []string{"x is missing", " is missingx", " is relevant", " is not aboard", " does apply"}},
		{"not there", notThere, []string{
			"no ", "NO ", "without any ", "no relevant ", "no applicable ", "no matching ", "no related ", "no such ", "not find ", "never find ",
			"didn't find ", "cannot find ", "unable to find ", "not see ", "not locate ", "not find any ", "not find an ", "not find a ", "not find the ",
			"not find relevant ", "not find applicable ", "not find matching ", "not find related ", "not find such ", "not find a relevant ",
			"no (", `no "`, "no '", "no *", "no _", "no `",
		}, []string{"piano ", "no x", "knot find ", "whatnever find ", "xcannot find ", "stunable to find ", "not found "}},
		{"comment", comment, []string{"<!-- a -->", "<!-- a", "<!---->", "<!-- a\nb"}, []string{"<! a -->", "a -->"}},
	} {
		for _, s := range c.yes {
			if !c.re.MatchString(s) {
				t.Errorf("%s: %q is not taken", c.name, s)
			}
		}
		for _, s := range c.not {
			if c.re.MatchString(s) {
				t.Errorf("%s: %q is taken", c.name, s)
			}
		}
	}
}

func TestPathBeforeANumber(t *testing.T) {
	for text, want := range map[string]string{
		"see docs/adr/": "docs/adr/", `"docs/`: "docs/", "'docs/": "docs/", "`docs/": "docs/", "(docs/": "docs/", "[docs/": "docs/", "<docs/": "docs/",
		"|docs/": "docs/", ",docs/": "docs/", ";docs/": "docs/", "*docs/": "docs/", "docs/a": "", " /": "",
	} {
		if got := pathBefore.FindString(text); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}

// What may stand right before the four digits of a record.
func TestWhatOpensANumber(t *testing.T) {
	for _, c := range " \t([{\"'`*_#<>|,;~&+" {
		if got := found(t, "see x"+string(c)+"0003 there"); len(got) != 1 {
			t.Errorf("after %q: got %v, want 0003", c, got)
		}
	}
	for _, c := range "x1.:-=$@%\\" {
		if got := found(t, "see x"+string(c)+"0003 there"); len(got) != 0 {
			t.Errorf("after %q: got %v, want nothing", c, got)
		}
	}
	for text, want := range map[string]string{
		"ADRs 9999": "9999", "ADR_9999": "9999", "ADR--9999": "9999", "ADR  9999": "9999",
		"/0003-x": "0003", "ADR_0003": "0003", "ADR:0003": "0003", "ADR - 0003": "0003", "ADRs 0003": "0003", "ADR#0003": "0003", "ADR0003": "0003",
		"ADR3": "0003", "ADR-3": "0003", "ADR\t3": "0003", "ADR #\t0003": "0003", "ADR-3rd": "", "ADR-00031": "", "ADR_3": "", "ADR--3": "",
	} {
		if got := strings.Join(found(t, text), " "); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}

// A bare number is cited when it is a record's before or after the session, or
// one the scenario speaks of.
func TestNumbersThatAreKnown(t *testing.T) {
	sc := consulting()
	sc.Expect.B = append(sc.Expect.B, harness.Assertion{Cites: &harness.Cites{ID: "0042", NotLive: []string{"0043"}}})
	end := with(map[string]string{"docs/adr/0004-night-rate.md": "", "docs/adr/0005-paper-tickets.md": topical})
	s := newSession(Input{
		Scenario: sc, Checker: checker(), Transcript: streamOf(say("0004 0005 0042 0043 0044")).transcript(t), Start: start(), End: end,
	})
	var got []string
	for _, c := range s.cites {
		got = append(got, c.id)
	}
	if want := []string{"0004", "0005", "0042", "0043"}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	for _, form := range []harness.Citation{{Digits: 4}, {Prefix: "ADR"}, {Prefix: "ADR", Digits: -1}} {
		with := checker()
		with.Citation = form
		if s := newSession(Input{Scenario: sc, Checker: with, Transcript: streamOf(say("ADR-0003, 0003 and  3")).transcript(t), Start: start(), End: end}); len(s.cites) != 0 {
			t.Errorf("%+v: got %v", form, s.cites)
		}
	}
}

func TestEvidenceOfACitation(t *testing.T) {
	seen := bash("adr-list")
	seen.output = "0003 Zone fare"
	b := evaluate(t, citing(), streamOf(seen, say("ADR-0002 and ADR-0003.")), start()).Result.Check(harness.AxisB)
	if whats(b.Evidence) != "cites 0003" || len(b.NearMisses) != 0 {
		t.Errorf("got evidence %v, near %v", b.Evidence, b.NearMisses)
	}
	b = evaluate(t, citing(), streamOf(say("ADR-0002 and ADR-0001.")), start()).Result.Check(harness.AxisB)
	if whats(b.Evidence) != "cites 0001" {
		t.Errorf("got evidence %v", b.Evidence)
	}
	unlimited := checker()
	unlimited.Citation.MaxLive = 0
	e := Evaluate(Input{Scenario: citing(), Checker: unlimited, Transcript: streamOf(say("ADR-0002, 0003 and 0004.")).transcript(t), Start: start(), End: start()})
	if b := e.Result.Check(harness.AxisB); b.Outcome != harness.Pass {
		t.Errorf("without a limit: got %q", b.Reason)
	}
	obey := citing()
	obey.Forbidden = []harness.Diff{{Path: "lib/*", Adds: "FARE"}}
	obey.Expect.B = append([]harness.Assertion{{NeverSays: []string{"zzz"}}}, obey.Expect.B...)
	b = evaluate(t, obey, streamOf(say("ADR-0003 is obsolete.")), with(map[string]string{"lib/ferry.rb": "FARE = 9\n"})).Result.Check(harness.AxisB)
	if b.Reason != ReasonViolated || whats(b.Evidence) != "changed lib/ferry.rb: FARE = 9" {
		t.Errorf("cited as dead and done: got %q, %v", b.Reason, b.Evidence)
	}
}

// A word for the end of one record, seen from another's sentence.
func TestWhatARetiringWordIsAbout(t *testing.T) {
	for text, want := range map[string]string{
		"0003 is retired, it says.":        "-0003",
		"We retired it after 0003.":        "-0003",
		"0001 is gone and 0003 retired it": "0001 -0003",
		"Retired: 0001, see 0003":          "-0001 0003",
	} {
		if got := strings.Join(found(t, text), " "); got != want {
			t.Errorf("%q: got %s, want %s", text, got, want)
		}
	}
}

func TestFolding(t *testing.T) {
	for in, want := range map[string]string{
		"\u2010\u2011\u2012\u2013\u2014\u2015\u2212\uff0d\ufe58\ufe63": "----------",
		"\u00a0\u202f": "  ",
		"a\u200bb\u200cc\u200dd\u2060e\ufefff\u00adg": "abcdefg",
		"\u2018\u2019\u201c\u201d":                    `''""`,
	} {
		if got := fold(in); got != want {
			t.Errorf("%+q: got %q, want %q", in, got, want)
		}
	}
}

func TestVisible(t *testing.T) {
	for in, want := range map[string]string{
		"a<!-- b -->c": "a\n\nc", "a<!-- b": "a\n\n", "a<!--b-->c<!--d-->e": "a\n\nc\n\ne", "a<!--b\nd-->c": "a\n\nc", "a<!-b": "a<!-b",
	} {
		if got := visible(in); got != want {
			t.Errorf("%q: got %q, want %q", in, got, want)
		}
	}
}

func TestLinesAndSentences(t *testing.T) {
	for in, want := range map[string]string{
		"a\nb": "a b", "a\n  b": "a b", "a\n\tb": "a b", "a\n- b": "a\n- b", "a\n* b": "a\n* b", "a\n+ b": "a\n+ b", "a\n# b": "a\n# b", "a\n> b": "a\n> b",
		"a\n| b": "a\n| b", "a\n1 b": "a\n1 b", "a\n\nb": "a\n\nb",
	} {
		if got := unwrapLines(in); got != want {
			t.Errorf("%q: got %q, want %q", in, got, want)
		}
	}
	for _, in := range []string{"a. b", "a! b", "a? b", `a." b`, "a.' b", "a.) b", "a.] b", "a.* b", "a._ b", "a\n\nb"} {
		if got := sentences(in); len(got) != 2 || got[1] != "b" {
			t.Errorf("%q: got %q", in, got)
		}
	}
	if got := sentences("see a.rb, b"); len(got) != 1 {
		t.Errorf("got %q", got)
	}
}

func TestAffirms(t *testing.T) {
	for _, c := range []struct {
		text, pattern, want string
		ok                  bool
	}{
		{"a conflict", "conflict", "conflict", true},
		{"not a conflict", "conflict", "", false},
		{"it must not\n\nconflict", "conflict", "conflict", true},
	} {
		if got, ok := affirms(c.text, regexp.MustCompile(c.pattern), true); got != c.want || ok != c.ok {
			t.Errorf("%q: got %q %v", c.text, got, ok)
		}
	}
	sc := consulting()
	sc.Expect.B = []harness.Assertion{{Says: []string{"[", "UTC"}}, {NeverSays: []string{"[", "zzz"}}}
	b := evaluate(t, sc, streamOf(say("In UTC.")), start()).Result.Check(harness.AxisB)
	if b.Outcome != harness.Pass || whats(b.Evidence) != "says UTC" || b.Evidence[0].Line != 3 {
		t.Errorf("got %s, %v", b.Outcome, b.Evidence)
	}
	b = evaluate(t, sc, streamOf(say("In UTC, zzz.")), start()).Result.Check(harness.AxisB)
	if b.Reason != ReasonSaidForbidden || whats(b.Evidence) != "says UTC; says zzz" {
		t.Errorf("got %q, %v", b.Reason, b.Evidence)
	}
	if got := short(strings.Repeat("é", 81)); got != strings.Repeat("é", 80)+"…" {
		t.Errorf("got %q", got)
	}
}

// The practice wording of a task is the task's as well; a text injected into a
// subagent never reached the main one.
func TestQuotesAreBlanked(t *testing.T) {
	const run = "the fare of the short crossing is kept in ADR-0003"
	sc := citing()
	sc.PracticeTask = "Note that " + run
	s := newSession(Input{Scenario: sc, Checker: checker(), Transcript: streamOf(say(run)).transcript(t), Start: start(), End: start()})
	if len(s.cites) != 0 {
		t.Errorf("a quote of the practice task cites: %v", s.cites)
	}
	tr := &transcript.Transcript{Blocks: []transcript.Block{
		{Kind: transcript.Injected, Parent: "toolu_1", Text: run}, {Kind: transcript.Text, Line: 2, Text: run},
	}}
	if s := newSession(Input{Scenario: citing(), Checker: checker(), Transcript: tr, Start: start(), End: start()}); len(s.cites) != 1 {
		t.Errorf("got %v, want one citation", s.cites)
	}
}

func TestUnescape(t *testing.T) {
	for _, c := range []struct {
		in     string
		quoted bool
		want   string
	}{
		{`a\b`, false, "ab"}, {`a\b`, true, `a\b`}, {`a\`, false, `a\`}, {`a\`, true, `a\`}, {"a\\\nb", true, "ab"}, {"a\\\nb", false, "ab"},
		{`\$\"\\`, true, `$"\`}, {"\\`", true, "`"}, {`plain`, true, "plain"}, {`a\nb`, false, "anb"},
	} {
		if got := unescape(c.in, c.quoted); got != c.want {
			t.Errorf("%q quoted %v: got %q, want %q", c.in, c.quoted, got, c.want)
		}
	}
}
