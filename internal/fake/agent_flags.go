package fake

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// options is a parsed command line.
type options struct {
	version    bool
	model      string
	pluginDir  string
	maxTurns   int     // 0 = no limit
	maxBudget  float64 // 0 = no limit
	disallowed []string
	systemFile string
	oneLine    bool // --output-format json: see oneShot
}

// resolveModel makes of a short model name what the pinned CLI makes of it.
func resolveModel(name string) string {
	switch name {
	case "haiku", "sonnet", "opus":
		return "claude-" + name + "-5-5"
	default:
		return name
	}
}

// parseFlags accepts exactly the flags of the launch contract. A value follows
// its flag either after "=" or as the next argument.
func parseFlags(args []string) (options, error) {
	var o options
	seen := make(map[string]string)
	for i := 0; i < len(args); i++ {
		name, value, has := strings.Cut(args[i], "=")
		takes, known := flagTakesValue(name)
		switch {
		case !known:
			return o, fmt.Errorf("unknown option '%s'", name)
		case takes && !has && i+1 == len(args):
			return o, fmt.Errorf("option '%s' argument missing", name)
		case takes && !has:
			i++
			value = args[i]
		case !takes && has:
			return o, fmt.Errorf("option '%s' takes no argument", name)
		}
		seen[name] = value
		if err := o.set(name, value); err != nil {
			return o, err
		}
	}
	return o, o.check(seen)
}

func flagTakesValue(name string) (takes, known bool) {
	switch name {
	case "-p", "--print", "--verbose", "--dangerously-skip-permissions", "--strict-mcp-config", "--version", "-v",
		"--disable-slash-commands", "--no-session-persistence":
		return false, true
	case "--output-format", "--model", "--setting-sources", "--plugin-dir", "--max-turns", "--max-budget-usd",
		"--disallowedTools", "--tools", "--system-prompt-file":
		return true, true
	default:
		return false, false
	}
}

func (o *options) set(name, value string) (err error) {
	switch name {
	case "--version", "-v":
		o.version = true
	case "--model":
		o.model = resolveModel(value)
	case "--plugin-dir":
		o.pluginDir = value
	case "--max-turns":
		o.maxTurns, err = strconv.Atoi(value)
	case "--max-budget-usd":
		o.maxBudget, err = strconv.ParseFloat(value, 64)
	case "--system-prompt-file":
		o.systemFile = value
	case "--output-format":
		o.oneLine = value == "json"
	case "--disallowedTools":
		o.disallowed = strings.FieldsFunc(value, func(r rune) bool { return r == ',' || r == ' ' })
	}
	if err != nil {
		return fmt.Errorf("option '%s': %q is not a number", name, value)
	}
	return nil
}

func (o options) check(seen map[string]string) error {
	if o.version {
		return nil
	}
	_, short := seen["-p"]
	_, long := seen["--print"]
	_, verbose := seen["--verbose"]
	switch {
	case !short && !long:
		return errors.New("the stand-in has no interactive mode: use --print")
	case o.oneLine:
		return o.checkOneShot(seen)
	case seen["--output-format"] != "stream-json":
		return errors.New("the stand-in prints --output-format stream-json, and json without tools, only")
	case !verbose:
		return errors.New("when using --print, --output-format=stream-json requires --verbose")
	case o.model == "":
		return errors.New("the stand-in needs --model")
	}
	return nil
}
