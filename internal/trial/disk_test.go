package trial

import (
	"errors"
	"fmt"
	"io/fs"
	"syscall"
	"testing"

	"loopd/harness"
)

// TestEnding_DiskFull names the errors that mean there is no room, a quota's too, which
// no test can use up.
func TestEnding_DiskFull(t *testing.T) {
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
		got, err := ending(t.Context(), c.err)
		if got.why != c.want || (got.class == harness.Disk) != (c.want != "") || (err == nil) != (c.want != "" || c.err == nil) {
			t.Errorf("%s: got %s (%s), %v, want %q", name, got.class, got.why, err, c.want)
		}
	}
}
