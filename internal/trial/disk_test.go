package trial

import (
	"errors"
	"fmt"
	"io/fs"
	"syscall"
	"testing"

	"loopd/harness"
)

// TestDiskFull names the errors that mean there is no room, a quota's too, which
// no test can use up.
func TestDiskFull(t *testing.T) {
	t.Parallel()
	at := func(err error) error {
		return fmt.Errorf("keep attempt: %w", errors.Join(&fs.PathError{Op: "write", Path: "/srv/trials/a", Err: err}))
	}
	for name, c := range map[string]struct {
		err  error
		want string // why; empty for no full disk
	}{
		"no space":      {at(syscall.ENOSPC), "no room left at /srv/trials/a"},
		"quota":         {at(syscall.EDQUOT), "no room left at /srv/trials/a"},
		"without place": {fmt.Errorf("write: %w", syscall.ENOSPC), "no room to keep the session"},
		"read only":     {at(syscall.EROFS), ""},
		"broken":        {at(syscall.EIO), ""},
		"none":          {nil, ""},
	} {
		var got harness.Trial
		full := diskFull(&got, c.err)
		if full != (c.want != "") || got.Why != c.want || full != (got.Class == harness.Disk) || full != (got.Result.Outcome == harness.Invalid) {
			t.Errorf("%s: got %v, %s (%s), want %q", name, full, got.Class, got.Why, c.want)
		}
	}
}
