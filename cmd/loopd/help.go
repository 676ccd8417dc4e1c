package main

import (
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"loopd/report"
)

// fitHelp keeps the help of every verb within the width.
func fitHelp(root *cobra.Command) {
	root.SetUsageTemplate(strings.ReplaceAll(root.UsageTemplate(), ".FlagUsages ", ".FlagUsagesWrapped "+strconv.Itoa(width)+" "))
	var fit func(*cobra.Command)
	fit = func(cmd *cobra.Command) {
		cmd.Long = reflow(cmd.Long)
		for _, c := range cmd.Commands() {
			fit(c)
		}
	}
	fit(root)
}

// reflow breaks the paragraphs of a text anew where a line of them is too long.
// Indented lines are examples, to be copied, and stay as they are.
func reflow(text string) string {
	var out []string
	for _, paragraph := range strings.Split(text, "\n\n") {
		long := false
		for line := range strings.Lines(paragraph) {
			long = long || report.Width(strings.TrimSuffix(line, "\n")) > width
		}
		if long && !strings.HasPrefix(paragraph, " ") {
			paragraph = report.Wrap(paragraph, "", width)
		}
		out = append(out, paragraph)
	}
	return strings.Join(out, "\n\n")
}
