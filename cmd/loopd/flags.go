package main

import "github.com/spf13/cobra"

// The flags that several verbs have, each with one meaning.

func flagJSON(cmd *cobra.Command, p *bool) {
	cmd.Flags().BoolVar(p, "json", false, "print JSON")
}

func flagState(cmd *cobra.Command, p *string) {
	cmd.Flags().StringVar(p, "state", "", "state `directory`, instead of the plugin's in this directory")
}

func flagParallel(cmd *cobra.Command, p *int) {
	cmd.Flags().IntVar(p, "parallel", 0, "sessions side by side; 0 for the setting")
}

func flagProfile(cmd *cobra.Command, p *string, empty string) {
	cmd.Flags().StringVar(p, "profile", "", "rule for keeping: fast, strict, certified, scout; empty for "+empty)
}

func flagAcross(cmd *cobra.Command, p *bool) {
	cmd.Flags().BoolVar(p, "across", false, "compare although the instruments differ")
}

func flagComment(cmd *cobra.Command, p *bool) {
	cmd.Flags().BoolVar(p, "comment", false, "print a comment for a pull request")
}

func flagReveal(cmd *cobra.Command, p *bool) {
	cmd.Flags().BoolVar(p, "reveal", false, "show task text on the pages")
}

func flagSessions(cmd *cobra.Command, p *int) {
	cmd.Flags().IntVar(p, "sessions", 0, "budget of a new campaign, in sessions; 0 for the setting")
}

func flagSuite(cmd *cobra.Command, p *string, what string) {
	cmd.Flags().StringVar(p, "suite", "", what)
}

func flagSkill(cmd *cobra.Command, p *string, what string) {
	cmd.Flags().StringVar(p, "skill", "", what)
}

func flagReason(cmd *cobra.Command, p *string) {
	cmd.Flags().StringVar(p, "reason", "", "why, for the record")
}

func flagNoIsolation(cmd *cobra.Command, p *bool) {
	cmd.Flags().BoolVar(p, "i-accept-no-isolation", false, "go on where sessions cannot be isolated from this machine")
}
