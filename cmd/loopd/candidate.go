package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"loopd/candidates"
	"loopd/internal/app"
	"loopd/internal/campaign"
	"loopd/internal/daemon"
	"loopd/internal/hint"
	"loopd/report"
)

func newCandidate(e env) *cobra.Command {
	cmd := &cobra.Command{
		Use: "candidate", Short: "add, list, show or drop candidate wordings", Args: noArgs,
		Long: "  loopd candidate add --patch idea.patch --rationale \"say when, not what\"\n  loopd candidate list",
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newCandidateAdd(e), newCandidateList(e), newCandidateShow(e), newCandidateDrop(e))
	return cmd
}

type addOptions struct {
	patch     string
	files     []string
	rationale string
	author    string
	targets   []string
	simplify  bool
	state     string
}

func newCandidateAdd(e env) *cobra.Command {
	var o addOptions
	cmd := &cobra.Command{
		Use: "add", Short: "put a candidate into the queue", Args: noArgs,
		Long: "  loopd candidate add --patch idea.patch --rationale \"say when, not what\"\n  loopd candidate add --file skills/find/SKILL.md=draft.md --target R1/sonnet\n\nA patch is a unified diff of the Surface (SKILL.md files and the hook note), - reads\nit from standard input. What the lint of the night would reject is refused at once.\nThe next run takes the candidate from the spool, and lints it again.",
		RunE: func(cmd *cobra.Command, _ []string) error { return runCandidateAdd(cmd.Context(), e, o) },
	}
	f := cmd.Flags()
	f.StringVar(&o.patch, "patch", "", "`file` with a unified diff, - for standard input")
	f.StringArrayVar(&o.files, "file", nil, "`PATH=FILE`: the whole new text of a file of the Surface")
	f.StringVar(&o.rationale, "rationale", "", "why it should help, for the report")
	f.StringVar(&o.author, "author", "", "who wrote it, for the report")
	f.StringArrayVar(&o.targets, "target", nil, "a `cell` it is meant for, such as R1/sonnet")
	f.BoolVar(&o.simplify, "simplify", false, "it only gets shorter: keep it for not being worse")
	flagState(cmd, &o.state)
	return cmd
}

func runCandidateAdd(ctx context.Context, e env, o addOptions) error {
	home, err := reviewHome(e, o.state)
	if err != nil {
		return err
	}
	if err := o.checkTargets(ctx, e); err != nil {
		return err
	}
	d := campaign.Dropped{Rationale: o.rationale, Author: o.author, Targets: o.targets, Simplify: o.simplify, Source: candidates.Person}
	if o.patch != "" {
		data, err := readArg(e, o.patch)
		if err != nil {
			return hint.New(hint.Usage, fmt.Errorf("add candidate: %w", err), "loopd candidate add --help")
		}
		d.Patch = string(data)
	}
	for _, pair := range o.files {
		path, file, ok := strings.Cut(pair, "=")
		if !ok {
			return hint.Usagef("loopd candidate add --help", "add candidate: --file %q is not PATH=FILE", pair)
		}
		data, err := readArg(e, file)
		if err != nil {
			return hint.New(hint.Usage, fmt.Errorf("add candidate: %w", err), "loopd candidate add --help")
		}
		if d.Files == nil {
			d.Files = make(map[string]string)
		}
		d.Files[path] = string(data)
	}
	if name, err := alreadyWaiting(home, d); err != nil || name != "" {
		if err == nil {
			_, err = fmt.Fprintf(e.stdout, "already waiting as %s\n\nNext: loopd plan\n", name)
		}
		return err
	}
	if err := o.lint(ctx, e, home, d); err != nil {
		return err
	}
	if err := home.Make(); err != nil {
		return err
	}
	name, err := home.Drop(d)
	if err != nil {
		return hint.New(hint.Usage, err, "loopd candidate add --help")
	}
	when, next := "", "loopd plan"
	if done, err := daemon.Dial(home.Dir).Do(ctx, daemon.Look, ""); err == nil {
		when, next = done+"\n", "loopd status"
	}
	_, err = fmt.Fprintf(e.stdout, "queued %s\n%s%s\nNext: %s\n", name, o.aimLine(ctx, e, d), when, next)
	return err
}

