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
	"strconv"
	"strings"
	"syscall"
	"time"

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
	args := []string{"rehearse", "--daemon", "--in-process", "--json", "--hours", strconv.Itoa(o.hours), "--parallel", strconv.Itoa(o.parallel)}
	if o.resume != "" {
		args = append(args, "--resume", dir)
	} else {
		args = append(args, "--dir", dir, "--seed", strconv.FormatUint(o.seed, 10), "--agent", o.agent, "--candidates", strconv.Itoa(o.candidates),
			"--sessions", strconv.Itoa(o.sessions), "--profile", o.profile, "--suite", o.suite)
		if o.claude != "" {
			args = append(args, "--claude", o.claude)
		}
		if len(o.kinds) > 0 {
			args = append(args, "--kinds", strings.Join(o.kinds, ","))
		}
	}
	cmd := exec.CommandContext(ctx, self, args...)
	var out, said bytes.Buffer
	cmd.Args[0], cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = "loopd", e.Dir, e.Environ, &out, io.MultiWriter(&said, e.stderr)
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = 30 * time.Second
	err = cmd.Run()
	return out.Bytes(), err
}

// nightInProcess is the night's own process.
func nightInProcess(ctx context.Context, e env, o rehearseOptions) error {
	options, err := o.options(ctx, e)
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
	cfg.ServeUntil = fmt.Sprintf("%02d:30", (2+o.hours)%24)
	windows, err := windowsOf(cfg)
	if err != nil {
		return err
	}
	long := time.Duration(o.hours) * time.Hour
	res, faults, err := rehearsal.RunNight(ctx, rehearsal.NightOptions{
		Options: options, Windows: windows, Session: long / sessionsAWindow, Guard: guarded(options.Log),
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
