package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"loopd/harness"
	"loopd/internal/app"
	"loopd/internal/campaign"
	"loopd/internal/config"
	"loopd/internal/hint"
	"loopd/internal/setup"
	"loopd/internal/store"
	"loopd/loop"
	"loopd/report"
)

// loadConfig reads the settings of the plugin in the working directory.
func loadConfig(e env) (config.Loaded, error) {
	l, err := config.Load(e.Dir, "", e.Environ)
	if _, missing := errors.AsType[*config.NotFoundError](err); err != nil && !missing {
		return l, hint.New(hint.Usage, err, "loopd config")
	}
	return l, err
}

// openSuite opens the suite of the settings.
func openSuite(ctx context.Context, h campaign.Home, c config.Config) (campaign.Sealed, error) {
	if c.Suite == config.Bundled {
		name, err := bundledSuite(c)
		if err != nil {
			return campaign.Sealed{}, err
		}
		if err := h.Make(); err != nil {
			return campaign.Sealed{}, err
		}
		return h.OpenBundledSuite(ctx, name)
	}
	sealed, err := campaign.OpenSuite(c.Suite)
	if errors.Is(err, os.ErrNotExist) {
		return sealed, hint.New(hint.Usage, err, "loopd init")
	}
	return sealed, err
}

// bundledSuite is the suite inside the program for the plugin of the settings.
func bundledSuite(c config.Config) (string, error) {
	root, err := os.OpenRoot(c.Plugin)
	if err != nil {
		return "", fmt.Errorf("open suite: %w", err)
	}
	defer root.Close()
	plugin, err := setup.PluginName(root.FS())
	if err != nil {
		return "", hint.Usagef("loopd init", "open suite: %s: %w", c.Plugin, err)
	}
	name, ok, err := campaign.BundledFor(plugin)
	if err == nil && !ok {
		err = hint.Usagef("loopd init --own-suite", "open suite: no bundled suite measures the plugin %s; it needs a suite of its own", plugin)
	}
	return name, err
}

// knownSuite refuses a name that no bundled suite has; verb is the command that
// was given it.
func knownSuite(verb, name string) error {
	suites, err := campaign.BundledSuites()
	if err == nil && !slices.Contains(suites, name) {
		err = hint.Usagef(verb+" --suite "+campaign.BundledSuite, "no bundled suite %q; there are: %s", name, strings.Join(suites, ", "))
	}
	return err
}

// review opens the ledger to look at it, also while a campaign runs.
type review struct {
	home   campaign.Home
	states []*loop.State
}

// openReview replays the ledger of the plugin in the working directory, or of
// the state directory given.
func openReview(ctx context.Context, e env, state string) (review, error) {
	h, err := reviewHome(e, state)
	if err != nil {
		return review{}, err
	}
	l, err := store.OpenReadOnly(h.Dir)
	if _, missing := errors.AsType[*store.MissingError](err); missing {
		return review{home: h}, nil
	}
	if err != nil {
		return review{}, err
	}
	defer l.Close()
	states, err := campaign.Replay(ctx, l)
	return review{home: h, states: states}, err
}

// newest is the newest campaign, nil for none.
func (r review) newest() *loop.State {
	if len(r.states) == 0 {
		return nil
	}
	return r.states[len(r.states)-1]
}

// current returns the newest campaign, or an error that says how to get one.
func (r review) current() (*loop.State, error) {
	if len(r.states) == 0 {
		return nil, hint.Usagef("loopd plan", "no campaign yet in %s", r.home.Dir)
	}
	return r.newest(), nil
}

// nextAfter is the command that goes on from where a campaign stands. A halted
// one is over: only a new seal ends it, so that a new one can begin.
func nextAfter(s *loop.State) string {
	switch {
	case s.Halted != nil && s.Ended == nil && byDrift(s.Halted.Reason):
		return `loopd freeze --reason "why it changed"`
	case s.Halted != nil && s.Ended == nil && s.Halted.Class == harness.Auth:
		return "loopd login && loopd resume"
	case s.Halted != nil && s.Ended == nil && s.Halted.Class == harness.JudgeError:
		return "loopd doctor --judge && loopd resume"
	case s.Halted != nil && s.Ended == nil && s.Halted.Lifts():
		return "loopd resume"
	case s.Halted != nil && s.Ended == nil:
		return `loopd freeze --reason "end the halted campaign"`
	case s.Ended == nil:
		return "loopd run"
	case s.Ended.Outcome == loop.NothingMeasured:
		return "loopd doctor"
	case report.Confirmed(s):
		return "loopd adopt"
	}
	return "loopd report"
}

// nextAfterReport is the same for one who has just read the report.
func nextAfterReport(s *loop.State) string {
	if next := nextAfter(s); next != "loopd report" {
		return next
	}
	return "loopd candidate add --patch FILE"
}

// stop turns how a campaign stopped into an error with its exit code; nil when
// it ended with something measured.
func stop(s *loop.State) error {
	switch {
	case s.Halted != nil && byDrift(s.Halted.Reason):
		return hint.New(hint.Drift, driftError(s.Halted.Reason, s.Halted.Deltas), nextAfter(s))
	case s.Halted != nil:
		return hint.New(hint.Failed, fmt.Errorf("halted: %s", s.Halted.Reason), nextAfter(s))
	case s.Paused != nil:
		reason, _ := app.PauseReason(s)
		return hint.New(hint.Paused, fmt.Errorf("paused: %s", reason), nextAfter(s))
	case s.Ended != nil && s.Ended.Outcome == loop.NothingMeasured:
		return hint.New(hint.Failed, fmt.Errorf("nothing measured: %s", s.Ended.Why), nextAfter(s))
	}
	return nil
}
