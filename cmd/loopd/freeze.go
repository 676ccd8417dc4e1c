package main

import (
	"context"
	"fmt"
	"log/slog"
	"os"
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
		Long: "  loopd freeze\n  loopd freeze --reason \"W2 asked for the wrong file\"\n\nWrites MANIFEST.mtree into the suite. Sealing again needs a reason, ends the\ncampaign under way, and numbers of two seals are never compared.",
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
	if err := parses(dir); err != nil {
		return &codedError{exitUsage, err, freezeHint(reason)}
	}
	old, readErr := frozen.ReadManifest(dir)
	if readErr == nil && reason == "" {
		return usageError(`loopd freeze --reason "why it changed"`, "freeze %s: sealed already as %s; sealing again needs a reason", dir, old.Digest().Short())
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
	return printSeal(e, dir, m, reason, asJSON)
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
func parses(dir string) error {
	loaded, err := frozen.Load(dir)
	if err != nil {
		return err
	}
	if _, err := harness.ParseSuite(loaded.FS()); err != nil {
		return fmt.Errorf("%s: %w", dir, err)
	}
	return nil
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

func printSeal(e env, dir string, m frozen.Manifest, reason string, asJSON bool) error {
	files := 0
	for _, entry := range m.Entries() {
		if entry.Type == frozen.TypeFile {
			files++
		}
	}
	if asJSON {
		return printJSON(e.stdout, struct {
			Suite  string        `json:"suite"`
			Digest frozen.Digest `json:"digest"`
			Files  int           `json:"files"`
			Reason string        `json:"reason"`
		}{dir, m.Digest(), files, reason})
	}
	_, err := fmt.Fprintf(e.stdout, "sealed %s: %d files, digest %s (%s)\n\nNext: loopd plan\n", dir, files, m.Digest().Short(), reason)
	return err
}
