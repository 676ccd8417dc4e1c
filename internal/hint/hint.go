// Package hint gives an error what its reader needs: an exit code and a command
// to type. It decides both in one place. It prints nothing.
//
// Any error type takes part by a method: Exit() int for the code, Hint()
// string for the command. The outermost error that knows one wins.
package hint

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
)

// The exit codes of the program, as the help lists them.
const (
	Done        = 0
	Failed      = 1 // loopd failed, or nothing was measured
	Usage       = 2 // usage or configuration
	Measured    = 3 // the measured thing failed
	Drift       = 4 // halted because a sealed file changed
	Paused      = 5
	Interrupted = 130
)

// coded carries the exit code and the command that helps.
type coded struct {
	exit    int
	err     error
	command string
}

func (e *coded) Error() string { return e.err.Error() }
func (e *coded) Unwrap() error { return e.err }
func (e *coded) Hint() string  { return e.command }
func (e *coded) Exit() int     { return e.exit }

// New returns err with its exit code and the command that helps; an empty command
// leaves the hint to the errors within err.
func New(exit int, err error, command string) error { return &coded{exit, err, command} }

// Usagef reports that the command or its settings are wrong; the command typed
// instead comes first.
func Usagef(command, format string, args ...any) error {
	return New(Usage, fmt.Errorf(format, args...), command)
}

// ExitOf decides the exit code of an error. One that knows none is a failure of
// loopd; a program that is not installed is a matter of configuration.
func ExitOf(err error) int {
	if err == nil {
		return Done
	}
	var e interface{ Exit() int }
	switch {
	case errors.As(err, &e):
		return e.Exit()
	case errors.Is(err, context.Canceled):
		return Interrupted
	case errors.Is(err, exec.ErrNotFound):
		return Usage
	}
	return Failed
}

// Of returns the command to type, or "" where no error in the chain knows one.
func Of(err error) string {
	var e interface {
		error
		Hint() string
	}
	for errors.As(err, &e) {
		if e.Hint() != "" {
			return e.Hint()
		}
		err = errors.Unwrap(e)
	}
	return ""
}
