package daemon

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"loopd/internal/atomicfile"
)

// stateName is the file in the state directory that keeps a daemon from opening
// a window twice, and from forgetting that the user paused.
const stateName = "serve.json"

// LockName is the lock of the one loopd that runs or serves in a state directory.
// The ledger's own lock is held only while a campaign is open.
const LockName = "running.lock"

// State is what a daemon knows over a restart, beside the ledger.
type State struct {
	// LastStart is the start of the window opened last.
	LastStart time.Time `json:"last_start,omitzero"`
	// Open: that window was not worked to its end, because loopd was killed or
	// told to stop. It is opened again while it lasts.
	Open bool `json:"open,omitempty"`
	// Held is since when the user wants no window opened; zero for not.
	Held time.Time `json:"held,omitzero"`
	Why  string    `json:"why,omitempty"`
}

// readState returns what is remembered for a state directory; nothing where
// there is no file.
func readState(dir string) (State, error) {
	var m State
	data, err := os.ReadFile(filepath.Join(dir, stateName))
	if errors.Is(err, fs.ErrNotExist) {
		return m, nil
	}
	if err == nil {
		err = json.Unmarshal(data, &m)
	}
	if err != nil {
		return m, fmt.Errorf("read %s: %w", filepath.Join(dir, stateName), err)
	}
	return m, nil
}

func (m State) write(dir string) error {
	data, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		return err
	}
	return atomicfile.WriteFile(filepath.Join(dir, stateName), append(data, '\n'), 0o600)
}
