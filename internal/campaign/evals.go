package campaign

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"loopd/harness"
	"loopd/internal/atomicfile"
)

// keptEval is the name of a kept report: the number of those before it and one,
// its kind, and the beginning of the sha256 of its bytes.
var keptEval = regexp.MustCompile(`^([0-9]{5})-(?:trace|repostate)-([0-9a-f]{12})$`)

// KeptEvals lists the ids of the reports of evaluators that are kept, the oldest
// first.
func (h Home) KeptEvals() ([]string, error) {
	entries, err := os.ReadDir(h.Evals())
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("list kept reports: %w", err)
	}
	var out []string
	for _, d := range entries {
		id, isJSON := strings.CutSuffix(d.Name(), ".json")
		if isJSON && d.Type().IsRegular() && keptEval.MatchString(id) {
			out = append(out, id)
		}
	}
	return out, nil
}

// KeepEval keeps a report of an evaluator and returns its id. write is called
// twice. The same bytes are kept once, and nothing is written over.
func (h Home) KeepEval(kind harness.Kind, write func(io.Writer) error) (string, error) {
	sum := sha256.New()
	if err := write(sum); err != nil {
		return "", err
	}
	digest := hex.EncodeToString(sum.Sum(nil)[:6])
	kept, err := h.KeptEvals()
	if err != nil {
		return "", err
	}
	next := 1
	for _, id := range kept {
		m := keptEval.FindStringSubmatch(id)
		if m[2] == digest {
			return id, nil
		}
		last, err := strconv.Atoi(m[1])
		if err != nil {
			return "", fmt.Errorf("keep report: %w", err)
		}
		next = last + 1
	}
	if err := os.MkdirAll(h.Evals(), 0o700); err != nil {
		return "", fmt.Errorf("keep report: %w", err)
	}
	id := fmt.Sprintf("%05d-%s-%s", next, kind, digest)
	if err := atomicfile.CreateFile(filepath.Join(h.Evals(), id+".json"), 0o600, write); err != nil {
		return "", fmt.Errorf("keep report: %w", err)
	}
	return id, nil
}

// OpenEval opens a kept report by an id that KeptEvals has listed.
func (h Home) OpenEval(id string) (*os.File, error) {
	dir, err := os.OpenRoot(h.Evals())
	if err != nil {
		return nil, fmt.Errorf("open kept report: %w", err)
	}
	defer dir.Close()
	f, err := dir.Open(id + ".json")
	if err != nil {
		return nil, fmt.Errorf("open kept report: %w", err)
	}
	return f, nil
}
