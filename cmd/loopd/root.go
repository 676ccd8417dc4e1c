package main

import (
	"fmt"
	"log/slog"
	"strings"

	"github.com/spf13/cobra"

	"loopd/internal/hint"
)

// rootHelp is the first screen: what a newcomer needs on top, then all verbs.
const rootHelp = `loopd improves the wording of a coding-agent plugin overnight.

  loopd rehearse              a whole campaign, simulated: no account, no key
  loopd init                  settings for the plugin in this directory
  loopd run --sessions 400    open or continue a campaign
  loopd report                what came of it
  loopd adopt                 take a promoted wording over

Night    run serve status pause resume plan rehearse
Review   report diff adopt candidate verify
Suite    init freeze scenario selftest eval
Machine  login doctor config prune version

"loopd VERB --help" shows a verb with an example; --version and --help are flags
of every one. Results go to standard output, talk to standard error.

Exit codes: 0 done; 1 loopd failed or nothing was measured; 2 usage or
configuration; 3 the measured thing failed; 4 halted because a sealed file
changed; 5 paused; 130 interrupted.
`

// moved names the verbs of older releases, and what does the same now.
var moved = map[string]string{
	"cell": "scenario run", "sandbox": "scenario lay", "score": "scenario score", "transcript": "scenario transcript", "export": "report export",
	"rescore": "verify rescore", "simulate": "plan --simulate", "graph": "freeze graph", "capture": "eval capture", "judge": "doctor --judge", "schema": "config schema", "finish": "run --finish", "halt": "pause --now",
}

// newRoot builds the command tree.
func newRoot(e env) *cobra.Command {
	root := &cobra.Command{
		Use: "loopd", Short: "improves the wording of a coding-agent plugin overnight", Long: rootHelp, Version: versionText(),
		SilenceErrors: true, SilenceUsage: true, Args: noArgs, CompletionOptions: cobra.CompletionOptions{HiddenDefaultCmd: true},
		RunE: func(cmd *cobra.Command, _ []string) error { return runHome(e) },
	}
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return hint.Usagef(cmd.CommandPath()+" --help", "%w", err)
	})
	root.SetVersionTemplate("loopd {{.Version}}\n")
	root.AddCommand(
		newRun(e), newServe(e), newStatus(e), newPause(e), newResume(e), newPlan(e), newRehearse(e),
		newReport(e), newDiff(e), newAdopt(e), newCandidate(e), newVerify(e),
		newInit(e), newFreeze(e), newScenario(e), newSelftest(e), newEval(e),
		newLogin(e), newDoctor(e), newConfig(e), newPrune(e), newVersion(e),
		unlisted(newMan(e)),
	)
	for was, is := range moved {
		root.AddCommand(movedTo(root, was, is))
	}
	fitHelp(root)
	ofVerb := root.HelpFunc()
	root.SetHelpFunc(func(cmd *cobra.Command, args []string) {
		if cmd != root {
			ofVerb(cmd, args)
			return
		}
		fmt.Fprint(cmd.OutOrStdout(), rootHelp)
	})
	return root
}

func unlisted(cmd *cobra.Command) *cobra.Command {
	cmd.Hidden = true
	return cmd
}

// movedTo answers to the name that a verb had in older releases: with the command to
// type now, or with its help where an argument is no longer taken.
func movedTo(root *cobra.Command, was, is string) *cobra.Command {
	return &cobra.Command{
		Use: was, Hidden: true, DisableFlagParsing: true,
		RunE: func(_ *cobra.Command, args []string) error {
			command := "loopd " + is
			for _, a := range args {
				command += " " + quoted(a)
			}
			now, rest, err := root.Find(append(strings.Fields(is), args...))
			if err == nil {
				err = now.ParseFlags(rest)
			}
			if err != nil {
				command = now.CommandPath() + " --help"
			}
			return hint.Usagef(command, "\"loopd %s\" is \"loopd %s\" now", was, is)
		},
	}
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
