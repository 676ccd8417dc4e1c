// Package app assembles the machine that runs sessions: agent, isolation, gateway,
// judge, gate and campaign. It is the only assembly: run, serve, rehearse, scenario
// run, selftest and doctor's probe differ in what they hand to it, not in how it is
// put together.
//
// It decides nothing about wording. Everything that may refuse does so before the
// first file is written to the state directory.
package app

import (
	"fmt"
	"io"
	"path/filepath"

	"loopd/internal/admission"
	"loopd/internal/campaign"
	"loopd/internal/config"
)

// Env is what of its surroundings the assembly may use.
type Env struct {
	Dir     string // working directory
	Environ []string
	Warn    io.Writer // where the user is told of what stops nothing
	Machine admission.Machine
}

// Getenv looks a variable up in the environment given.
func (e Env) Getenv(name string) string {
	for _, kv := range e.Environ {
		if len(kv) > len(name) && kv[len(name)] == '=' && kv[:len(name)] == name {
			return kv[len(name)+1:]
		}
	}
	return ""
}

// Path is a path of the command line, seen from the working directory.
func (e Env) Path(name string) string {
	if filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(e.Dir, name)
}

// warnf tells the user a line.
func (e Env) warnf(format string, args ...any) {
	if e.Warn != nil {
		fmt.Fprintf(e.Warn, "loopd: "+format+"\n", args...)
	}
}

// HomeOf is the state directory of the settings.
func HomeOf(e Env, c config.Config) (campaign.Home, error) {
	if c.State != "" {
		return campaign.Home{Dir: c.State}, nil
	}
	return campaign.DefaultHome(c.Plugin, e.Getenv)
}
