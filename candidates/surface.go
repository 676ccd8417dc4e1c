package candidates

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Surface is the set of files whose wording may move.
type Surface struct {
	Paths []string `json:"paths"` // sorted; each is a path inside the plugin, compared byte for byte
	Note  string   `json:"note"`  // the file the session-start hook reads its text from; empty when there is none
}

// NewSurface finds the Surface in a plugin's tree: skills/NAME/SKILL.md, and the note when the tree has it.
func NewSurface(tree map[string][]byte, note string) Surface {
	s := Surface{Note: note}
	for path := range tree {
		if path == note || skillFile(path) {
			s.Paths = append(s.Paths, path)
		}
	}
	slices.Sort(s.Paths)
	return s
}

func skillFile(path string) bool {
	parts := strings.Split(path, "/")
	return len(parts) == 3 && parts[0] == "skills" && parts[1] != "" && parts[2] == "SKILL.md"
}

func (s Surface) has(path string) bool {
	_, ok := slices.BinarySearch(s.Paths, path)
	return ok
}

// RefusedError says why edits were not applied.
type RefusedError struct {
	Findings []Finding
}

// Error names the first finding and how many there are.
func (e *RefusedError) Error() string {
	f := e.Findings[0]
	text := fmt.Sprintf("apply edits: %s: %q: %s", f.Class, f.Path, f.Detail)
	if more := len(e.Findings) - 1; more > 0 {
		text += fmt.Sprintf(" (and %d more)", more)
	}
	return text
}

// Apply returns the tree that the edits, taken in their order, make of base. Either all edits apply or none: the
// error is then a *RefusedError.
func (s Surface) Apply(base map[string][]byte, edits []Edit) (map[string][]byte, error) {
	next := maps.Clone(base)
	var findings []Finding
	for _, e := range edits {
		content, finding := s.apply(next, e)
		if finding != nil {
			findings = append(findings, *finding)
			continue
		}
		next[e.Path] = content
	}
	if len(findings) > 0 {
		return nil, &RefusedError{Findings: findings}
	}
	return next, nil
}

func (s Surface) apply(tree map[string][]byte, e Edit) ([]byte, *Finding) {
	refuse := func(class Class, format string, args ...any) ([]byte, *Finding) {
		return nil, &Finding{Class: class, Path: e.Path, Detail: fmt.Sprintf(format, args...)}
	}
	if !s.has(e.Path) {
		return refuse(OffSurface, "only SKILL.md files and the hook note may change")
	}
	content, ok := tree[e.Path]
	if !ok {
		return refuse(NotApplicable, "no such file in the wording this applies to")
	}
	if err := e.validate(); err != nil {
		return refuse(NotApplicable, "%v", err)
	}
	if e.Whole != nil {
		return []byte(*e.Whole), nil
	}
	switch next, n := replaceOnce(content, e.Old, e.New); n {
	case 0:
		return refuse(NotApplicable, "the old text is not there")
	case 1:
		return next, nil
	}
	return refuse(NotApplicable, "the old text stands in more than one place")
}

// places counts where old stands, up to two. Overlapping places count: replacing the first of two overlapping ones
// would be a guess.
func places(content []byte, old string) int {
	first := bytes.Index(content, []byte(old))
	if first < 0 {
		return 0
	}
	if bytes.Contains(content[first+1:], []byte(old)) {
		return 2
	}
	return 1
}

// Check compares two whole trees and finds every path that differs, appeared or disappeared and is not on the Surface.
// It also holds for trees that were not made by Apply.
func (s Surface) Check(base, next map[string][]byte) []Finding {
	var findings []Finding
	for path, content := range next {
		was, existed := base[path]
		switch {
		case !existed:
			findings = append(findings, Finding{OffSurface, path, "the file is new"})
		case !s.has(path) && !bytes.Equal(was, content):
			findings = append(findings, Finding{OffSurface, path, "the file may not change"})
		}
	}
	for path := range base {
		if _, ok := next[path]; !ok {
			findings = append(findings, Finding{OffSurface, path, "the file is gone"})
		}
	}
	slices.SortFunc(findings, func(a, b Finding) int { return cmp.Compare(a.Path, b.Path) })
	return findings
}

// Digest identifies the wording of a tree: the sha256 over path and content of each file of the Surface.
func (s Surface) Digest(tree map[string][]byte) string {
	h := sha256.New()
	for _, path := range s.Paths {
		content, ok := tree[path]
		fmt.Fprintf(h, "%d %t %d\n%s", len(path), ok, len(content), path)
		h.Write(content)
	}
	return hex.EncodeToString(h.Sum(nil))
}