// alreadyWaiting is the name under which the same candidate is in the spool, empty
// for none. One with the same wording and other words about it is refused: it
// would take the first one's place.
func alreadyWaiting(home campaign.Home, d campaign.Dropped) (string, error) {
	c, err := d.Candidate()
	if err != nil {
		return "", nil // said where it is added
	}
	spooled, err := home.Spooled()
	if err != nil {
		return "", err
	}
	for _, f := range spooled {
		if f.Err != nil || candidates.Digest(f.Candidate.Edits) != candidates.Digest(c.Edits) {
			continue
		}
		w := f.Candidate
		if w.Rationale == c.Rationale && w.Author == c.Author && w.Simplify == c.Simplify && slices.Equal(w.Targets, c.Targets) {
			return f.Name, nil
		}
		return "", hint.Usagef("loopd candidate drop "+f.Name, "add candidate: this wording waits as %s, with another rationale, author or target", f.Name)
	}
	return "", nil
}

// checkTargets refuses a target that is no cell of the metric now, rather than
// at night. With a state directory of its own the plugin is not known.
func (o addOptions) checkTargets(ctx context.Context, e env) error {
	if len(o.targets) == 0 || o.state != "" {
		return nil
	}
	p, err := newPlanner(ctx, e)
	if err != nil {
		return err
	}
	var cells []string
	for _, c := range p.grid.Objective {
		cells = append(cells, c.String())
	}
	for _, t := range o.targets {
		if t != candidates.AllCells && !slices.Contains(cells, t) {
			return hint.Usagef("loopd candidate add --help", "add candidate: target %q is no cell of the metric; cells are %s, or all", t, strings.Join(cells, ", "))
		}
	}
	return nil
}

// lint refuses what the night would reject, now. It looks at the suite as it lies
// there: the seal is the night's to verify. With a state directory of its own
// the plugin is not known.
func (o addOptions) lint(ctx context.Context, e env, home campaign.Home, d campaign.Dropped) error {
	if o.state != "" {
		return nil
	}
	c, err := d.Candidate()
	if err != nil {
		return hint.New(hint.Usage, fmt.Errorf("add candidate: %w", err), "loopd candidate add --help")
	}
	w, err := openWorkbench(ctx, e)
	if err != nil {
		return fmt.Errorf("add candidate: %w", err)
	}
	defer w.close()
	inside, err := campaign.InsidePlugin(w.cfg.Plugin, w.dir)
	if err != nil {
		return err
	}
	r, err := openReview(ctx, e, home.Dir)
	if err != nil {
		return err
	}
	fore := campaign.Forelint{Home: home, Plugin: w.cfg.Plugin, Suite: w.subject.Suite, Inside: inside}
	if len(r.states) > 0 {
		fore.Current = r.states[len(r.states)-1]
	}
	found, err := fore.Lint(c)
	if err != nil || len(found) == 0 {
		return err
	}
	return hint.Usagef("loopd candidate add --help", "add candidate: refused by the lint: %s", lintText(found))
}

// lintText names findings by class and place. Of an echo no more than how many
// there are is said: a place would be a way to ask about held-out text.
func lintText(found []candidates.Finding) string {
	var out []string
	echoes := 0
	for _, f := range found {
		switch {
		case f.Class == candidates.Echo:
			echoes++
		case f.Path == "":
			out = append(out, fmt.Sprintf("%s (%s)", f.Class, f.Detail))
		default:
			out = append(out, fmt.Sprintf("%s in %s (%s)", f.Class, f.Path, f.Detail))
		}
	}
	if echoes > 0 {
		out = append(out, fmt.Sprintf("%s (%d)", candidates.Echo, echoes))
	}
	return strings.Join(out, "; ")
}

// maxArg bounds what is read from a file or standard input.
const maxArg = 1 << 20

func readArg(e env, name string) ([]byte, error) {
	if name == "-" {
		return io.ReadAll(io.LimitReader(e.stdin, maxArg))
	}
	name = e.Path(name)
	info, err := os.Stat(name)
	if err != nil {
		return nil, err
	}
	if info.Size() > maxArg {
		return nil, fmt.Errorf("%s: %d bytes, at most %d", name, info.Size(), maxArg)
	}
	return os.ReadFile(name)
}

