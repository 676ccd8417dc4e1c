package trial

import (
	"errors"
	"io/fs"
	"syscall"

	"loopd/harness"
)

// diskFull turns an error that says there is no room left, for anyone or for
// this user, into the trial's class: room can be made, and no session was
// measured. It says whether it did.
func diskFull(t *harness.Trial, err error) bool {
	if !errors.Is(err, syscall.ENOSPC) && !errors.Is(err, syscall.EDQUOT) {
		return false
	}
	t.Class, t.Why = harness.Disk, "no room to keep the session"
	if where, ok := errors.AsType[*fs.PathError](err); ok {
		t.Why = "no room left at " + where.Path
	}
	t.Result = invalidResult(t.Spec)
	return true
}
