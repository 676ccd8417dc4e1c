package unprompted

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"loopd/harness"
	"loopd/harness/transcript"
)

// Input is everything a session is scored by.
type Input struct {
	Scenario   harness.Scenario
	Checker    harness.Checker
	Transcript *transcript.Transcript
	// Project is the project's directory as the session saw it; empty for the
	// one its init event names.
	Project string
	// Start and End are the project's files before and after.
	Start, End harness.Tree
	// LimitTurns and LimitTime: a limit ended the session while it worked.
	LimitTurns, LimitTime bool
	// Answer is the judge's, nil while it has not been asked.
	Answer *bool
}

// Evaluation is a session's result. While Question is set the result is
// provisional: axis b has not been run.
type Evaluation struct {
	Result   harness.Result
	Question *Question
}

// Question is what a judge must be asked: the scenario's question about the
// session's final message and what it asked its user, and nothing else of the
// session.
type Question struct {
	Text    string
	Message string
}

// The reasons a check gives. A plain pass has none.
const (
	ReasonNoConsult          = "no_consult"
	ReasonAttemptedOnly      = "attempted_only"
	ReasonBySubagent         = "by_subagent"
	ReasonProposedOnly       = "proposed_only_in_prose"
	ReasonDetour             = "detour"
	ReasonNotCited           = "not_cited"
	ReasonWrongID            = "wrong_id"
	ReasonCitedSuperseded    = "cited_superseded"
	ReasonShotgun            = "shotgun"
	ReasonNoConflictFlagged  = "no_conflict_flagged"
	ReasonNotSaid            = "not_said"
	ReasonSaidForbidden      = "said_forbidden"
	ReasonCitedButViolated   = "cited_but_violated"
	ReasonViolated           = "violated"
	ReasonNoRecord           = "no_record"
	ReasonWrongTopic         = "wrong_topic"
	ReasonSilent             = "silent"
	ReasonJudgeNo            = "judge_no"
	ReasonNotDone            = "not_done"
	ReasonLimitTurns         = "limit_turns"
	ReasonLimitTime          = "limit_time"
	judgedByFile             = "file"
	judgedByJudge            = "judge"
	maxEvidence, maxNearMiss = 8, 12
	maxUnknown               = 20 // unknown types a result names
)

// session is an Input with what is derived from it once.
type session struct {
	Input
	calls   []transcript.Call
	consult []act // everything the session did that an assertion can name
	near    []harness.Evidence
	said    []passage
	asked   []question
	cites   []citation
}

// Evaluate scores the session.
func Evaluate(in Input) Evaluation {
	s := newSession(in)
	a := s.axisA()
	b, judgedBy, question := s.axisB()
	r := harness.Result{
		Kind: harness.Unprompted, Case: in.Scenario.ID, Outcome: both(a, b), Checks: []harness.Check{a, b},
		JudgedBy: judgedBy, Metrics: s.metrics(),
	}
	return Evaluation{Result: r, Question: question}
}

func newSession(in Input) *session {
	s := &session{Input: in, calls: in.Transcript.ToolUses()}
	init, _ := in.Transcript.Init()
	s.Project = cmp.Or(s.Project, init.CWD)
	if last, _ := in.Transcript.Last(); last.Subtype == "error_max_turns" {
		s.LimitTurns = true
	}
	s.observe()
	quotable := quotable(in.Scenario, in.Transcript)
	s.said = ownWords(quotable, in.Transcript)
	s.asked = questions(quotable, s.calls)
	s.cites = s.findCitations(s.said)
	return s
}

// both joins the axes: a session passes when both do.
func both(a, b harness.Check) harness.Outcome {
	switch {
	case b.Outcome == harness.NotRun:
		return harness.NotRun
	case a.Outcome == harness.Pass && b.Outcome == harness.Pass:
		return harness.Pass
	default:
		return harness.Fail
	}
}

func (s *session) metrics() map[string]float64 {
	sub, chars := 0, 0
	for _, c := range s.calls {
		if c.Subagent() {
			sub++
		}
	}
	for _, b := range s.Transcript.MainText() {
		chars += len(b.Text)
	}
	m := map[string]float64{"tool_calls": float64(len(s.calls)), "subagent_calls": float64(sub), "text_bytes": float64(chars)}
	if r, ok := s.Transcript.Last(); ok {
		m["turns"] = float64(r.NumTurns)
	}
	if len(s.asked) > 0 {
		m["questions"] = float64(len(s.asked))
	}
	s.countUnknown(m)
	return m
}

