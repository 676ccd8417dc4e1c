package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"loopd/internal/config"
	"loopd/internal/hint"
	"loopd/internal/rehearsal"
	"loopd/loop"
)

// nightResult is the JSON of a rehearsed night.
type nightResult struct {
	rehearsal.Result
	Restarts int                    `json:"restarts"`
	Night    []rehearsal.NightFault `json:"night"`
	Digest   string                 `json:"digest,omitempty"` // file
}

// windowLasts is how long a window of a rehearsed night lasts.
const windowLasts = 8 * time.Hour

// sessionsAWindow is how many sessions fit into one window of a rehearsed night,
// so that a campaign needs a second one.
const sessionsAWindow = 200

// rehearseNight runs the night in a process of its own, as a service manager does,
// and starts it again when it is killed.
func rehearseNight(ctx context.Context, e env, o rehearseOptions) error {
	dir, keep, err := o.directory()
	if err != nil {
		return err
	}
	dir = e.Path(dir)
	if !keep {
		defer os.RemoveAll(dir)
	}
	began := time.Now()
	var res nightResult
	for {
		out, err := startNight(ctx, e, o, dir)
		if exit, ok := errors.AsType[*exec.ExitError](err); ok && exit.Sys().(syscall.WaitStatus).Signaled() && ctx.Err() == nil && res.Restarts < maxRestarts {
			res.Restarts++
			o.resume = dir
			continue
		}
		if err != nil {
			return fmt.Errorf("rehearse a night: %w", err)
		}
		restarts := res.Restarts
		if err := json.Unmarshal(out, &res); err != nil {
			return fmt.Errorf("rehearse a night: %w", err)
		}
		res.Restarts = restarts
		break
	}
	res.WallSeconds = float64(int(time.Since(began).Seconds()))
	if o.json {
		err = printJSON(e.stdout, res)
	} else {
		err = printNight(e, res, keep, dir)
	}
	if err != nil {
		return err
	}
	return judgeNight(res, o)
}

// maxRestarts bounds a night that dies again and again.
const maxRestarts = 5

// startNight runs the night's own process to its end.
func startNight(ctx context.Context, e env, o rehearseOptions, dir string) ([]byte, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	o.dir = dir
	j, err := o.job(e)
	if err != nil {
		return nil, err
	}
	text, err := json.Marshal(j)
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, self, "rehearse", "night")
	var out, said bytes.Buffer
	cmd.Args[0], cmd.Dir, cmd.Env, cmd.Stdin, cmd.Stdout, cmd.Stderr = "loopd", e.Dir, e.Environ, bytes.NewReader(text), &out, io.MultiWriter(&said, e.stderr)
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = 30 * time.Second
	err = cmd.Run()
	return out.Bytes(), err
}

// newNight is the process of a rehearsed night, which rehearse --daemon starts and
// starts again; it reads its job from standard input.
func newNight(e env) *cobra.Command {
	return &cobra.Command{
		Use: "night", Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return runNight(cmd.Context(), e) },
	}
}

func runNight(ctx context.Context, e env) error {
	var j rehearsalJob
	if err := json.NewDecoder(e.stdin).Decode(&j); err != nil {
		return hint.Usagef("loopd rehearse --daemon", "rehearse a night: read the job: %w", err)
	}
	options, err := j.options(ctx, e)
	if err != nil {
		return err
	}
	log, err := os.OpenFile(filepath.Join(filepath.Dir(options.Dir), filepath.Base(options.Dir)+".log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer log.Close()
	options.Log = slog.New(slog.NewJSONHandler(log, nil))
	cfg := config.Default()
	cfg.ServeStart, cfg.ServeZone = "30 2 * * *", "Europe/Berlin"
	cfg.ServeUntil = "10:30"
	windows, err := windowsOf(cfg)
	if err != nil {
		return err
	}
	res, faults, err := rehearsal.RunNight(ctx, rehearsal.NightOptions{
		Options: options, Windows: windows, Session: windowLasts / sessionsAWindow, Guard: guarded(options.Log),
	})
	if err != nil {
		return err
	}
	return printJSON(e.stdout, nightResult{Result: res, Night: faults, Digest: rehearsal.DigestFile(res.Dir)})
}

func printNight(e env, r nightResult, keep bool, dir string) error {
	if err := printRehearsal(e, r.Result); err != nil {
		return err
	}
	fmt.Fprintf(e.stdout, "\nThe night, by a clock that sessions and waits move; loopd was started %d times:\n", r.Restarts+1)
	for _, f := range r.Night {
		mark := "ok"
		if !f.Right {
			mark = "WRONG"
		}
		fmt.Fprintf(e.stdout, "\n%s: %s\n%s%s", f.Fault, mark, wrap("  planted: "+f.Planted, "    "), wrap("  done: "+f.Done, "    "))
	}
	if keep {
		return printKept(e, dir)
	}
	return nil
}

// judgeNight adds to the judgement of a rehearsal what was planted in its night.
func judgeNight(res nightResult, o rehearseOptions) error {
	if err := judgeRehearsal(res.Result, o); err != nil {
		return err
	}
	var wrong []string
	for _, f := range res.Night {
		if !f.Right {
			wrong = append(wrong, f.Fault)
		}
	}
	if len(wrong) > 0 || res.Outcome == loop.Outcome("") {
		return hint.New(hint.Measured, fmt.Errorf("the night went wrong at: %s", strings.Join(wrong, ", ")), "")
	}
	return nil
}