// reviewHome is the state directory without opening anything in it.
func reviewHome(e env, state string) (campaign.Home, error) {
	if state != "" {
		return campaign.Home{Dir: e.Path(state)}, nil
	}
	l, err := loadConfig(e)
	if err != nil {
		return campaign.Home{}, err
	}
	return app.HomeOf(e.Env, l.Config)
}

// listed is one candidate of the JSON list.
type listed struct {
	report.Summary
	Spool string `json:"spool,omitempty"` // name in the spool, while it waits there
}

// candidateList is the JSON of the verb.
type candidateList struct {
	Candidates []listed `json:"candidates"`
}

func newCandidateList(e env) *cobra.Command {
	var asJSON bool
	var state string
	cmd := &cobra.Command{
		Use: "list", Short: "all candidates and their verdicts", Args: noArgs,
		Long: "  loopd candidate list\n\nPrints the candidates of the campaign under way or the last one, with their\nverdicts, and those that wait in the spool under the name \"drop\" takes.",
		RunE: func(cmd *cobra.Command, _ []string) error {
			return runCandidateList(cmd.Context(), e, state, asJSON)
		},
	}
	flagJSON(cmd, &asJSON)
	flagState(cmd, &state)
	return cmd
}

func runCandidateList(ctx context.Context, e env, state string, asJSON bool) error {
	r, err := openReview(ctx, e, state)
	if err != nil {
		return err
	}
	list := []listed{}
	if s := r.newest(); s != nil {
		for _, s := range report.Build(s).Candidates {
			list = append(list, listed{Summary: s})
		}
	}
	spooled, err := r.home.Spooled()
	if err != nil {
		return err
	}
	for _, f := range spooled {
		one := listed{Spool: f.Name, Summary: report.Summary{ID: "-", Source: string(f.Candidate.Source), Rationale: f.Candidate.Rationale}}
		if f.Err != nil {
			one.Rationale = "cannot be read: " + f.Err.Error()
		}
		list = append(list, one)
	}
	if asJSON {
		return printJSON(e.stdout, candidateList{list})
	}
	if len(list) == 0 {
		_, err := fmt.Fprintln(e.stdout, "No candidates.\n\nNext: loopd candidate add --patch FILE")
		return err
	}
	summaries := make([]report.Summary, len(list))
	for i, l := range list {
		summaries[i] = l.Summary
		if l.Spool != "" {
			summaries[i].ID = l.Spool
		}
	}
	if err := printCandidates(e, summaries); err != nil {
		return err
	}
	next := "loopd plan"
	if s := r.newest(); s != nil && (s.Ended == nil || len(spooled) == 0) {
		next = nextAfter(s)
	}
	_, err = fmt.Fprintf(e.stdout, "\nNext: %s\n", withState(next, state))
	return err
}

func newCandidateShow(e env) *cobra.Command {
	var asJSON bool
	var state string
	cmd := &cobra.Command{
		Use: "show ID", Short: "the report of one candidate", Args: oneArg("candidate"),
		Long: "  loopd candidate show c003\n\nThe same as \"loopd report c003\".",
		RunE: func(cmd *cobra.Command, args []string) error {
			return runReport(cmd.Context(), e, state, args[0], asJSON)
		},
	}
	flagJSON(cmd, &asJSON)
	flagState(cmd, &state)
	return cmd
}

func newCandidateDrop(e env) *cobra.Command {
	var state string
	cmd := &cobra.Command{
		Use: "drop NAME", Short: "take a waiting candidate out of the spool", Args: oneArg("name"),
		Long: "  loopd candidate drop 3f9c01a2b7d4\n\nTakes the candidate out before a campaign has taken it up. \"loopd candidate list\"\nhas its name.",
		RunE: func(_ *cobra.Command, args []string) error {
			home, err := reviewHome(e, state)
			if err != nil {
				return err
			}
			if err := home.Undrop(args[0]); err != nil {
				return hint.New(hint.Usage, err, "loopd candidate list")
			}
			_, err = fmt.Fprintf(e.stdout, "dropped %s\n\nNext: loopd candidate list\n", args[0])
			return err
		},
	}
	flagState(cmd, &state)
	return cmd
}
