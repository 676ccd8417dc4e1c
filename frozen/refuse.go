package frozen

import (
	"errors"
	"fmt"
	"path"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"
)

// RefusedError says why one path cannot be part of a seal.
type RefusedError struct {
	Path string
	Why  string
}

// Error names the path and the reason.
func (e *RefusedError) Error() string { return fmt.Sprintf("%s: %s", e.Path, e.Why) }

// refusals returns one RefusedError for every path that cannot be sealed.
func refusals(entries []Entry) error {
	fold := cases.Fold()
	seen := make(map[string]string, len(entries))
	var errs []error
	for _, e := range entries {
		why := refusal(e)
		// Two names that another file system takes for one: a checkout there
		// would silently lose a file, and the seal with it.
		key := norm.NFC.String(fold.String(norm.NFC.String(e.Path)))
		if twin, ok := seen[key]; ok && why == "" {
			why = fmt.Sprintf("same name as %q where case or Unicode form does not count", twin)
		}
		seen[key] = e.Path
		if why != "" {
			errs = append(errs, &RefusedError{Path: e.Path, Why: why})
		}
	}
	return errors.Join(errs...)
}

func refusal(e Entry) string {
	switch {
	case e.Type == TypeLink && e.Path == ".":
		return "the directory is a symbolic link; name the directory it leads to"
	case e.Type != TypeDir && e.Type != TypeFile:
		return fmt.Sprintf("a %s cannot be sealed", longNames(e.Type))
	case e.Problem != "":
		return "cannot be read: " + e.Problem
	case e.Type == TypeFile && e.Links != 1:
		return fmt.Sprintf("has %d hard links; replace it with a copy", e.Links)
	case strings.EqualFold(path.Base(e.Path), ".git"):
		return "a git repository or work tree cannot be sealed"
	case !utf8.ValidString(e.Path):
		return "the name is not valid UTF-8"
	}
	return ""
}

func longNames(t Type) string {
	switch t {
	case TypeLink:
		return "symbolic link"
	case TypePipe:
		return "named pipe"
	case TypeChar, TypeBlock:
		return "device"
	default:
		return string(t)
	}
}
