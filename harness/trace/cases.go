package trace

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"loopd/harness"
)

// Cases is a file of cases, checked and with the contract's defaults filled in.
type Cases struct {
	Version  int      `yaml:"version,omitempty" json:"version,omitempty"`
	Contract Contract `yaml:"contract,omitempty" json:"contract,omitzero"`
	Cases    []Case   `yaml:"cases" json:"cases"`

	byFile, byID map[string]int // places in Cases
}

// Case says what a trace must show to pass.
type Case struct {
	ID          string `yaml:"id" json:"id"`
	Question    string `yaml:"question" json:"question"`
	Description string `yaml:"description,omitempty" json:"description,omitempty"`
	// Keywords name the root cause; MinKeywords of them must be in the answer,
	// all where it is nil.
	Keywords          []string `yaml:"expectedRootCauseKeywords" json:"expectedRootCauseKeywords"`
	MinKeywords       *int     `yaml:"minKeywordCoverage,omitempty" json:"minKeywordCoverage,omitempty"`
	Tools             []string `yaml:"requiredEvidenceTools" json:"requiredEvidenceTools"`
	Allowed           []string `yaml:"allowedVerdicts" json:"allowedVerdicts"`
	Forbidden         []string `yaml:"forbiddenVerdicts,omitempty" json:"forbiddenVerdicts,omitempty"`
	ForbiddenKeywords []string `yaml:"forbiddenAnswerKeywords,omitempty" json:"forbiddenAnswerKeywords,omitempty"`
	ForbiddenClaims   []string `yaml:"forbiddenConfirmedClaimKeywords,omitempty" json:"forbiddenConfirmedClaimKeywords,omitempty"`
	// DegradedMarkers stand in for the contract's.
	DegradedMarkers []string `yaml:"degradedMarkers,omitempty" json:"degradedMarkers,omitempty"`
	Closure         bool     `yaml:"requireV2AuditClosure,omitempty" json:"requireV2AuditClosure,omitempty"`
	ClaimChecks     bool     `yaml:"requireClaimChecks,omitempty" json:"requireClaimChecks,omitempty"`
	Composer        bool     `yaml:"requireComposerOutput,omitempty" json:"requireComposerOutput,omitempty"`
	// Fixture is the file name of the case's own trace, empty for none.
	Fixture string `yaml:"traceFixture,omitempty" json:"traceFixture,omitempty"`
}

// ParseCases reads a file of cases, YAML or JSON. Each line of the error is one
// fault with its place.
func ParseCases(data []byte) (Cases, error) {
	var c Cases
	if err := harness.Decode(harness.TraceSchema, data, &c); err != nil {
		return Cases{}, fmt.Errorf("read cases: %w", err)
	}
	c.Contract = c.Contract.withDefaults()
	if err := c.validate(); err != nil {
		return Cases{}, err
	}
	c.byFile, c.byID = make(map[string]int), make(map[string]int)
	for i, k := range c.Cases {
		c.byID[k.ID] = i
		c.byFile[k.File()] = i // of those without one the last, under a name no file has
	}
	return c, nil
}

// validate finds what no schema can say.
func (c Cases) validate() error {
	errs := c.Contract.validate()
	ids, fixtures := make(map[string]bool), make(map[string]string)
	for i, k := range c.Cases {
		bad := func(format string, args ...any) {
			errs = append(errs, fmt.Errorf("read cases: cases[%d]: %s: "+format, append([]any{i, k.ID}, args...)...))
		}
		if ids[k.ID] {
			bad("this id is there twice")
		}
		ids[k.ID] = true
		if other, taken := fixtures[k.File()]; taken {
			bad("traceFixture: %s is that of %s too", k.Fixture, other)
		} else if k.Fixture != "" {
			fixtures[k.File()] = k.ID
		}
		if k.MinKeywords != nil && *k.MinKeywords > len(k.Keywords) {
			bad("minKeywordCoverage: %d of %d keywords", *k.MinKeywords, len(k.Keywords))
		}
		for _, v := range slices.Concat(k.Allowed, k.Forbidden) {
			if !holds(c.Contract.Verdicts, v) {
				bad("verdict %q is none of %s", v, strings.Join(c.Contract.Verdicts, ", "))
			}
		}
		for _, v := range k.Forbidden {
			if holds(k.Allowed, v) {
				bad("verdict %s is allowed and forbidden", v)
			}
		}
	}
	return errors.Join(errs...)
}

// Of finds the case a trace of this file name belongs to: the one whose fixture
// it is, else the one whose id stands before the first dot.
func (c Cases) Of(file string) (Case, bool) {
	i, ok := c.byFile[file]
	if !ok {
		i, ok = c.byID[Stem(file)]
	}
	if !ok {
		return Case{}, false
	}
	return c.Cases[i], true
}

// Stem is what stands before the first dot of a file name.
func Stem(file string) string {
	stem, _, _ := strings.Cut(file, ".")
	return stem
}

// File is the name of the case's own trace, without folders; empty for none.
func (k Case) File() string {
	if k.Fixture == "" {
		return ""
	}
	return path.Base(k.Fixture)
}

// digest tells two versions of a case apart.
func (k Case) digest() string {
	text, err := json.Marshal(k)
	if err != nil {
		panic(fmt.Sprintf("marshal case: %v", err)) // strings, numbers and lists of them
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:6])
}

// enough is how many keywords the answer must hold.
func (k Case) enough() int {
	if k.MinKeywords != nil {
		return *k.MinKeywords
	}
	return len(k.Keywords)
}

// holds reports whether a word is in a list, whatever its case.
func holds(list []string, word string) bool {
	return slices.ContainsFunc(list, func(w string) bool { return strings.EqualFold(w, word) })
}
