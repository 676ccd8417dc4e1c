package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"loopd/frozen"
	"loopd/harness"
	"loopd/internal/campaign"
	"loopd/internal/config"
)

func newFreeze(e env) *cobra.Command {
	var reason string
	var asJSON bool
	cmd := &cobra.Command{
		Use: "freeze", Short: "seal what measures; ends a campaign under way", Args: noArgs,
		Long: "  loopd freeze\n  loopd freeze --reason \"W2 asked for the wrong file\"\n\nWrites MANIFEST.mtree into the suite, and says what was sealed. Sealing a changed\nsuite again needs a reason, ends the campaign under way, and numbers of two seals\nare never compared.",
		RunE: func(cmd *cobra.Command, _ []string) error { return runFreeze(cmd.Context(), e, reason, asJSON) },
	}
	cmd.Flags().StringVar(&reason, "reason", "", "why the suite is sealed again")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON document")
	return cmd
}

func runFreeze(ctx context.Context, e env, reason string, asJSON bool) error {
	l, err := loadConfig(e)
	if err != nil {
		return err
	}
	home, err := homeOf(e, l.Config)
	if err != nil {
		return err
	}
	dir := l.Config.Suite
	if dir == config.Bundled {
		dir = home.Suite()
		if err := layBundled(home, l.Config); err != nil {
			return err
		}
	}
	suite, digest, err := parses(dir)
	if err != nil {
		return &codedError{exitUsage, err, freezeHint(reason)}
	}
	old, readErr := frozen.ReadManifest(dir)
	switch {
	case readErr == nil && reason == "" && old.Digest() == digest:
		return tellSeal(e, sealOf(dir, old, suite, "unchanged"), asJSON)
	case readErr == nil && reason == "":
		return usageError(`loopd freeze --reason "why it changed"`, "freeze %s: sealed already as %s; sealing again needs a reason", dir, old.Digest().Short())
	case !errors.Is(readErr, fs.ErrNotExist) && reason == "":
		return &codedError{exitUsage, fmt.Errorf("freeze %s: sealed already, and the seal cannot be read: %w", dir, readErr), `loopd freeze --reason "why it changed"`}
	}
	if reason == "" {
		reason = "first seal"
	}
	if err := endCampaign(ctx, e, l.Config, home, "sealed again: "+reason); err != nil {
		return err
	}
	m, err := frozen.Seal(ctx, dir)
	if err != nil {
		return &codedError{exitUsage, err, freezeHint(reason)}
	}
	s := sealOf(dir, m, suite, reason)
	if s.Findings, err = staticFindings(ctx, e); err != nil {
		fmt.Fprintln(e.stderr, "loopd: the scenarios were not linted:", err)
	}
	return tellSeal(e, s, asJSON)
}

// layBundled lays the bundled suite out anew when it is not there.
func layBundled(home campaign.Home, c config.Config) error {
	if _, err := os.Stat(home.Suite()); err == nil {
		return nil
	}
	name, err := bundledSuite(c)
	if err != nil {
		return err
	}
	if err := home.Make(); err != nil {
		return err
	}
	return campaign.WriteBundledSuite(name, home.Suite())
}

// parses refuses to seal a suite that no campaign could run on.
func parses(dir string) (harness.Suite, frozen.Digest, error) {
	loaded, err := frozen.Load(dir)
	if err != nil {
		return harness.Suite{}, "", err
	}
	suite, err := harness.ParseSuite(loaded.FS())
	if err != nil {
		return suite, "", fmt.Errorf("%s: %w", dir, err)
	}
	return suite, loaded.Digest(), nil
}

// freezeHint is the command to give again once the suite is mended.
func freezeHint(reason string) string {
	if reason == "" {
		return "loopd freeze"
	}
	return fmt.Sprintf("loopd freeze --reason %q", reason)
}

// endCampaign closes the campaign under way, if there is one: what measures is
// about to change.
func endCampaign(ctx context.Context, e env, cfg config.Config, home campaign.Home, why string) error {
	r, err := openReview(ctx, e, home.Dir)
	if err != nil || len(r.states) == 0 || r.states[len(r.states)-1].Ended != nil {
		return err
	}
	return campaign.EndUnderWay(ctx, home, why, time.Now, slog.New(slog.DiscardHandler))
}

// sealed is the JSON of the verb. Cells are by role: what a campaign would have
// on its grid where every code graph has been built.
type sealed struct {
	Suite     string               `json:"suite"`
	Digest    frozen.Digest        `json:"digest"`
	Files     int                  `json:"files"`
	Reason    string               `json:"reason"` // "unchanged" when nothing was written
	Scenarios map[harness.Role]int `json:"scenarios"`
	Fixtures  []string             `json:"fixtures"`
	Tiers     []string             `json:"tiers"`
	Cells     map[harness.Role]int `json:"cells"`
	Findings  int                  `json:"findings"` // of the lint, as far as no run is needed
}

// roles are those of a campaign's grid, then practice.
var roles = []harness.Role{harness.Objective, harness.Guard, harness.Control, harness.Reserve, harness.Practice}

func sealOf(dir string, m frozen.Manifest, suite harness.Suite, reason string) sealed {
	s := sealed{
		Suite: dir, Digest: m.Digest(), Reason: reason, Scenarios: make(map[harness.Role]int), Cells: make(map[harness.Role]int),
		Fixtures: slices.Sorted(maps.Keys(suite.Fixtures)),
	}
	for _, entry := range m.Entries() {
		if entry.Type == frozen.TypeFile {
			s.Files++
		}
	}
	for _, t := range suite.Launch.Tiers {
		s.Tiers = append(s.Tiers, t.Name)
	}
	for _, sc := range suite.Scenarios {
		s.Scenarios[sc.Role]++
		if sc.Role != harness.Practice {
			s.Cells[sc.Role] += len(suite.Launch.Tiers)
		}
	}
	return s
}

func tellSeal(e env, s sealed, asJSON bool) error {
	if s.Findings > 0 {
		fmt.Fprintf(e.stderr, "loopd: the lint has %s; see loopd scenario lint\n", findings(s.Findings))
	}
	if asJSON {
		return printJSON(e.stdout, s)
	}
	if s.Reason == "unchanged" {
		fmt.Fprintf(e.stdout, "unchanged, digest %s\n", s.Digest.Short())
	} else {
		fmt.Fprintf(e.stdout, "sealed %s: %d files, digest %s (%s)\n", s.Suite, s.Files, s.Digest.Short(), s.Reason)
	}
	_, err := fmt.Fprintf(e.stdout, "scenarios: %s\nfixtures: %s; tiers: %s\ncells: %s\n\nNext: loopd plan\n",
		byRole(s.Scenarios), strings.Join(s.Fixtures, ", "), strings.Join(s.Tiers, ", "), byRole(s.Cells))
	return err
}

// byRole says how many there are of each role that has any.
func byRole(counts map[harness.Role]int) string {
	var out []string
	for _, role := range roles {
		if n := counts[role]; n > 0 {
			out = append(out, fmt.Sprintf("%d %s", n, role))
		}
	}
	return strings.Join(out, ", ")
}
