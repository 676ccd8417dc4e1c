package candidates

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Source says who proposed a Candidate.
type Source string

// The sources a Candidate can have.
const (
	Proposer Source = "proposer"
	Operator Source = "operator"
	Person   Source = "person"
)

// AllCells is the target of a Candidate that is meant to help everywhere.
const AllCells = "all"

// Candidate is one proposed wording change. The ID (c001, c002, …) is assigned by the caller when it enters the queue.
type Candidate struct {
	ID        string   `json:"id"`
	Source    Source   `json:"source"`
	Author    string   `json:"author,omitempty"`
	Rationale string   `json:"rationale,omitempty"`
	Targets   []string `json:"targets,omitempty"` // cells such as "W3/sonnet", or "all"
	// TargetsFrom says what the targets follow from, such as the skill it edits;
	// empty where they were declared.
	TargetsFrom string `json:"targets_from,omitempty"`
	// Simplify says that the wording only gets shorter: it is kept for not being
	// worse by more than a margin instead of for being better.
	Simplify bool   `json:"simplify,omitempty"`
	Edits    []Edit `json:"edits"`
}

// Edit changes one file: either the only occurrence of Old becomes New, or Whole replaces the content.
type Edit struct {
	Path  string  `json:"path"`
	Old   string  `json:"old,omitempty"`
	New   string  `json:"new,omitempty"`
	Whole *string `json:"whole,omitempty"`
}

// Validate reports every way in which the Candidate is not well formed. It says nothing about the wording itself:
// that is what Lint is for.
func (c Candidate) Validate() error {
	var errs []error
	if !slices.Contains([]Source{Proposer, Operator, Person}, c.Source) {
		errs = append(errs, fmt.Errorf("source %q is not one of proposer, operator, person", c.Source))
	}
	for _, target := range c.Targets {
		if !validTarget(target) {
			errs = append(errs, fmt.Errorf("target %q is neither SCENARIO/TIER nor %q", target, AllCells))
		}
	}
	if len(c.Edits) == 0 {
		errs = append(errs, errors.New("no edits"))
	}
	for i, e := range c.Edits {
		if err := e.validate(); err != nil {
			errs = append(errs, fmt.Errorf("edit %d: %w", i+1, err))
		}
	}
	return errors.Join(errs...)
}

func validTarget(target string) bool {
	scenario, tier, ok := strings.Cut(target, "/")
	named := ok && scenario != "" && tier != "" && !strings.ContainsAny(target, " \t\r\n,")
	return target == AllCells || named
}

func (e Edit) validate() error {
	switch {
	case e.Path == "":
		return errors.New("no path")
	case e.Whole != nil && (e.Old != "" || e.New != ""):
		return fmt.Errorf("%q has both old/new and whole", e.Path)
	case e.Whole == nil && e.Old == "":
		return fmt.Errorf("%q names no old text to replace", e.Path)
	}
	return nil
}

// Digest identifies what a set of edits says: the sha256 of its JSON as the ledger keeps it. Two digests differ when
// the edits differ in any byte or in their order.
func Digest(edits []Edit) string {
	if edits == nil {
		edits = []Edit{}
	}
	data, err := json.Marshal(edits)
	if err != nil {
		panic(fmt.Sprintf("candidates: edits do not marshal: %v", err)) // strings always do
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}
