package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"loopd/frozen"
	"loopd/harness"
	"loopd/internal/app"
	"loopd/internal/campaign"
	"loopd/internal/config"
	"loopd/internal/hint"
	"loopd/internal/setup"
	"loopd/loop"
)

type freezeOptions struct {
	reason string
	end    bool // end the campaign under way although nothing changed
	json   bool
}

func newFreeze(e env) *cobra.Command {
	var o freezeOptions
	cmd := &cobra.Command{
		Use: "freeze", Short: "seal what measures; ends a campaign under way", Args: noArgs,
		Long: "  loopd freeze\n  loopd freeze --reason \"W2 asked for the wrong file\"\n\nWrites MANIFEST.mtree into the suite, and says what was sealed. Sealing a changed\nsuite again needs a reason, ends the campaign under way, and numbers of two seals\nare never compared. A suite with a scenario still to be filled in is refused.\nWhere nothing changed the seal holds, and the campaign goes on; --end ends it all\nthe same, so that one with another agent, judge or login can begin.",
		RunE: func(cmd *cobra.Command, _ []string) error { return runFreeze(cmd.Context(), e, o) },
	}
	f := cmd.Flags()
	flagReason(cmd, &o.reason)
	f.BoolVar(&o.end, "end", false, "end the campaign under way although nothing changed")
	flagJSON(cmd, &o.json)
	cmd.AddCommand(newGraph(e))
	return cmd
}

func runFreeze(ctx context.Context, e env, o freezeOptions) error {
	if o.end && o.reason == "" {
		return hint.Usagef(`loopd freeze --end --reason "why it ends"`, "freeze: --end needs a reason")
	}
	l, err := loadConfig(e)
	if err != nil {
		return err
	}
	home, err := app.HomeOf(e.Env, l.Config)
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
		return hint.New(hint.Usage, err, mendHint(ctx, e, dir, err))
	}
	if err := filledIn(dir, suite); err != nil {
		return err
	}
	under, err := underWay(ctx, e, home)
	if err != nil {
		return err
	}
	old, readErr := frozen.ReadManifest(dir)
	switch {
	case readErr == nil && old.Digest() == digest && !o.ends(under):
		s := sealOf(dir, old, suite, unchanged)
		s.under = under
		return tellSeal(ctx, e, s, o.json)
	case readErr == nil && o.reason == "":
		return hint.Usagef(sealAgain, "freeze %s: sealed already as %s; sealing again needs a reason", dir, old.Digest().Short())
	case !errors.Is(readErr, fs.ErrNotExist) && o.reason == "":
		return hint.New(hint.Usage, fmt.Errorf("freeze %s: sealed already, and the seal cannot be read: %w", dir, readErr), sealAgain)
	}
	return sealNow(ctx, e, home, dir, suite, under, o)
}

// sealAgain is the command that seals a suite that changed.
const sealAgain = `loopd freeze --reason "why it changed"`

// ends says whether a suite that did not change is sealed again for the sake of
// the campaign under way: to end one that nothing else ends, or because a person
// asks for it.
func (o freezeOptions) ends(under *loop.State) bool {
	if under == nil || o.reason == "" {
		return false
	}
	return o.end || strings.HasPrefix(nextAfter(under), "loopd freeze")
}

func sealNow(ctx context.Context, e env, home campaign.Home, dir string, suite harness.Suite, under *loop.State, o freezeOptions) error {
	if o.reason == "" {
		o.reason = "first seal"
	}
	if under != nil {
		// What measures is about to change.
		if err := campaign.EndUnderWay(ctx, home, "sealed again: "+o.reason, time.Now, slog.New(slog.DiscardHandler)); err != nil {
			return err
		}
	}
	m, err := frozen.Seal(ctx, dir)
	if err != nil {
		return hint.New(hint.Usage, err, mendHint(ctx, e, dir, err))
	}
	s := sealOf(dir, m, suite, o.reason)
	if under != nil {
		s.Ended = &ended{Campaign: under.Started.Campaign, Kept: len(under.Kept)}
	}
	return tellSeal(ctx, e, s, o.json)
}

