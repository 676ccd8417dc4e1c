package config

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// Size is a number of bytes, written such as "4GiB".
type Size int64

// units are the units of a Size, the largest first.
func units() []string { return []string{"TiB", "GiB", "MiB", "KiB"} }

// String writes it as people do.
func (s Size) String() string {
	for i, unit := range units() {
		if by := Size(1) << (10 * (len(units()) - i)); s > 0 && s%by == 0 {
			return strconv.FormatInt(int64(s/by), 10) + unit
		}
	}
	return strconv.FormatInt(int64(s), 10)
}

func parseSize(text string) (Size, error) {
	text = strings.TrimSpace(text)
	if text == "0" {
		return 0, nil
	}
	for i, unit := range units() {
		number, ok := strings.CutSuffix(text, unit)
		x, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
		if ok && err == nil && x >= 0 && x < 1<<20 {
			return Size(x * float64(int64(1)<<(10*(len(units())-i)))), nil
		}
	}
	return 0, fmt.Errorf("%q is no size such as 4GiB", text)
}

// size reads a size, from the file or from the environment.
func size(_, to reflect.Type, value any) (any, error) {
	if to != reflect.TypeFor[Size]() {
		return value, nil
	}
	switch v := value.(type) {
	case Size:
		return v, nil
	case int:
		return parseSize(strconv.Itoa(v))
	case string:
		return parseSize(v)
	case envText:
		return parseSize(string(v))
	}
	return nil, fmt.Errorf("%v is no size such as 4GiB", value)
}

// rungs are what isolation.rung may be.
func rungs() []string { return []string{"auto", "bwrap", "landlock", "srt"} }

// leastProcesses and leastMemory are what the agent itself takes, and some.
const (
	leastProcesses = 64
	leastMemory    = 512 << 20
	leastDisk      = 16 << 20
)

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
