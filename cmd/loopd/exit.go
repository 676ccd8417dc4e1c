package main

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"

	"loopd/internal/campaign"
	"loopd/internal/config"
	"loopd/internal/gitrepo"
	"loopd/internal/ledger"
	"loopd/internal/rehearsal"
	"loopd/loop"
)

// The exit codes, as the help lists them.
const (
	exitDone        = 0
	exitFailed      = 1 // loopd failed, or nothing was measured
	exitUsage       = 2 // usage or configuration
	exitMeasured    = 3 // the measured thing failed
	exitDrift       = 4 // halted by drift
	exitPaused      = 5
	exitInterrupted = 130
)

// codedError carries the exit code and the command that helps.
type codedError struct {
	code int
	err  error
	hint string
}

func (e *codedError) Error() string { return e.err.Error() }
func (e *codedError) Unwrap() error { return e.err }
func (e *codedError) Hint() string  { return e.hint }

// usageError says that the command or its settings are wrong.
func usageError(hint, format string, args ...any) error {
	return &codedError{exitUsage, fmt.Errorf(format, args...), hint}
}

// exitCode decides the exit code of an error, in this one place.
func exitCode(err error) int {
	if coded, ok := errors.AsType[*codedError](err); ok {
		return coded.code
	}
	if errors.Is(err, context.Canceled) || errors.Is(err, loop.ErrDrained) {
		return exitInterrupted
	}
	if sealed, ok := errors.AsType[*campaign.NotSealedError](err); ok {
		if sealed.Drift != nil {
			return exitDrift
		}
		return exitUsage
	}
	if isConfiguration(err) {
		return exitUsage
	}
	return exitFailed
}

// isConfiguration says whether the user's settings or repository are the cause.
func isConfiguration(err error) bool {
	_, noFile := errors.AsType[*config.NotFoundError](err)
	_, noRepo := errors.AsType[*gitrepo.NotRepositoryError](err)
	_, unsupported := errors.AsType[*gitrepo.UnsupportedError](err)
	_, instrument := errors.AsType[*campaign.InstrumentError](err)
	_, notEmpty := errors.AsType[*rehearsal.NotEmptyError](err)
	_, open := errors.AsType[*ledger.AccessError](err)
	return open || noFile || noRepo || unsupported || instrument || notEmpty || errors.Is(err, exec.ErrNotFound)
}

// hintOf finds the command to type, if the error knows one.
func hintOf(err error) string {
	type hinter interface{ Hint() string }
	var h hinter
	if errors.As(err, &h) && h.Hint() != "" {
		return h.Hint()
	}
	if _, ok := errors.AsType[*config.NotFoundError](err); ok {
		return "loopd init"
	}
	if _, ok := errors.AsType[*gitrepo.NotRepositoryError](err); ok {
		return "git init"
	}
	if errors.Is(err, ledger.ErrSuspect) {
		return "loopd verify"
	}
	return ""
}

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
	if err == nil {
		return exitDone
	}
	fmt.Fprint(e.stderr, errorText(err, pageOf(e.stderr)))
	if hint := hintOf(err); hint != "" {
		fmt.Fprintln(e.stderr, "loopd: hint: "+hint)
	}
	return exitCode(err)
}
