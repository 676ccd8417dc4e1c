// Package failpoint names the steps between which a crash would be interesting,
// so that tests can kill loopd at each of them and see what it makes of that.
//
// A step calls Hit with a name of its own, as a string literal: a test lists the
// names from the source and kills at every one, so none can be forgotten. Unless
// the environment variable LOOPD_CRASH is set, Hit does nothing but compare a
// pointer with nil. The package never does anything but end the process, and it
// refuses to end it in a way that lets it clean up: SIGKILL runs no deferred
// call, as neither does a power cut.
package failpoint

import (
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
)

// Variable is the environment variable that arms one failpoint: NAME:N kills the
// process when NAME is hit for the Nth time, counted from 1.
const Variable = "LOOPD_CRASH"

// crash is the failpoint that is armed.
type crash struct {
	name string
	left atomic.Int64 // hits until it happens
}

// armed is nil in every process but those of a test. It is read from the
// environment once, because Hit stands in places that are passed very often.
var armed = parse(os.Getenv(Variable))

// parse reads NAME:N; anything else arms nothing.
func parse(text string) *crash {
	name, count, ok := strings.Cut(text, ":")
	n, err := strconv.ParseInt(count, 10, 64)
	if !ok || err != nil || n < 1 || name == "" {
		return nil
	}
	c := &crash{name: name}
	c.left.Store(n)
	return c
}

// Hit kills the process if the failpoint of that name is armed and this is the
// hit it waits for; else it returns at once.
func Hit(name string) {
	if armed != nil {
		armed.hit(name, die)
	}
}

func (c *crash) hit(name string, die func()) {
	if name == c.name && c.left.Add(-1) == 0 {
		die()
	}
}

// die does not return: the signal may take a moment, in which nothing more may
// be done.
func die() {
	_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
	select {}
}