// filledIn refuses a suite with a scenario that is still as a new one has it: it
// would be sealed, run and paid for, and no session could pass.
func filledIn(dir string, suite harness.Suite) error {
	var open []string
	for _, sc := range suite.Scenarios {
		if n := len(setup.FillIns(sc)); n > 0 {
			open = append(open, fmt.Sprintf("%s (%s)", sc.ID, counted(n, "place")))
		}
	}
	if len(open) == 0 {
		return nil
	}
	return hint.Usagef("loopd scenario lint", "freeze %s: still to be filled in: %s", dir, few(open))
}

// underWay is the campaign that has not ended, nil for none.
func underWay(ctx context.Context, e env, home campaign.Home) (*loop.State, error) {
	r, err := openReview(ctx, e, home.Dir)
	if err != nil || len(r.states) == 0 || r.states[len(r.states)-1].Ended != nil {
		return nil, err
	}
	return r.states[len(r.states)-1], nil
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

// mendHint is the command that shows or mends what keeps a suite from being
// sealed.
func mendHint(ctx context.Context, e env, dir string, err error) string {
	if _, statErr := os.Stat(dir); statErr != nil {
		return makeSuite
	}
	if refused, ok := errors.AsType[*frozen.RefusedError](err); ok {
		return "ls -ld " + quoted(shownPath(e.Dir, filepath.Join(dir, filepath.FromSlash(refused.Path))))
	}
	w, err := openWorkbench(ctx, e)
	if err != nil {
		return hint.Of(err)
	}
	defer w.close()
	if len(w.subject.IDs()) == 0 {
		return w.firstScenario()
	}
	return "loopd scenario lint"
}

// sealed is the JSON of the verb. Cells are by role: what a campaign would have
// on its grid where every code graph has been built.
type sealed struct {
	Suite     string               `json:"suite"`
	Digest    frozen.Digest        `json:"digest"`
	Files     int                  `json:"files"`
	Reason    string               `json:"reason"` // unchanged when nothing was written
	Scenarios map[harness.Role]int `json:"scenarios"`
	Fixtures  []string             `json:"fixtures"`
	Tiers     []string             `json:"tiers"`
	Cells     map[harness.Role]int `json:"cells"`
	Findings  int                  `json:"findings"` // of the lint, as far as no run is needed
	// Ended is the campaign that this seal ended, left out for none.
	Ended *ended `json:"ended,omitempty"`

	under *loop.State // what goes on where nothing was written, nil for none
}

// unchanged is the reason of a seal that holds.
const unchanged = "unchanged"

// ended is a campaign that a new seal ended, with how many candidates it kept.
type ended struct {
	Campaign string `json:"campaign"`
	Kept     int    `json:"kept"`
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

func tellSeal(ctx context.Context, e env, s sealed, asJSON bool) error {
	var err error
	if s.Findings, err = staticFindings(ctx, e); err != nil {
		fmt.Fprintln(e.stderr, "loopd: the scenarios were not linted:", err)
	}
	if s.Findings > 0 {
		fmt.Fprintf(e.stderr, "loopd: the lint has %s; see loopd scenario lint\n", findings(s.Findings))
	}
	if asJSON {
		return printJSON(e.stdout, s)
	}
	next := "loopd plan"
	if s.Reason == unchanged {
		fmt.Fprintf(e.stdout, "the seal holds, nothing changed: digest %s\n", s.Digest.Short())
	} else {
		fmt.Fprintf(e.stdout, "sealed %s:\n%s", s.Suite, wrap(fmt.Sprintf("%d files, digest %s (%s)", s.Files, s.Digest.Short(), s.Reason), "  "))
		next = "loopd selftest"
	}
	switch {
	case s.Ended != nil:
		fmt.Fprint(e.stdout, wrap(fmt.Sprintf("ends campaign %s, kept %d; its numbers are not compared with the next", s.Ended.Campaign, s.Ended.Kept), "  "))
	case s.under != nil:
		fmt.Fprintf(e.stdout, "campaign %s goes on\n", s.under.Started.Campaign)
		next = nextAfter(s.under)
	}
	_, err = fmt.Fprintf(e.stdout, "scenarios: %s\nfixtures: %s; tiers: %s\ncells: %s\n\nNext: %s\n",
		byRole(s.Scenarios), strings.Join(s.Fixtures, ", "), strings.Join(s.Tiers, ", "), byRole(s.Cells), next)
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
