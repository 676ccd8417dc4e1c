package repostate

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"regexp"
	"strings"

	"loopd/harness"
)

// SpecKind is what a task is judged by.
type SpecKind string

// The kinds of spec.
const (
	Mutation SpecKind = "mutation" // the state it leaves
	Read     SpecKind = "read"     // the facts it reports
)

// Spec is what a task must leave behind or report.
type Spec struct {
	Kind SpecKind `json:"kind"`
	ID   string   `json:"id,omitempty"`
	Task string   `json:"task,omitempty"`
	// Volatile keys are not compared, anywhere; a * stands for any letters.
	Volatile []string        `json:"volatile,omitempty"`
	Expected json.RawMessage `json:"expected,omitempty"`
	Before   json.RawMessage `json:"before,omitempty"`
	Facts    []Fact          `json:"facts,omitempty"`

	expected, before any // normalised
	patterns         []*regexp.Regexp
	digest           string
}

// Fact is one thing a report must say.
type Fact struct {
	Description string   `json:"description"`
	AnyOf       []string `json:"anyOf,omitempty"`   // as whole words
	Pattern     string   `json:"pattern,omitempty"` // also says it
	NoneOf      []string `json:"noneOf,omitempty"`  // takes it back
}

// KindError says that a submission is not of the kind its spec is about.
type KindError struct {
	Submission string
	Want       SpecKind
	Why        string
}

// Error names the submission and what was wanted.
func (e *KindError) Error() string { return "evaluate " + e.Submission + ": " + e.what() }

func (e *KindError) what() string {
	want := "the state of a repository as JSON"
	if e.Want == Read {
		want = "a report as text"
	}
	return fmt.Sprintf("%s; a spec of kind %s wants %s", e.Why, e.Want, want)
}

// DefaultVolatile lists the keys that differ from run to run.
func DefaultVolatile() []string {
	return []string{"id", "node_id", "url", "*_at", "*At", "sha", "etag"}
}

// ParseSpec reads a spec from the file of that name, which is also its id when it
// has none: spec-close.json is close. Each line of the error is one fault.
func ParseSpec(name string, data []byte) (Spec, error) {
	s, err := decode(data)
	if err != nil {
		return Spec{}, fmt.Errorf("read spec %s: %w", name, err)
	}
	if s.ID == "" {
		s.ID = strings.TrimSuffix(strings.TrimPrefix(path.Base(name), "spec-"), path.Ext(name))
	}
	if len(s.Volatile) == 0 {
		s.Volatile = DefaultVolatile()
	}
	errs := s.fit()
	for i, f := range s.Facts {
		p, err := regexp.Compile("(?im)" + f.Pattern)
		if err != nil {
			errs = append(errs, fmt.Errorf("facts[%d].pattern: does not compile: %w", i, err))
		}
		s.patterns = append(s.patterns, p)
	}
	for _, v := range s.Volatile {
		if _, err := path.Match(v, ""); err != nil {
			errs = append(errs, fmt.Errorf("volatile: %q is no glob", v))
		}
	}
	if err := errors.Join(errs...); err != nil {
		return Spec{}, fmt.Errorf("read spec %s: %w", name, err)
	}
	if err := s.prepare(data); err != nil {
		return Spec{}, fmt.Errorf("read spec %s: %w", name, err)
	}
	return s, nil
}

// decode reads a spec without looking into its states, which are large and of
// no fixed shape.
func decode(data []byte) (Spec, error) {
	var top map[string]json.RawMessage
	states := make(map[string]json.RawMessage)
	_ = json.Unmarshal(data, &top) // what is no JSON object is refused below
	if top != nil {
		for _, key := range []string{"expected", "before"} {
			if raw := top[key]; len(raw) > 0 && raw[0] == '{' {
				states[key], top[key] = raw, json.RawMessage("{}")
			}
		}
		data = []byte(canonical(top))
	}
	var s Spec
	if err := harness.Decode(harness.RepoStateSchema, data, &s); err != nil {
		return Spec{}, err
	}
	s.Expected, s.Before = states["expected"], states["before"]
	return s, nil
}

