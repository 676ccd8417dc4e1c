package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"loopd/internal/campaign"
	"loopd/internal/config"
	"loopd/internal/git"
	"loopd/internal/hint"
	"loopd/internal/web"
	"loopd/loop"
	"loopd/report"
)

type adoptOptions struct {
	campaign    string
	branch      string
	unconfirmed bool
	veto        string // why it is not wanted
	state       string
	json        bool
}

func newAdopt(e env) *cobra.Command {
	var o adoptOptions
	cmd := &cobra.Command{
		Use: "adopt [campaign]", Short: "take over the wording a campaign promoted", Args: atMostOne("campaign"),
		Long: `  loopd adopt
  loopd adopt --branch better-wording

Prints what changed from start to champion and the git commands that bring it
into your branch; it changes nothing. With --branch it writes one new branch with
one commit on the start, and nothing else: your files, index, HEAD and settings
stay as they are, a branch that exists is refused, and the ledger says that you
took it over. What the gate did not confirm wants --unconfirmed. With --veto the
record says that you do not want it; no later night counts it as promoted. Exits
3 when there is nothing to adopt.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 1 {
				o.campaign = args[0]
			}
			if cmd.Flags().Changed("veto") {
				return runVeto(cmd.Context(), e, o)
			}
			return runAdopt(cmd.Context(), e, o)
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.branch, "branch", "", "write this new branch with one commit")
	f.BoolVar(&o.unconfirmed, "unconfirmed", false, "adopt what was kept although the gate did not confirm it")
	f.StringVar(&o.veto, "veto", "", "record why what was promoted is not wanted")
	flagState(cmd, &o.state)
	flagJSON(cmd, &o.json)
	return cmd
}

// adopted is the JSON of the verb.
type adopted struct {
	Campaign  string       `json:"campaign"`
	Outcome   loop.Outcome `json:"outcome"`
	Confirmed bool         `json:"confirmed"`
	Simulated bool         `json:"simulated"`
	E         *float64     `json:"e_value"`
	Headline  string       `json:"headline"`
	campaign.Adoption
	Commands []string `json:"commands"`          // each brings the wording in
	Written  *written `json:"written,omitempty"` // with --branch
	Next     string   `json:"next"`
}

// written is the branch that was made.
type written struct {
	Branch string `json:"branch"`
	Commit string `json:"commit"`
	// Unrecorded is why the ledger has no event of it, empty where it has.
	Unrecorded string `json:"unrecorded,omitempty"`
}

func runAdopt(ctx context.Context, e env, o adoptOptions) error {
	out, err := adopt(ctx, e, o)
	if err != nil {
		return err
	}
	if o.json {
		return printJSON(e.stdout, out)
	}
	return printAdoption(e, out)
}

// adopt says what taking over comes to, and writes the branch where one is named.
func adopt(ctx context.Context, e env, o adoptOptions) (adopted, error) {
	r, err := openReview(ctx, e, o.state)
	if err != nil {
		return adopted{}, err
	}
	s, err := r.named(o.campaign)
	if err != nil {
		return adopted{}, err
	}
	if err := adoptable(s, o); err != nil {
		return adopted{}, err
	}
	plugin, err := pluginOf(e)
	if err != nil {
		return adopted{}, err
	}
	a, err := campaign.ReadAdoption(r.home, plugin, s)
	if err != nil {
		return adopted{}, err
	}
	out := adopted{
		Campaign: s.Started.Campaign, Outcome: s.Ended.Outcome, Confirmed: report.Confirmed(s), Simulated: s.Started.Simulated, E: s.Ended.EValue,
		Headline: report.Build(s).Headline, Adoption: a, Commands: takeOver(a),
	}
	out.Next = "loopd adopt" + again(o) + " --branch adopt-" + out.Campaign
	if o.branch != "" {
		commit, err := a.Write(ctx, s, o.branch)
		if err != nil {
			return adopted{}, notWritten(o, err)
		}
		out.Written = &written{Branch: o.branch, Commit: commit}
		event := loop.Adopted{Campaign: out.Campaign, Branch: o.branch, Commit: commit}
		if err := campaign.RecordAdoption(ctx, r.home, event, time.Now); err != nil {
			out.Written.Unrecorded = err.Error()
		}
		out.Next = "git merge " + quoted(o.branch)
	} else if a.Adopted {
		out.Next = "loopd candidate add --patch FILE"
	}
	return out, nil
}

// adoptFromPage is the verb at the word of a page.
func adoptFromPage(ctx context.Context, e env, o adoptOptions) (web.Adoption, error) {
	a, err := adopt(ctx, e, o)
	if err != nil {
		return web.Adoption{}, withHint(err)
	}
	out := web.Adoption{Adoption: a.Adoption, Campaign: a.Campaign, Headline: a.Headline, Confirmed: a.Confirmed, Commands: a.Commands, Next: a.Next}
	out.Command = "loopd adopt" + again(o) + " --branch adopt-" + a.Campaign
	if a.Written != nil {
		out.Written = a.Written.Commit
	}
	return out, nil
}

// withHint says in one line what went wrong and what to type.
func withHint(err error) error {
	if command := hint.Of(err); command != "" {
		return fmt.Errorf("%w; %s", err, command)
	}
	return err
}

// named finds a campaign by its name, the newest for none.
func (r review) named(name string) (*loop.State, error) {
	s, err := r.current()
	if err != nil || name == "" {
		return s, err
	}
	var known []string
	for _, s := range r.states {
		if s.Started.Campaign == name {
			return s, nil
		}
		known = append(known, s.Started.Campaign)
	}
	return nil, hint.Usagef("loopd adopt", "no campaign %q, known are %s", name, strings.Join(known, ", "))
}

// pluginOf is the plugin of the settings, or where there are none the working
// directory.
func pluginOf(e env) (string, error) {
	l, err := loadConfig(e)
	if _, missing := errors.AsType[*config.NotFoundError](err); missing {
		return e.Dir, nil
	}
	return l.Config.Plugin, err
}

// again repeats what the user gave beside the branch.
func again(o adoptOptions) string {
	out := ""
	if o.campaign != "" {
		out += " " + o.campaign
	}
	if o.unconfirmed {
		out += " --unconfirmed"
	}
	if o.state != "" {
		out += " --state " + quoted(o.state)
	}
	return out
}

// adoptable says why a campaign has no wording to take over. In doubt there is
// none: what was taken back is not granted by asking for it.
func adoptable(s *loop.State, o adoptOptions) error {
	name := s.Started.Campaign
	refuse := func(command, format string, args ...any) error {
		return hint.New(hint.Measured, fmt.Errorf("adopt %s: "+format, append([]any{name}, args...)...), command)
	}
	if s.Ended == nil {
		return hint.Usagef(nextAfter(s), "adopt %s: the campaign is not over, and nothing is promoted before its gate", name)
	}
	i := slices.IndexFunc(s.Kept, s.Withdrawn)
	switch {
	case s.Vetoed != nil:
		return refuse("loopd report", "it was vetoed: %s", s.Vetoed.Reason)
	case s.Withdrawn(loop.SubjectGate):
		return refuse("loopd report", "the promotion was withdrawn by a rescore: %s", s.Rescored[len(s.Rescored)-1].Reason)
	case s.Ended.Outcome == loop.Promoted:
		return nil
	case len(s.Kept) == 0:
		return refuse("loopd report", "nothing was promoted: %s", s.Ended.Why)
	case i >= 0:
		return refuse("loopd report", "the keep of %s was withdrawn by a rescore: %s", s.Kept[i], s.Rescored[len(s.Rescored)-1].Reason)
	case !o.unconfirmed:
		o.unconfirmed = true
		return refuse("loopd adopt"+again(o), "the gate did not confirm it: %s", s.Ended.Why)
	}
	return nil
}

// takeOver lists the commands that bring the champion into the branch that is
// checked out. Where loopd's branch was deleted it is fetched first.
func takeOver(a campaign.Adoption) []string {
	first := ""
	if !a.Here {
		first = fmt.Sprintf("git fetch %s +%s%s:%s%s && ", quoted(a.Private), git.Branches, a.Branch, git.Branches, a.Branch)
	}
	return []string{first + "git merge " + a.Branch, first + fmt.Sprintf("git cherry-pick %.12s..%s", a.Start, a.Branch)}
}

// quoted writes a word of a command line for a shell.
func quoted(word string) string {
	const plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/._-+:@%,="
	if word != "" && strings.Trim(word, plain) == "" {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

// notWritten turns why a branch could not be made into what to type instead.
func notWritten(o adoptOptions, err error) error {
	if _, taken := errors.AsType[*git.ConflictError](err); taken {
		return hint.Usagef("loopd adopt"+again(o)+" --branch "+quoted(o.branch+"-2"), "adopt: the branch %s exists", o.branch)
	}
	_, bad := errors.AsType[*git.BranchNameError](err)
	_, out := errors.AsType[*git.CheckedOutError](err)
	if bad || out {
		return hint.Usagef("loopd adopt"+again(o)+" --branch better-wording", "adopt: %w", err)
	}
	return err
}

func printAdoption(e env, a adopted) error {
	var b strings.Builder
	fmt.Fprintf(&b, "Campaign %s: %s\n", a.Campaign, a.Headline)
	if a.Simulated {
		b.WriteString("simulated: the model is a program\n")
	}
	if a.Written != nil {
		fmt.Fprintf(&b, "\nwrote branch %s: one commit, %.12s, on %.12s\n", a.Written.Branch, a.Written.Commit, a.Start)
		if why := a.Written.Unrecorded; why != "" {
			fmt.Fprintf(&b, "The ledger does not say so: %s.\nThe commit itself names the campaign.\n", why)
		}
	} else {
		fmt.Fprintf(&b, "\n%s\n%s", differs(a.Adoption), a.Diff)
	}
	b.WriteString("\n" + stands(a))
	if !a.Raised {
		fmt.Fprintf(&b, "Raise \"version\" in %s%s:\ninstalled copies serve the old wording until it changes.\n", a.Manifest, versionNow(a.Version))
	}
	fmt.Fprintf(&b, "\nNext: %s\n", a.Next)
	_, err := fmt.Fprint(e.stdout, b.String())
	return err
}

func versionNow(v string) string {
	if v == "" {
		return ""
	}
	return " (now " + v + ")"
}

func differs(a campaign.Adoption) string {
	what := "1 file differs"
	if n := len(a.Files); n > 1 {
		what = fmt.Sprintf("%d files differ", n)
	}
	return fmt.Sprintf("%s, from the start %.12s to the champion %.12s:\n", what, a.Start, a.Champion)
}

// stands says how the user's repository stands to the champion, and what to
// type there.
func stands(a adopted) string {
	var b strings.Builder
	on := a.On
	if on == "" {
		on = "HEAD"
	}
	switch {
	case a.Adopted:
		return on + " has this wording.\n\n"
	case a.Head != a.Start:
		fmt.Fprintf(&b, "%s is not where the campaign began: it is at %.12s, the start is %.12s.\n", on, a.Head, a.Start)
		if both := common(a.Moved, a.Files); len(both) > 0 {
			fmt.Fprintf(&b, "Commits there touch what the champion changes, so that a merge makes wording\nthat was not measured:\n  %s\n", strings.Join(both, "\n  "))
		} else if len(a.Moved) > 0 {
			fmt.Fprintf(&b, "Other files of the plugin differ there, so that a merge makes a plugin that was\nnot measured:\n  %s\n", strings.Join(a.Moved, "\n  "))
		}
		b.WriteString("\n")
	}
	if a.Written != nil {
		return b.String()
	}
	b.WriteString("To adopt it, type one of these in your repository:\n\n")
	for _, c := range a.Commands {
		b.WriteString("  " + c + "\n")
	}
	b.WriteString("  " + a.Next + "\n\nThe last writes one new branch with one commit and changes nothing else.\n")
	return b.String()
}

// common lists what is in both.
func common(a, b []string) []string {
	return slices.DeleteFunc(slices.Clone(a), func(s string) bool { return !slices.Contains(b, s) })
}
