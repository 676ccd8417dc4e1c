package candidates

import (
	"errors"
	"fmt"
	"strings"

	"github.com/bluekeyes/go-gitdiff/gitdiff"
)

// maxPatch bounds what ParsePatch reads: no wording change is larger than every file of a Surface written anew.
const maxPatch = 1 << 20

// ParsePatch turns a unified diff into Edits, one for each hunk: the lines before become Old, the lines after become
// New. Line numbers are not used, so a hunk applies wherever its old lines stand, if they stand there exactly once.
// The path is that of the new side, without the prefix b/. A patch that is binary, adds, deletes, renames or copies a file, or changes a mode is refused.
func ParsePatch(patch string) ([]Edit, error) {
	if len(patch) > maxPatch {
		return nil, fmt.Errorf("parse patch: %d bytes, over the limit of %d", len(patch), maxPatch)
	}
	if strings.Count(patch, "\n") == strings.Count(patch, "\r\n") {
		// Saved by an editor that ends every line so, the header's too. What the
		// file's own lines end with is settled where the edits are applied.
		patch = strings.ReplaceAll(patch, "\r\n", "\n")
	}
	files, _, err := gitdiff.Parse(strings.NewReader(patch))
	if err != nil {
		return nil, fmt.Errorf("parse patch: %w", err)
	}
	plain := !strings.Contains("\n"+patch, "\ndiff --git ")
	var edits []Edit
	for _, f := range files {
		if plain && !f.IsNew && !f.IsDelete {
			// Without git's own header the parser keeps the prefix that git's header loses.
			name := strings.TrimPrefix(f.NewName, "b/")
			f.OldName, f.NewName = name, name
		}
		fileEdits, err := editsOf(f)
		if err != nil {
			return nil, fmt.Errorf("parse patch: %w", err)
		}
		edits = append(edits, fileEdits...)
	}
	if len(edits) == 0 {
		return nil, errors.New("parse patch: no hunk in it; expected a unified diff")
	}
	return edits, nil
}

func editsOf(f *gitdiff.File) ([]Edit, error) {
	path, err := patchedPath(f)
	if err != nil {
		return nil, err
	}
	edits := make([]Edit, 0, len(f.TextFragments))
	for i, fragment := range f.TextFragments {
		e := Edit{Path: path, Old: side(fragment, gitdiff.Line.Old), New: side(fragment, gitdiff.Line.New)}
		if e.Old == "" {
			return nil, fmt.Errorf("hunk %d of %q has no old line to find its place by", i+1, path)
		}
		edits = append(edits, e)
	}
	if len(edits) == 0 {
		return nil, fmt.Errorf("%q has no hunk", path)
	}
	return edits, nil
}

// patchedPath names the file a patch changes in place, or says why it is not such a change.
func patchedPath(f *gitdiff.File) (string, error) {
	switch {
	case f.IsBinary:
		return "", fmt.Errorf("%q is binary", f.NewName)
	case f.IsNew:
		return "", fmt.Errorf("%q is a new file", f.NewName)
	case f.IsDelete:
		return "", fmt.Errorf("%q is deleted", f.OldName)
	case f.IsCopy:
		return "", fmt.Errorf("%q is copied", f.OldName)
	case f.IsRename || f.OldName != f.NewName:
		return "", fmt.Errorf("%q is renamed to %q", f.OldName, f.NewName)
	case f.NewMode != 0 && f.NewMode != f.OldMode:
		return "", fmt.Errorf("mode of %q changes", f.NewName)
	}
	return f.NewName, nil
}

func side(fragment *gitdiff.TextFragment, keep func(gitdiff.Line) bool) string {
	var b strings.Builder
	for _, line := range fragment.Lines {
		if keep(line) {
			b.WriteString(line.Line)
		}
	}
	return b.String()
}
