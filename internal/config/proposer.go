package config

import (
	"errors"
	"fmt"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"time"
)

// Model is who proposes candidates when the queue is empty.
type Model string

// Who can propose. Auto is the operators for a daemon, which nobody watches, and
// nobody for one run: whoever starts that has candidates of their own.
const (
	AutoModel    Model = "auto"
	NoModel      Model = "none"
	BuiltinModel Model = "builtin" // operators that change the wording without any model
	AgentModel   Model = "agent"   // the agent CLI, without tools
	CommandModel Model = "command" // proposer.command
)

func models() []Model { return []Model{AutoModel, NoModel, BuiltinModel, AgentModel, CommandModel} }

// Proposing is the settings of the section proposer.
type Proposing struct {
	Proposer        Model    `mapstructure:"proposer.model"`
	ProposerCommand []string `mapstructure:"proposer.command"`      // the program and its arguments
	ProposerTier    string   `mapstructure:"proposer.tier"`         // that an agent is asked with; empty for the suite's last
	ProposerTimeout Span     `mapstructure:"proposer.timeout"`      // of one ask
	PerNight        int      `mapstructure:"proposer.per_night"`    // the most asks of a window
	DeleteShare     Percent  `mapstructure:"proposer.delete_share"` // of the asks that are for a deletion
}

// Span is a stretch of time, written such as "5m".
type Span time.Duration

// String writes it as people do, without what is 0 at its end.
func (s Span) String() string {
	text := time.Duration(s).String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}

// MarshalText writes it as String does.
func (s Span) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

func parseSpan(text string) (Span, error) {
	d, err := time.ParseDuration(strings.TrimSpace(text))
	if err != nil || d < 0 {
		return 0, fmt.Errorf("%q is no time such as 5m", text)
	}
	return Span(d), nil
}

// duration reads a stretch of time, from the file or from the environment.
func duration(_, to reflect.Type, value any) (any, error) {
	if to != reflect.TypeFor[Span]() {
		return value, nil
	}
	switch v := value.(type) {
	case Span:
		return v, nil
	case string:
		return parseSpan(v)
	case envText:
		return parseSpan(string(v))
	}
	return nil, fmt.Errorf("%v is no time such as 5m", value)
}

// shortestAsk is below what any proposer needs.
const shortestAsk = Span(time.Second)

func (c Config) validateProposer() error {
	var errs []error
	bad := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	if !slices.Contains(models(), c.Proposer) {
		var names []string
		for _, m := range models() {
			names = append(names, string(m))
		}
		bad("proposer.model: %q is not one of %s", c.Proposer, strings.Join(names, ", "))
	}
	switch given := len(c.ProposerCommand) > 0; {
	case c.Proposer == CommandModel && !given:
		errs = append(errs, errors.New("proposer.command: empty, and proposer.model is command"))
	case given && c.Proposer != CommandModel:
		bad("proposer.command: given, but proposer.model is %s", c.Proposer)
	case given && strings.TrimSpace(c.ProposerCommand[0]) == "":
		errs = append(errs, errors.New("proposer.command: its first word is the program"))
	}
	if c.ProposerTier != "" && c.Proposer != AgentModel {
		bad("proposer.tier: given, but proposer.model is %s", c.Proposer)
	}
	if c.ProposerTimeout < shortestAsk {
		bad("proposer.timeout: %s is below %s", c.ProposerTimeout, shortestAsk)
	}
	if c.PerNight < 1 {
		bad("proposer.per_night: %d is below 1; proposer.model none asks nobody", c.PerNight)
	}
	return errors.Join(errs...)
}

// resolveProposer finds the program of a command beside the settings file.
func (c *Config) resolveProposer(dir string) {
	if len(c.ProposerCommand) > 0 && strings.ContainsRune(c.ProposerCommand[0], filepath.Separator) && !filepath.IsAbs(c.ProposerCommand[0]) {
		c.ProposerCommand = slices.Clone(c.ProposerCommand)
		c.ProposerCommand[0] = filepath.Join(dir, c.ProposerCommand[0])
	}
}
