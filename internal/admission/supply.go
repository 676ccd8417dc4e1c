package admission

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"time"
)

// Machine is where to look: the system, and the root of its files, which a test
// has elsewhere.
type Machine struct {
	OS   string // as runtime.GOOS says it
	Root string
}

// Here is the machine loopd runs on.
func Here() Machine { return Machine{OS: runtime.GOOS, Root: "/"} }

// Supply is what a machine runs on. The zero value is the mains.
type Supply struct {
	Battery   bool // it has one of its own
	OnBattery bool // and runs on it
	Percent   int  // of its charge, 0 for unknown
}

// Supply says what the machine runs on now. A machine of another system has no
// battery as far as loopd can tell.
func (m Machine) Supply(ctx context.Context) (Supply, error) {
	switch m.OS {
	case "linux":
		return readSupply(filepath.Join(m.Root, "sys/class/power_supply"))
	case "darwin":
		return askPmset(ctx)
	}
	return Supply{}, nil
}

// readSupply reads what Linux says of each supply. Batteries of mice and phones
// are none of the machine's. Where a supply from outside is on, the machine runs
// on that, whatever its battery does meanwhile.
func readSupply(dir string) (Supply, error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return Supply{}, nil
	}
	if err != nil {
		return Supply{}, fmt.Errorf("read power supplies: %w", err)
	}
	var s Supply
	outside := false
	for _, e := range entries {
		word := func(name string) string {
			data, err := os.ReadFile(filepath.Join(dir, e.Name(), name))
			if err != nil {
				return "" // not every supply has every file, and some go away
			}
			return strings.TrimSpace(string(data))
		}
		switch word("type") {
		case "Battery", "UPS":
			if word("scope") == "Device" {
				continue
			}
			s.Battery = true
			if word("status") == "Discharging" {
				s.OnBattery = true
				s.Percent, _ = strconv.Atoi(word("capacity")) // 0 where it says none
			}
		case "":
		default: // the mains, or one of the ways to charge by USB
			outside = outside || word("online") == "1"
		}
	}
	if outside {
		s.OnBattery, s.Percent = false, 0
	}
	return s, nil
}

// pmsetTime bounds asking macOS.
const pmsetTime = 10 * time.Second

func askPmset(ctx context.Context) (Supply, error) {
	ctx, cancel := context.WithTimeout(ctx, pmsetTime)
	defer cancel()
	out, err := exec.CommandContext(ctx, "pmset", "-g", "batt").Output()
	if err != nil {
		return Supply{}, fmt.Errorf("ask pmset for the power supply: %w", err)
	}
	return parsePmset(string(out)), nil
}

var charge = regexp.MustCompile(`\s(\d{1,3})%`)

// parsePmset reads "pmset -g batt": a line that names what is drawn from, then a
// line for each battery.
func parsePmset(text string) Supply {
	first, batteries, _ := strings.Cut(text, "\n")
	s := Supply{Battery: strings.Contains(batteries, "Battery") || strings.Contains(batteries, "UPS")}
	s.OnBattery = s.Battery && !strings.Contains(first, "'AC Power'") && strings.Contains(first, "'")
	if found := charge.FindStringSubmatch(batteries); found != nil && s.OnBattery {
		s.Percent, _ = strconv.Atoi(found[1]) // digits
	}
	return s
}
