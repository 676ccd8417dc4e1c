package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"loopd/internal/app"
	"loopd/internal/daemon"
	"loopd/internal/hint"
)

func newPause(e env) *cobra.Command {
	var now bool
	var reason string
	cmd := &cobra.Command{
		Use: "pause", Short: "start nothing more until resume", Args: noArgs,
		Long: "  loopd pause --reason \"guests\"\n  loopd pause --now --reason \"wrong model\"\n\nTells the loopd that runs here: sessions under way end and count, and nothing is\nstarted until \"loopd resume\". With --now sessions under way are ended and are void.",
		RunE: func(cmd *cobra.Command, _ []string) error {
			command := daemon.Pause
			if now {
				command = daemon.Halt
			}
			told, err := tell(cmd.Context(), e, command, reason)
			if err == nil && !told {
				err = hint.Usagef("loopd status", "pause: no loopd runs here")
			}
			return err
		},
	}
	cmd.Flags().BoolVar(&now, "now", false, "end the running sessions, too")
	flagReason(cmd, &reason)
	return cmd
}

// tell says a word to the loopd that runs for the plugin in this directory, and
// whether there is one.
func tell(ctx context.Context, e env, w daemon.Command, reason string) (bool, error) {
	l, err := loadConfig(e)
	if err != nil {
		return false, err
	}
	home, err := app.HomeOf(e.Env, l.Config)
	if err != nil {
		return false, err
	}
	done, err := daemon.Dial(home.Dir).Do(ctx, w, reason)
	if _, nobody := errors.AsType[*daemon.NotRunningError](err); nobody {
		return false, nil
	}
	if refused, ok := errors.AsType[*daemon.RefusedError](err); ok {
		return true, hint.Usagef("loopd status", "%w", refused)
	}
	if err != nil {
		return true, err
	}
	_, err = fmt.Fprintf(e.stdout, "%s\n\nNext: loopd status\n", done)
	return true, err
}

// liveOf is what the loopd that runs for a state directory does, nil where none
// runs.
func liveOf(ctx context.Context, dir string) (*daemon.Live, error) {
	l, err := daemon.Dial(dir).Live(ctx)
	if _, nobody := errors.AsType[*daemon.NotRunningError](err); nobody {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return &l, nil
}

// liveLine is what a loopd that runs does, in one line.
func liveLine(l daemon.Live) string {
	text := string(l.Phase)
	switch {
	case l.Phase == daemon.Running && len(l.Sessions) > 0:
		text = "running " + app.Plural(len(l.Sessions))
	case l.Phase == daemon.Stopping && len(l.Sessions) > 0:
		return "stopping when " + app.Plural(len(l.Sessions)) + " under way end"
	case l.Phase == daemon.Stopping:
		return "stopping"
	case l.Phase == daemon.Idle:
		text = "idle"
	case l.Why != "":
		text += ": " + l.Why
	}
	switch {
	case l.Phase == daemon.Waiting && !l.Until.IsZero():
		text += "; going on at " + timeText(l.Now, l.Until)
	case l.Phase == daemon.Idle:
		text += "; the next window opens " + timeText(l.Now, l.Until)
	case l.Window != nil && !l.Window.End.IsZero():
		text += "; the window ends " + timeText(l.Now, l.Window.End)
	}
	return text
}
