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

func flagReason(cmd *cobra.Command, p *string) {
	cmd.Flags().StringVar(p, "reason", "", "why, for the record")
}

func flagNoIsolation(cmd *cobra.Command, p *bool) {
	cmd.Flags().BoolVar(p, "i-accept-no-isolation", false, "go on where sessions cannot be isolated from this machine")
}
