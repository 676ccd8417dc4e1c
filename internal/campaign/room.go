package campaign

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"syscall"
	"time"

	"loopd/frozen"
	"loopd/harness"
	"loopd/loop"
)

// roomEvery is how often is looked whether a full disk has room again.
const roomEvery = 5 * time.Second

// noRoom says whether an error is that the disk is full, for anyone or for this
// user.
func noRoom(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT)
}

// waitForRoom makes what waits between two tries to record an event for which the
// disk has no room. The ledger cannot say that the campaign is paused meanwhile;
// the log does.
func (c *Campaign) waitForRoom(ctx context.Context) func(error) error {
	said := false
	return func(err error) error {
		if !said {
			said = true
			c.Log.Warn("paused: the disk is full; going on when there is room", "at", c.Home.Dir, "error", err)
		}
		timer := time.NewTimer(cmp.Or(c.RoomEvery, roomEvery))
		defer timer.Stop()
		select {
		case <-ctx.Done():
			return errors.Join(ctx.Err(), err)
		case <-timer.C:
			return nil
		}
	}
}

// held turns an error that says that the disk is full into a pause: a commit that
// found no room is made again when there is.
func held(err error) error {
	if !noRoom(err) {
		return err
	}
	reason := "disk: no room left"
	if where, ok := errors.AsType[*fs.PathError](err); ok {
		reason += " at " + where.Path
	}
	return &loop.HoldError{Paused: loop.Paused{Reason: reason, Class: harness.Disk}}
}

// alarm is the watch over the seal while sessions run. The zero alarm never rings.
type alarm struct {
	changed <-chan struct{}
	close   func()
}

// watch sets the alarm. Where the system allows no watch the seal is still
// verified before and after each session.
func (c *Campaign) watch() alarm {
	w, err := frozen.NewWatch(c.Sealed.Dir)
	if err != nil {
		c.Log.Info("the suite is not watched; it is verified around each session", "error", err)
		return alarm{close: func() {}}
	}
	return alarm{changed: w.Changed(), close: func() {
		if err := w.Close(); err != nil {
			c.Log.Info("end the watch over the suite", "error", err)
		}
	}}
}
