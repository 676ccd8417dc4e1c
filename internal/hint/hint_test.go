package hint_test

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"testing"

	"loopd/internal/hint"
)

type hinted struct{ command string }

func (hinted) Error() string  { return "hinted" }
func (h hinted) Hint() string { return h.command }
func (hinted) Exit() int      { return hint.Drift }

func TestExitOf(t *testing.T) {
	t.Parallel()
	plain := errors.New("plain")
	for name, test := range map[string]struct {
		err     error
		exit    int
		command string
	}{
		"none":                   {nil, hint.Done, ""},
		"plain":                  {plain, hint.Failed, ""},
		"usage":                  {hint.Usagef("loopd help", "no %q", "verb"), hint.Usage, "loopd help"},
		"wrapped":                {fmt.Errorf("start: %w", hint.New(hint.Paused, plain, "loopd resume")), hint.Paused, "loopd resume"},
		"the outermost wins":     {hint.New(hint.Measured, hinted{"loopd freeze"}, "loopd report"), hint.Measured, "loopd report"},
		"a hint from within":     {hint.New(hint.Measured, hinted{"loopd freeze"}, ""), hint.Measured, "loopd freeze"},
		"an error type":          {fmt.Errorf("open: %w", hinted{"loopd freeze"}), hint.Drift, "loopd freeze"},
		"joined":                 {errors.Join(plain, hinted{"loopd freeze"}), hint.Drift, "loopd freeze"},
		"interrupted":            {fmt.Errorf("run: %w", context.Canceled), hint.Interrupted, ""},
		"usage while interupted": {hint.Usagef("loopd help", "wrong: %w", context.Canceled), hint.Usage, "loopd help"},
		"a program's own code":   {fmt.Errorf("build: %w", exec.Command("sh", "-c", "exit 7").Run()), hint.Failed, ""},
		"a program not there":    {fmt.Errorf("start: %w", exec.ErrNotFound), hint.Usage, ""},
	} {
		if got := hint.ExitOf(test.err); got != test.exit {
			t.Errorf("%s: got exit %d, want %d", name, got, test.exit)
		}
		if got := hint.Of(test.err); got != test.command {
			t.Errorf("%s: got hint %q, want %q", name, got, test.command)
		}
	}
}
