package campaign

import (
	"fmt"

	"loopd/candidates"
	"loopd/harness"
	"loopd/internal/git"
	"loopd/loop"
)

// lint looks at a candidate on top of the champion.
func (p *preparer) lint(champion string, c candidates.Candidate) ([]candidates.Finding, error) {
	tree, err := p.wordings.Tree(champion)
	if err != nil {
		return nil, err
	}
	seen, err := p.seen(candidates.NewSurface(bytesOf(tree), p.suite.Launch.Note.File))
	if err != nil {
		return nil, err
	}
	return LintOn(p.suite, tree, c, seen), nil
}

// Lint returns the findings for a candidate on top of a wording of the campaign
// under way. It records nothing.
func (c *Campaign) Lint(commit string, cand candidates.Candidate) ([]candidates.Finding, error) {
	return c.preparer(c.Current()).lint(commit, cand)
}

// LintOn looks at a candidate on top of a plugin's files. seen are the wordings
// tried so far.
func LintOn(suite harness.Suite, tree harness.Tree, c candidates.Candidate, seen map[string]string) []candidates.Finding {
	base := bytesOf(tree)
	surface := candidates.NewSurface(base, suite.Launch.Note.File)
	most := growthFree
	for _, name := range surface.Paths {
		most += len(base[name])
	}
	return candidates.Lint(candidates.LintInput{Surface: surface, Base: base, Candidate: c, Seen: seen, Echo: newLeaks(suite, tree).find, MaxGrowth: most})
}

// growthFree is by how many bytes a wording may grow beside twice its size: the
// note of a small plugin may become as long as the agent CLI takes it.
const growthFree = 16 << 10

// Forelint is what a candidate is linted with before it waits in the spool: the
// same rules as in the night, on the wording the night would lay it on.
type Forelint struct {
	Home   Home
	Plugin string // directory of the plugin
	Suite  harness.Suite
	// Inside lists paths below the plugin that no session sees.
	Inside []string
	// Current is the newest campaign, nil before the first.
	Current *loop.State
}

// Lint returns the findings for a candidate that has no id yet. It reads only,
// and needs no lock: a night under way goes on, and lints again.
func (f Forelint) Lint(c candidates.Candidate) ([]candidates.Finding, error) {
	if f.Current != nil && f.Current.Ended == nil {
		return f.onChampion(c)
	}
	_, tree, err := TreeAt(f.Plugin, f.Inside...)
	if err != nil {
		return nil, fmt.Errorf("lint candidate: %w", err)
	}
	surface := candidates.NewSurface(bytesOf(tree), f.Suite.Launch.Note.File)
	return LintOn(f.Suite, tree, c, map[string]string{surface.Digest(bytesOf(tree)): "the start"}), nil
}

func (f Forelint) onChampion(c candidates.Candidate) ([]candidates.Finding, error) {
	user, err := git.OpenUser(f.Plugin)
	if err != nil {
		return nil, fmt.Errorf("lint candidate: %w", err)
	}
	repo, err := git.OpenPrivate(f.Home.Repo())
	if err != nil {
		return nil, fmt.Errorf("lint candidate: %w", err)
	}
	wordings := &Wordings{repo: repo, subdir: user.Subdir(), skip: f.Inside, note: f.Suite.Launch.Note, trees: make(map[string]harness.Tree)}
	p := &preparer{wordings: wordings, suite: f.Suite, state: f.Current}
	return p.lint(f.Current.Champion, c)
}
