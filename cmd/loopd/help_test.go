package main

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"loopd/internal/app"
	"loopd/internal/testenv"
)

// What helps is read on a terminal of 80 columns.
func TestHelpFits(t *testing.T) {
	t.Parallel()
	root := newRoot(env{Env: app.Env{Dir: t.TempDir()}})
	verbs := 0
	var look func(*cobra.Command)
	look = func(cmd *cobra.Command) {
		var out bytes.Buffer
		cmd.SetOut(&out)
		testenv.Must(t, cmd.Help())
		for line := range strings.Lines(out.String()) {
			if n := len([]rune(strings.TrimSuffix(line, "\n"))); n > width && !strings.HasPrefix(line, "  loopd ") {
				t.Errorf("%s: a line of %d characters: %s", cmd.CommandPath(), n, line)
			}
		}
		verbs++
		for _, c := range cmd.Commands() {
			look(c)
		}
	}
	look(root)
	if verbs < 20 {
		t.Errorf("%d verbs were looked at", verbs)
	}
}

// An error keeps within a terminal's width, word by word, and is one line in a
// pipe.
func TestErrorsFitATerminal(t *testing.T) {
	t.Parallel()
	err := errors.New(strings.Repeat("word ", 30) + "end\nsecond")
	if got := errorText(err, 0); strings.Count(got, "\n") != 2 {
		t.Errorf("in a pipe: %q", got)
	}
	got := errorText(err, width)
	for line := range strings.Lines(got) {
		if !strings.HasPrefix(line, "loopd: ") || len(line) > width+1 {
			t.Errorf("on a terminal: %q", line)
		}
	}
	if strings.Count(got, "\n") != 4 || strings.Count(got, "word") != 30 {
		t.Errorf("on a terminal: %q", got)
	}
}