// countUnknown names the types of lines that no version known here prints: a
// sign of a newer CLI that a person should see and no verdict rests on.
func (s *session) countUnknown(m map[string]float64) {
	for i, kind := range slices.Sorted(maps.Keys(s.Transcript.Unknown)) {
		name := kind
		if i >= maxUnknown {
			name = "other types"
		}
		m["unknown lines: "+name] += float64(s.Transcript.Unknown[kind])
	}
}

// axisA passes when any of the scenario's assertions holds. A session that
// consulted through a subagent alone passes with a reason that says so.
func (s *session) axisA() harness.Check {
	c := harness.Check{Name: harness.AxisA, Outcome: harness.Fail}
	var failed finding
	for i, a := range s.Scenario.Expect.A {
		f := s.assert(a)
		if f.ok {
			c.Outcome, c.Reason, c.Evidence, c.Failed = harness.Pass, f.reason, f.evidence, nil
			break
		}
		c.Failed = append(c.Failed, fmt.Sprintf("expect.a[%d]", i))
		failed.reason = cmp.Or(failed.reason, f.reason)
		failed.evidence = append(failed.evidence, f.evidence...)
	}
	if c.Outcome == harness.Fail {
		c.Reason, c.Evidence = failed.reason, failed.evidence
	}
	c.Evidence = c.Evidence[:min(len(c.Evidence), maxEvidence)]
	c.NearMisses = s.near[:min(len(s.near), maxNearMiss)]
	return c
}

// axisB passes when all of the scenario's assertions hold, nothing forbidden
// was done and no limit ended the session.
func (s *session) axisB() (c harness.Check, judgedBy string, q *Question) {
	c = harness.Check{Name: harness.AxisB, Outcome: harness.Pass}
	add := func(place string, f finding) {
		judgedBy = cmp.Or(f.judgedBy, judgedBy)
		c.Evidence = append(c.Evidence, f.evidence...)
		c.NearMisses = append(c.NearMisses, f.near...)
		if f.ok {
			return
		}
		if q = cmp.Or(q, f.question); f.question != nil {
			return
		}
		c.Outcome, c.Reason, c.Failed = harness.Fail, cmp.Or(c.Reason, f.reason), append(c.Failed, place)
	}
	add("limits", s.withinLimits())
	add("forbidden", s.nothingForbidden())
	for i, a := range s.Scenario.Expect.B {
		add(fmt.Sprintf("expect.b[%d]", i), s.assert(a))
	}
	if c.Outcome == harness.Fail {
		q = nil // settled without the judge
	}
	if q != nil {
		c.Outcome = harness.NotRun
	}
	c.Evidence = c.Evidence[:min(len(c.Evidence), maxEvidence)]
	c.NearMisses = c.NearMisses[:min(len(c.NearMisses), maxNearMiss)]
	return c, judgedBy, q
}

func (s *session) withinLimits() finding {
	switch {
	case s.LimitTurns:
		return finding{reason: ReasonLimitTurns}
	case s.LimitTime:
		return finding{reason: ReasonLimitTime}
	default:
		return finding{ok: true}
	}
}

// finding is the answer to one assertion.
type finding struct {
	ok       bool
	reason   string
	evidence []harness.Evidence
	near     []harness.Evidence
	judgedBy string
	question *Question
}

// assert answers one assertion; exactly one of its fields is set.
func (s *session) assert(a harness.Assertion) finding {
	switch {
	case a.Consults != nil && *a.Consults:
		return s.did(s.Checker.Consult)
	case a.Consults != nil:
		return s.noDetour()
	case a.Skill != "" || a.Command != "" || a.Touches != "":
		return s.did([]harness.Assertion{a})
	case a.Created != nil:
		return s.created(*a.Created)
	case a.Changed != nil:
		return s.changed(*a.Changed)
	case a.Cites != nil:
		return s.cited(*a.Cites)
	case len(a.Says) > 0:
		return s.says(a.Says)
	default:
		return s.neverSays(a.NeverSays)
	}
}

// proposes says whether the session only wished to have the decision written
// down, said or asked. It names a reason and decides nothing.
func (s *session) proposes() bool {
	wish := proposal(s.Checker.Citation)
	for _, p := range slices.Concat(s.said, passages(s.asked)) {
		for sentence := range strings.Lines(p.text) {
			if wish.MatchString(sentence) {
				return true
			}
		}
	}
	return s.Answer != nil && *s.Answer
}
