package main

import (
	"regexp"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// untilLimit bounds what is waited for.
const untilLimit = 2 * time.Minute

// until runs a program again and again until what it prints, or says, matches:
// "until 'ended' loopd status".
func until(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: until REGEXP program [args...]")
	}
	want, err := regexp.Compile("(?m)" + args[0])
	ts.Check(err)
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	over := time.After(untilLimit)
	for {
		_ = ts.Exec(args[1], args[2:]...) // what it prints counts, not how it ends
		if want.MatchString(ts.ReadFile("stdout")) || want.MatchString(ts.ReadFile("stderr")) {
			return
		}
		select {
		case <-tick.C:
		case <-over:
			ts.Fatalf("nothing that matches %q came; the last was:\n%s%s", args[0], ts.ReadFile("stdout"), ts.ReadFile("stderr"))
		}
	}
}
