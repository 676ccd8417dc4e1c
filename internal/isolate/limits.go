package isolate

import (
	"context"
	"errors"
	"io/fs"
	"path/filepath"
	"syscall"
	"time"
)

// Limits bound what one session may use of the machine. A field of 0 bounds
// nothing.
type Limits struct {
	// Memory is the most that the session's processes may hold together, in
	// bytes. Whoever runs the session looks; the kernel is not asked to.
	Memory int64
	// Disk is the most that the box may hold, in bytes. In the walls that bring
	// a temporary directory of their own it bounds that one too.
	Disk int64
	// Processes is the most processes and threads at once, of the session within
	// bubblewrap and of its user, beyond those of other programs, elsewhere.
	Processes int
}

// Size adds up what the session's directories hold, in bytes. It follows no
// link, and what vanishes or cannot be read while it looks counts as nothing:
// the session is at work.
func (b *Box) Size(ctx context.Context) (int64, error) {
	var total int64
	for _, dir := range []string{b.Work, b.Home, b.Config, b.Tmp} {
		err := filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
			if err != nil {
				return nil
			}
			if info, err := d.Info(); err == nil && !d.IsDir() {
				if st, ok := info.Sys().(*syscall.Stat_t); ok {
					total += st.Blocks * 512 // a hole takes no room
				}
			}
			return ctx.Err()
		})
		if err != nil {
			return 0, err
		}
	}
	return total, nil
}

// ErrTooLarge says that a box has outgrown its limit.
var ErrTooLarge = errors.New("the session's files are larger than its limit of disk")

// restBetween is how many times longer the watch of a box rests than it looks,
// so that a large box costs the session no more than a small one.
const restBetween = 20

// Watch returns a function that says whether the box has outgrown the limit:
// ErrTooLarge, or nil. It may be called as often as one likes and looks only
// now and then. A limit of 0 watches nothing.
func (b *Box) Watch(ctx context.Context, limit int64, now func() time.Time) func() error {
	var next time.Time
	return func() error {
		begun := now()
		if limit <= 0 || begun.Before(next) {
			return nil
		}
		size, err := b.Size(ctx)
		ended := now()
		next = ended.Add(restBetween * ended.Sub(begun))
		if err == nil && size > limit {
			return ErrTooLarge
		}
		return nil
	}
}
