package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"loopd/harness"
	"loopd/internal/admission"
	"loopd/internal/campaign"
	"loopd/internal/config"
	"loopd/internal/hint"
	"loopd/loop"
)

// roomy starts no session while there is less room than the settings ask for, so
// that a disk that fills up pauses the campaign before anything is cut short.
type roomy struct {
	floor config.Size
	dirs  []string
	free  func(dir string) (uint64, error)
	e     loop.Executor
}

// roomFor watches the disks of the state directory and of the sandboxes.
func roomFor(home campaign.Home, cfg config.Config, e loop.Executor) roomy {
	return roomy{floor: cfg.DiskFloor, dirs: []string{home.Dir, os.TempDir()}, free: freeBytes, e: e}
}

// Run runs a session while there is room.
func (r roomy) Run(ctx context.Context, spec harness.Spec) (harness.Trial, error) {
	if short := r.short(); short != "" {
		return harness.Trial{}, &loop.HoldError{Paused: loop.Paused{Reason: short, Class: harness.Disk}}
	}
	return r.e.Run(ctx, spec)
}

// short says where there is too little room, empty where there is enough. What
// cannot be told counts as enough.
func (r roomy) short() string {
	for _, dir := range r.dirs {
		for !exists(dir) && dir != filepath.Dir(dir) {
			dir = filepath.Dir(dir)
		}
		if n, err := r.free(dir); err == nil && n < uint64(r.floor) {
			return fmt.Sprintf("disk: %s free at %s, disk_floor is %s", sizeText(int64(n)), dir, r.floor)
		}
	}
	return ""
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// safeGround refuses to begin where other users could look into the state, or
// where the campaign would pause at once for want of room.
func safeGround(e env, cfg config.Config) error {
	home, err := homeOf(e, cfg)
	if err != nil {
		return err
	}
	if err := home.KeptFromOthers(); err != nil {
		return err
	}
	if short := roomFor(home, cfg, nil).short(); short != "" {
		return hint.Usagef(pruneHint, "start campaign: %s", short)
	}
	return nil
}

// roomEvery is how often is looked whether there is room again.
const roomEvery = 10 * time.Second

// waitForRoom waits until there is room again, and says whether there is.
func (n *night) waitForRoom(ctx context.Context, stop <-chan struct{}) bool {
	for {
		if roomFor(n.campaign.Home, n.cfg, nil).short() == "" {
			return true
		}
		if !(admission.Wall{}).Wait(ctx, stop, time.Now().Add(roomEvery)) {
			return false
		}
	}
}
