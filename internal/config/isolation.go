package config

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
)

// rungs are what isolation.rung may be.
func rungs() []string { return []string{"auto", "bwrap", "landlock", "srt"} }

// leastProcesses and leastMemory are what the agent itself takes, and some.
const (
	leastProcesses = 64
	leastMemory    = 512 << 20
	leastDisk      = 16 << 20
)

// resolveRead makes what sessions may read clean absolute paths.
func (c *Config) resolveRead(dir string) {
	for i, p := range c.Read {
		if !filepath.IsAbs(p) {
			p = filepath.Join(dir, p)
		}
		c.Read[i] = filepath.Clean(p)
	}
}

func (c Config) validateIsolation() error {
	var errs []error
	if !slices.Contains(rungs(), c.Rung) {
		errs = append(errs, fmt.Errorf("isolation.rung: %q is not one of %s", c.Rung, strings.Join(rungs(), ", ")))
	}
	if c.Processes != 0 && c.Processes < leastProcesses {
		errs = append(errs, fmt.Errorf("isolation.processes: %d is below %d, which the agent itself needs; 0 is no limit", c.Processes, leastProcesses))
	}
	if c.Memory != 0 && c.Memory < leastMemory {
		errs = append(errs, fmt.Errorf("isolation.memory: %s is below %s, which the agent itself needs; 0 is no limit", c.Memory, Size(leastMemory)))
	}
	if c.Disk != 0 && c.Disk < leastDisk {
		errs = append(errs, fmt.Errorf("isolation.disk: %s is below %s; 0 is no limit", c.Disk, Size(leastDisk)))
	}
	for _, p := range c.Read {
		if p == "/" {
			errs = append(errs, errors.New("isolation.read: / is everything"))
		}
	}
	return errors.Join(errs...)
}
