package agent

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/gofrs/flock"
)

// Note writes a session's marker into a file that stays locked as long as this
// process lives, so that a later loopd finds what an earlier one, killed, could
// not end. The function it returns takes the note back.
func Note(file, marker string) (release func() error, err error) {
	if err := os.WriteFile(file, []byte(marker), 0o600); err != nil {
		return nil, fmt.Errorf("note session: %w", err)
	}
	lock := flock.New(file)
	if locked, err := lock.TryLock(); err != nil || !locked {
		return nil, fmt.Errorf("note session: lock %s: %w", file, errors.Join(err, os.Remove(file)))
	}
	return func() error { return errors.Join(os.Remove(file), lock.Close()) }, nil
}

// minMarker is the length from which a marker names one session only.
const minMarker = 8

// KillLeftovers ends what is still running of the sessions noted in files of
// that name, one directory below dir, whose loopd is dead. It returns how many
// processes it had to kill.
func KillLeftovers(dir, name string) (int, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*", name))
	if err != nil {
		return 0, fmt.Errorf("kill leftovers: %w", err)
	}
	killed := 0
	var errs []error
	for _, file := range files {
		n, err := killNoted(file)
		killed += n
		errs = append(errs, err)
	}
	return killed, errors.Join(errs...)
}

func killNoted(file string) (int, error) {
	lock := flock.New(file, flock.SetFlag(os.O_RDONLY))
	locked, err := lock.TryLock()
	if errors.Is(err, fs.ErrNotExist) || err == nil && !locked {
		return 0, nil // the session ended meanwhile, or its loopd lives
	}
	if err != nil {
		return 0, fmt.Errorf("kill leftovers: %w", err)
	}
	defer lock.Close()
	marker, err := os.ReadFile(file)
	if err != nil {
		return 0, fmt.Errorf("kill leftovers: %w", err)
	}
	text := strings.TrimSpace(string(marker))
	if len(text) < minMarker {
		return 0, os.Remove(file) // a full disk cut the note short, and no session was started
	}
	n, err := Kill(text)
	return n, errors.Join(err, os.Remove(file))
}
