package main

import (
	"fmt"
	"strings"

	"loopd/internal/hint"
)

// errorText is an error as it is told: a line a finding.
func errorText(err error, page int) string {
	var b strings.Builder
	for line := range strings.Lines(err.Error()) {
		b.WriteString(fitted("loopd: "+strings.TrimRight(line, "\n"), "loopd:   ", page))
	}
	return b.String()
}

// finish tells the user of an error once and returns the exit code.
func finish(e env, err error) int {
	if err != nil {
		fmt.Fprint(e.stderr, errorText(err, pageOf(e.stderr)))
	}
	if command := hint.Of(err); command != "" {
		fmt.Fprintln(e.stderr, "loopd: hint: "+command)
	}
	return int(hint.ExitOf(err))
}
