package trial

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"loopd/internal/atomicfile"
)

// PrunedFile stands in the folder of an attempt whose files were dropped to make
// room, and holds when.
const PrunedFile = "pruned"

// MarkPruned notes in the folder of an attempt that its files are being dropped.
func MarkPruned(dir string, now time.Time) error {
	return atomicfile.WriteFile(filepath.Join(dir, PrunedFile), []byte(now.UTC().Format(time.RFC3339)+"\n"), 0o600)
}

// PrunedError says that what was kept of an attempt was dropped on purpose.
type PrunedError struct{ On time.Time }

// Error says since when.
func (e *PrunedError) Error() string { return "pruned on " + e.On.Format(time.DateOnly) }

// Pruned returns a *PrunedError where the files of the attempt in dir were
// dropped, and nil where they are there, or gone for another reason.
func Pruned(dir string) error {
	data, err := os.ReadFile(filepath.Join(dir, PrunedFile))
	if err != nil {
		return nil
	}
	on, err := time.Parse(time.RFC3339, strings.TrimSpace(string(data)))
	if err != nil {
		return fmt.Errorf("pruned: %w", err)
	}
	return &PrunedError{On: on}
}
