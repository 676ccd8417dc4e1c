package main

import (
	"encoding/json"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"loopd/internal/testenv"
)

// The bars of a loopd that waits for its next window.
const (
	idleMB   = 60
	idleLoad = .001 // of one processor
)

// idles prints what the loopd whose status was last printed as JSON takes while
// it waits. A nightly run looks for a minute and holds it to the bars.
func idles(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 0 {
		ts.Fatalf("usage: idles")
	}
	if runtime.GOOS != "linux" {
		return
	}
	var st struct {
		Live struct{ PID int }
	}
	ts.Check(json.Unmarshal([]byte(ts.ReadFile("stdout")), &st))
	full := testenv.Nightly() && !testenv.Raced()
	long := time.Second
	if full {
		long = time.Minute
	}
	before, _ := taken(ts, st.Live.PID)
	<-time.After(long)
	after, resident := taken(ts, st.Live.PID)
	load := (after - before).Seconds() / long.Seconds()
	ts.Logf("idle: %.0f MB resident (bar %d), %.3f %% of a processor over %v (bar %.1f)", resident, idleMB, 100*load, long, 100*idleLoad)
	if full && (resident > idleMB || load > idleLoad) {
		ts.Fatalf("an idle loopd takes too much")
	}
}

// taken is the processor time a process has taken, and its resident memory in MB.
func taken(ts *testscript.TestScript, pid int) (time.Duration, float64) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	ts.Check(err)
	_, rest, _ := strings.Cut(string(stat), ") ")
	fields := strings.Fields(rest)
	var ticks int
	for _, f := range fields[11:13] { // user and system time
		n, err := strconv.Atoi(f)
		ts.Check(err)
		ticks += n
	}
	pages, err := strconv.Atoi(fields[21])
	ts.Check(err)
	return time.Duration(ticks) * 10 * time.Millisecond, float64(pages*os.Getpagesize()) / (1 << 20)
}