// fit finds parts that belong to the other kind.
func (s Spec) fit() []error {
	var errs []error
	part := func(key string, there bool, kind SpecKind) {
		switch {
		case there && s.Kind != kind:
			errs = append(errs, fmt.Errorf("%s: there, and the kind is %s", key, s.Kind))
		case !there && s.Kind == kind && key != "before":
			errs = append(errs, fmt.Errorf("%s: missing, and the kind is %s", key, s.Kind))
		}
	}
	part("expected", s.Expected != nil, Mutation)
	part("before", s.Before != nil, Mutation)
	part("facts", s.Facts != nil, Read)
	return errs
}

// prepare normalises the states once for all submissions.
func (s *Spec) prepare(data []byte) error {
	sum := sha256.Sum256(data)
	s.digest = hex.EncodeToString(sum[:6])
	if s.Kind == Read {
		return nil
	}
	var err error
	if s.expected, err = s.state(s.Expected); err != nil {
		return err
	}
	if s.Before != nil {
		s.before, err = s.state(s.Before)
	}
	return err
}

// Evaluate scores the submission of that file name. The error is a *KindError;
// the result is then invalid and says the same.
func (s Spec) Evaluate(name string, data []byte) (harness.Evaluated, error) {
	out := s.blank(name)
	judge := s.mutation
	if s.Kind == Read {
		judge = s.read
	}
	why := judge(&out, name, data)
	if why == "" {
		out.Settle()
		return out, nil
	}
	err := &KindError{name, s.Kind, why}
	out.Checks = unreadable(harness.Invalid, OtherKind, err.what())
	out.Settle()
	return out, err
}

// read looks for the facts, or says why the submission is no report.
func (s Spec) read(out *harness.Evaluated, name string, data []byte) (why string) {
	if why := looksLikeState(name, data); why != "" {
		return why
	}
	if bytes.IndexByte(data, 0) >= 0 {
		out.Checks = unreadable(harness.NotRun, "not_text", "the report holds NUL bytes: it is no UTF-8 text")
		return ""
	}
	s.facts(out, string(data))
	return ""
}

// mutation compares the state, or says why the submission is none.
func (s Spec) mutation(out *harness.Evaluated, name string, data []byte) (why string) {
	got, err := s.state(data)
	state, object := got.(map[string]any)
	switch {
	case err != nil && !strings.HasSuffix(name, ".json"):
		return "it is no JSON"
	case err != nil:
		out.Checks = unreadable(harness.NotRun, "not_json", err.Error())
	case !object:
		out.Checks = unreadable(harness.NotRun, "wrong_type", "the document is no object")
	case looksLikeSpec(state):
		return "it is a spec"
	default:
		s.compare(out, state)
	}
	return ""
}

func (s Spec) blank(name string) harness.Evaluated {
	return harness.Evaluated{Result: harness.Result{Kind: harness.RepoState, Case: s.ID}, Submission: name, CaseDigest: s.digest}
}

// Unread is the result of a submission that could not be read from its file.
func (s Spec) Unread(name, reason, what string) harness.Evaluated {
	out := s.blank(name)
	out.Checks = unreadable(harness.NotRun, reason, what)
	out.Settle()
	return out
}

// OtherKind is the reason of a result whose submission is of the kind its spec is
// not about.
const OtherKind = "other_kind"

// unreadable is the one check of a submission that cannot be looked at. The
// capture failed, which says nothing about the agent.
func unreadable(o harness.Outcome, reason, what string) []harness.Check {
	return []harness.Check{{Name: Readable, Outcome: o, Reason: reason, Findings: []string{what}}}
}

// looksLikeState says why a document is no report.
func looksLikeState(name string, data []byte) string {
	if strings.HasSuffix(name, ".json") {
		return "its name ends in .json"
	}
	var o map[string]json.RawMessage
	_ = json.Unmarshal(data, &o) // what is no object is no state
	for _, key := range []string{"issues", "pullRequests", "labels", "branches", "files"} {
		if raw := strings.TrimSpace(string(o[key])); strings.HasPrefix(raw, "[") {
			return "it is a state, with " + key
		}
	}
	return ""
}

func looksLikeSpec(o map[string]any) bool {
	kind, _ := o["kind"].(string)
	_, expected := o["expected"]
	_, facts := o["facts"]
	return (kind == string(Mutation) || kind == string(Read)) && (expected || facts)
}
