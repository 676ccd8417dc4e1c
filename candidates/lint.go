package candidates

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// Class is what kind of fault a Finding is. It is all a proposer is ever told about a rejected Candidate.
type Class string

// The classes of findings.
const (
	OffSurface    Class = "off_surface"    // touches a file that may not move
	NotApplicable Class = "not_applicable" // an edit does not fit the wording it is for
	NoOp          Class = "no_op"          // says the same after folding white space
	Duplicate     Class = "duplicate"      // this wording was seen before
	NoteTooLong   Class = "note_too_long"  // the agent CLI would cut the hook note
	FrontMatter   Class = "front_matter"   // the head of a SKILL.md is broken, or changes more than wording
	HiddenUnicode Class = "hidden_unicode" // characters a reviewer cannot see
	NotText       Class = "not_text"       // not UTF-8 text
	TooLarge      Class = "too_large"      // a file is too large to be wording
	Echo          Class = "echo"           // repeats held-out text
	NotShorter    Class = "not_shorter"    // declares to simplify and does not
)

// Finding is one reason not to spend a session on a Candidate. Detail is for the operator's own records only.
type Finding struct {
	Class  Class  `json:"class"`
	Path   string `json:"path"`
	Detail string `json:"detail"`
}

// Span is a stretch of a text in bytes: text[Start:End].
type Span struct {
	Start, End int
}

// Limits of the wording. The agent CLI shows the model a short preview instead of a note over MaxNote characters.
const (
	MaxNote        = 10_000
	MaxDescription = 1024
	MaxFile        = 64 << 10
)

// LintInput is what Lint looks at.
type LintInput struct {
	Surface   Surface
	Base      map[string][]byte // the tree the edits are for, that of the champion
	Candidate Candidate
	Seen      map[string]string        // Surface.Digest of the start, every champion and every earlier candidate -> its name
	Echo      func(text string) []Span // finds held-out text; nil looks for none
	MaxGrowth int                      // bytes all files together may grow by; 0 sets no bound beside MaxFile
}

// Lint finds every reason why a Candidate must not cost a session. No finding means that it may run. The order is
// fixed: by kind of check, then by path.
func Lint(in LintInput) []Finding {
	next, err := in.Surface.Apply(in.Base, in.Candidate.Edits)
	if refused, ok := errors.AsType[*RefusedError](err); ok {
		return refused.Findings
	}
	var findings []Finding
	for _, path := range changed(in.Surface, in.Base, next) {
		findings = append(findings, lintFile(in, path, next[path])...)
	}
	findings = append(findings, lintTree(in, next)...)
	return append(findings, echoes(in, next)...)
}

// Classes is the part of findings a proposer may see: each class once, sorted.
func Classes(findings []Finding) []Class {
	var classes []Class
	for _, f := range findings {
		classes = append(classes, f.Class)
	}
	slices.Sort(classes)
	return slices.Compact(classes)
}

func changed(s Surface, base, next map[string][]byte) []string {
	var paths []string
	for _, path := range s.Paths {
		if !bytes.Equal(base[path], next[path]) {
			paths = append(paths, path)
		}
	}
	return paths
}

func lintFile(in LintInput, path string, content []byte) []Finding {
	base := in.Base[path]
	if why := notText(base, content); why != "" {
		return []Finding{{NotText, path, why}} // nothing else can be said about bytes
	}
	var findings []Finding
	if len(content) > MaxFile {
		findings = append(findings, Finding{TooLarge, path, fmt.Sprintf("%d bytes, over the limit of %d", len(content), MaxFile)})
	}
	if why := hiddenUnicode(string(base), string(content)); why != "" {
		findings = append(findings, Finding{HiddenUnicode, path, why})
	}
	if path == in.Surface.Note {
		if n := NoteLength(content); n > MaxNote {
			findings = append(findings, Finding{NoteTooLong, path, fmt.Sprintf("%d characters, over the limit of %d", n, MaxNote)})
		}
	} else if len(content) <= MaxFile {
		findings = append(findings, frontMatterFindings(path, base, content)...)
	}
	return findings
}

// NoteLength counts the characters of the note as the hook delivers it, without the line end that closes the file.
func NoteLength(note []byte) int {
	return utf8.RuneCount(bytes.TrimRight(note, "\n"))
}

func lintTree(in LintInput, next map[string][]byte) []Finding {
	if sameWords(in.Surface, in.Base, next) {
		return []Finding{{NoOp, "", "the wording is the same but for white space"}}
	}
	var findings []Finding
	if name, ok := in.Seen[in.Surface.Digest(next)]; ok {
		findings = append(findings, Finding{Duplicate, "", "the wording is that of " + name})
	}
	growth := size(in.Surface, next) - size(in.Surface, in.Base)
	if in.Candidate.Simplify && growth >= 0 {
		findings = append(findings, Finding{NotShorter, "", fmt.Sprintf("declares to simplify and grows by %d bytes", growth)})
	}
	if in.MaxGrowth > 0 && growth > in.MaxGrowth {
		findings = append(findings, Finding{TooLarge, "", fmt.Sprintf("grows by %d bytes, over the limit of %d", growth, in.MaxGrowth)})
	}
	return findings
}

func sameWords(s Surface, base, next map[string][]byte) bool {
	return !slices.ContainsFunc(s.Paths, func(path string) bool {
		return fold(string(base[path])) != fold(string(next[path]))
	})
}

func fold(text string) string {
	return strings.Join(strings.Fields(text), " ")
}

func size(s Surface, tree map[string][]byte) int {
	total := 0
	for _, path := range s.Paths {
		total += len(tree[path])
	}
	return total
}
