package main

import (
	"log/slog"

	"github.com/spf13/cobra"

	"loopd/internal/hint"
)

const longHelp = `loopd improves the wording of a coding-agent plugin overnight: it tries one
wording after another on a grid of headless agent sessions, keeps or rejects
each by sequential statistics, and leaves branches and a report to review.

  loopd rehearse              a whole campaign, simulated: no account, no key
  loopd init                  settings for the plugin in this directory
  loopd freeze                seal what measures
  loopd run --sessions 400    open or continue a campaign
  loopd report                what came of it

Exit codes: 0 done; 1 loopd failed or nothing was measured; 2 usage or
configuration; 3 the measured thing failed; 4 halted by drift; 5 paused;
130 interrupted.`

// The groups of the help.
const (
	groupNight  = "night"
	groupReview = "review"
	groupSuite  = "suite"
	groupTools  = "tools"
)

// newRoot builds the command tree.
func newRoot(e env) *cobra.Command {
	root := &cobra.Command{
		Use: "loopd", Short: "improves the wording of a coding-agent plugin overnight", Long: longHelp,
		SilenceErrors: true, SilenceUsage: true, Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return runHome(e) },
	}
	root.AddGroup(
		&cobra.Group{ID: groupNight, Title: "Night:"}, &cobra.Group{ID: groupReview, Title: "Review:"},
		&cobra.Group{ID: groupSuite, Title: "Suite:"}, &cobra.Group{ID: groupTools, Title: "Tools:"},
	)
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return hint.Usagef(cmd.CommandPath()+" --help", "%w", err)
	})
	root.SetCompletionCommandGroupID(groupTools)
	root.SetHelpCommandGroupID(groupTools)
	for group, verbs := range map[string][]*cobra.Command{
		groupNight:  {newPlan(e), newRun(e), newServe(e), newStatus(e), newPause(e), newResume(e), newHalt(e), newFinish(e), newRehearse(e)},
		groupReview: {newReport(e), newAdopt(e), newDiff(e), newCandidate(e), newExport(e), newRescore(e), newTranscript(e)},
		groupSuite: {
			newCell(e), newInit(e), newFreeze(e), newGraph(e), newEval(e), newCapture(e), newJudge(e), newLogin(e), newSandbox(e), newScenario(e), newSchema(e), newScore(e), newSelftest(e),
		},
		groupTools: {newDoctor(e), newVerify(e), newPrune(e), newConfig(e), newSimulate(e), newVersion(e), newMan(e)},
	} {
		for _, v := range verbs {
			v.GroupID = group
			root.AddCommand(v)
		}
	}
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	for _, c := range root.Commands() {
		switch c.Name() {
		case "help":
			c.Short = "help about any command"
		case "completion":
			c.Short = "the completion script of a shell"
		}
	}
	fitHelp(root)
	return root
}

// atMostOne takes one argument or none.
func atMostOne(what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) > 1 {
			return hint.Usagef(cmd.CommandPath()+" --help", "%s takes one %s at most, got %d", cmd.CommandPath(), what, len(args))
		}
		return nil
	}
}

// noArgs refuses arguments; a mistyped verb comes here too.
func noArgs(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	if cmd.HasSubCommands() {
		command := cmd.CommandPath() + " --help"
		cmd.SuggestionsMinimumDistance = 2
		if s := cmd.SuggestionsFor(args[0]); len(s) > 0 {
			command = cmd.CommandPath() + " " + s[0]
		}
		return hint.Usagef(command, "unknown command %q", args[0])
	}
	return hint.Usagef(cmd.CommandPath()+" --help", "%s takes no argument, got %q", cmd.CommandPath(), args[0])
}

// oneArg wants exactly one argument, named for the message.
func oneArg(name string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) == 1 {
			return nil
		}
		return hint.Usagef(cmd.CommandPath()+" --help", "%s wants one %s, got %d", cmd.CommandPath(), name, len(args))
	}
}

// logger is the talk on standard error.
func logger(e env) *slog.Logger {
	return slog.New(slog.NewTextHandler(e.stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
}
