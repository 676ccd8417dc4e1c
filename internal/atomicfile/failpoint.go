package atomicfile

import (
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
)

// CrashVariable is the environment variable that arms one failpoint: NAME:N kills the
// process when NAME is hit for the Nth time, counted from 1.
const CrashVariable = "LOOPD_CRASH"

// crash is the failpoint that is armed.
type crash struct {
	name string
	left atomic.Int64 // hits until it happens
}

// armed is nil in every process but those of a test. It is read from the
// environment once, because Failpoint stands in places that are passed very often.
var armed = parse(os.Getenv(CrashVariable))

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

// Failpoint names a step after which a crash would be interesting, so that tests
// can kill loopd there. The name is a string literal: a test lists the names from
// the source and kills at every one, so none can be forgotten. It kills the process
// if that failpoint is armed and this is the hit it waits for. SIGKILL runs no
// deferred call, as neither does a power cut.
func Failpoint(name string) {
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
