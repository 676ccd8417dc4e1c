package agent

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"loopd/harness"
)

// CommandOptions is what differs between the sessions of one launch profile.
type CommandOptions struct {
	Model     string // pinned full model id
	PluginDir string // the plugin's copy
}

// Command returns the arguments of a session, without the program's name. The
// prompt is not among them. Options that take several values are written with
// "=", so that nothing after them is swallowed.
func Command(l harness.Launch, o CommandOptions) []string {
	args := []string{
		"-p", "--output-format", "stream-json", "--verbose",
		"--model", o.Model,
		"--dangerously-skip-permissions",
		"--setting-sources=",
		"--strict-mcp-config",
		"--plugin-dir", o.PluginDir,
	}
	if l.MaxTurns > 0 {
		args = append(args, "--max-turns", strconv.Itoa(l.MaxTurns))
	}
	if len(l.DisallowedTools) > 0 {
		args = append(args, "--disallowedTools="+strings.Join(l.DisallowedTools, ","))
	}
	return args
}

// credentials are the two names for a session's dummy credential. A profile
// may list both; a session has one, of the kind the user has.
func credentials() []string { return []string{"ANTHROPIC_API_KEY", "CLAUDE_CODE_OAUTH_TOKEN"} }

// Environ returns the environment of a session: exactly the sealed names, in
// their sealed order. A missing value, a value without a sealed name, and a
// name that must never reach a session are errors.
func Environ(l harness.Launch, values map[string]string) ([]string, error) {
	var errs []error
	var out []string
	secrets := 0
	for _, name := range l.Env {
		value, ok := values[name]
		secret := slices.Contains(credentials(), name)
		switch {
		case forbidden(name):
			errs = append(errs, fmt.Errorf("%s must never reach a session", name))
		case strings.Contains(value, "\x00"):
			errs = append(errs, fmt.Errorf("%s holds a NUL byte", name))
		case ok:
			out = append(out, name+"="+value)
		case !secret:
			errs = append(errs, fmt.Errorf("%s has no value", name))
		}
		if secret && ok {
			secrets++
		}
	}
	if secrets > 1 {
		errs = append(errs, fmt.Errorf("%s both have a value", strings.Join(credentials(), " and ")))
	}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		if !slices.Contains(l.Env, name) {
			errs = append(errs, fmt.Errorf("%s is not in the launch profile", name))
		}
	}
	if err := errors.Join(errs...); err != nil {
		return nil, fmt.Errorf("session environment: %w", err)
	}
	return out, nil
}

// forbidden names would tell a session that it is watched, or hand it a key of
// the user's.
func forbidden(name string) bool {
	if slices.Contains(credentials(), name) {
		return false
	}
	for _, prefix := range []string{"CLAUDECODE", "GIT_", "AWS_"} {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	return name == "" || strings.Contains(name, "=") || name == "SSH_AUTH_SOCK" || name == "IS_SANDBOX" ||
		strings.HasSuffix(name, "_TOKEN")
}
