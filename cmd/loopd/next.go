package main

import (
	"context"
	"errors"
	"path/filepath"
	"slices"

	"loopd/frozen"
	"loopd/internal/campaign"
	"loopd/internal/config"
	"loopd/internal/hint"
	"loopd/internal/setup"
)

// nextStep is the command for the first thing that is missing before a campaign
// can begin. It reads files and starts nothing.
func nextStep(ctx context.Context, e env, cfg config.Config, home campaign.Home) string {
	if next := suiteStep(ctx, e, cfg, home); next != "" {
		return next
	}
	if _, err := config.FindCredential(e.Getenv); err != nil {
		return "loopd login"
	}
	if waiting, err := waitingIn(ctx, e, home); err == nil && waiting == 0 {
		return addCandidate
	}
	return "loopd plan"
}

// addCandidate is the command that queues a wording.
const addCandidate = "loopd candidate add --patch FILE"

// suiteStep is the command for what the suite lacks, empty for nothing.
func suiteStep(ctx context.Context, e env, cfg config.Config, home campaign.Home) string {
	if cfg.Suite == config.Bundled {
		// Laid out and sealed when it is first used.
		_, err := campaign.OpenSuite(home.Suite())
		if not, ok := errors.AsType[*campaign.NotSealedError](err); ok {
			return not.Hint()
		}
		return ""
	}
	w, err := openWorkbench(ctx, e)
	if err != nil {
		if command := hint.Of(err); command != "" {
			return command
		}
		return "loopd doctor"
	}
	defer w.close()
	return w.lacks()
}

// lacks is the command for what an own suite lacks before it can be run on.
func (w workbench) lacks() string {
	if len(w.subject.IDs()) == 0 {
		return w.firstScenario()
	}
	if len(w.openScenarios()) > 0 {
		return "loopd scenario lint"
	}
	old, err := frozen.ReadManifest(w.dir)
	switch {
	case err != nil:
		return "loopd freeze"
	case old.Digest() != w.loaded.Digest():
		return sealAgain
	}
	return ""
}

// openScenarios are the scenarios that keep the suite from being sealed: not to
// be read, drafts, or still to be filled in.
func (w workbench) openScenarios() []string {
	var out []string
	for _, f := range w.subject.Faults {
		if f.Scenario != "" {
			out = append(out, f.Scenario)
		}
	}
	for _, sc := range w.subject.Suite.Scenarios {
		if len(setup.FillIns(sc)) > 0 {
			out = append(out, sc.ID)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// firstScenario is the command that makes a suite's first scenario, or the
// project it needs before that.
func (w workbench) firstScenario() string {
	fixture, skill := "", "SKILL"
	for name := range w.subject.Suite.Fixtures {
		if fixture == "" || name < fixture {
			fixture = name
		}
	}
	if skills := setup.SkillNames(w.subject.Plugin); len(skills) > 0 {
		skill = skills[0]
	}
	if fixture == "" {
		return makeFixture(shownPath(w.from, w.dir), "project")
	}
	return "loopd scenario new W1 --skill " + quoted(skill) + " --fixture " + quoted(fixture)
}

// makeFixture is the command that makes the directory of a project.
func makeFixture(dir, name string) string {
	return "mkdir -p " + quoted(filepath.Join(dir, "fixtures", name))
}

// shownPath is a path as one types it in a directory: short where it lies below.
func shownPath(from, path string) string {
	if rel, err := filepath.Rel(from, path); err == nil && filepath.IsLocal(rel) {
		return rel
	}
	return path
}

// waitingIn counts the candidates that a campaign would take up: in the spool,
// and those of the campaign under way without a verdict.
func waitingIn(ctx context.Context, e env, home campaign.Home) (int, error) {
	spooled, err := home.Spooled()
	if err != nil {
		return 0, err
	}
	n := 0
	for _, s := range spooled {
		if s.Err == nil {
			n++
		}
	}
	under, err := underWay(ctx, e, home)
	if err == nil && under != nil {
		n += len(under.Waiting())
	}
	return n, err
}
