package rehearsal

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"loopd/harness"
	"loopd/internal/agent"
	"loopd/internal/campaign"
	"loopd/internal/fake"
	"loopd/loop"
)

// The names under which the test binary is something else.
const (
	asAgent = "claude"
	asChild = "rehearse"
)

// TestMain makes the test binary the stand-in agent, or a process that
// rehearses and can be killed.
func TestMain(m *testing.M) {
	switch filepath.Base(os.Args[0]) {
	case asAgent:
		ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
		defer stop()
		dir, err := os.Getwd()
		if err != nil {
			panic(err)
		}
		// Not os.Exit: under the race detector that waits a second each time.
		syscall.Exit(fake.AgentMain(ctx, os.Args[1:], os.Environ(), dir, os.Stdin, os.Stdout, os.Stderr))
	case asChild:
		os.Exit(child(os.Args[1]))
	}
	os.Exit(m.Run())
}

// child runs the rehearsal described on its command line and prints the result.
func child(described string) int {
	var c struct {
		Setup
		Dir    string
		Resume bool
	}
	if err := json.Unmarshal([]byte(described), &c); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	if err := pin(os.Getenv(pinVariable)); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	o := options(c.Setup, c.Dir)
	o.Resume = c.Resume
	if os.Getenv(toldVariable) != "" {
		tell(&o, os.NewFile(3, "told"))
	}
	res, err := Run(context.Background(), o)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	if err := json.NewEncoder(os.Stdout).Encode(res); err != nil {
		return 1
	}
	return 0
}

// pinVariable names a directory to pin an agent CLI in before the rehearsal, which
// itself needs none.
const pinVariable = "LOOPD_TEST_PIN"

// toldVariable has the child tell, in lines of its third file, when it is ready and
// which trials are recorded.
const toldVariable = "LOOPD_TEST_TOLD"

func tell(o *Options, to io.Writer) {
	o.Ready = func() { fmt.Fprintln(to, "ready") }
	o.Observe = func(_ *loop.State, e loop.Event) {
		if r, ok := e.Payload.(loop.Recorded); ok {
			fmt.Fprintln(to, "trial", r.Trial.ID)
		}
	}
}

func pin(dir string) error {
	if dir == "" {
		return nil
	}
	program := dir + "-agent"
	if err := os.WriteFile(program, []byte("#!/bin/sh\necho 9.9.9\n"), 0o755); err != nil {
		return err
	}
	if _, err := agent.Pin(context.Background(), program, dir); err != nil {
		return err
	}
	return prune(dir + "-pruned")
}

// prune drops the files of a trial of a campaign that is over.
func prune(dir string) error {
	h := campaign.Home{Dir: dir}
	kept := filepath.Join(h.Trials(), "a")
	if err := os.MkdirAll(kept, 0o700); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(kept, "transcript.jsonl"), []byte("{}\n"), 0o600); err != nil {
		return err
	}
	over := &loop.State{Ended: &loop.Ended{}, Trials: []loop.Run{{Trial: harness.Trial{ID: "a"}}}}
	p, err := h.Prune([]*loop.State{over}, time.Now(), time.Now(), false)
	if err == nil && p.Trials != 1 {
		err = fmt.Errorf("pruned %d trials, want 1", p.Trials)
	}
	return err
}

// options run a rehearsal through the stand-in.
func options(s Setup, dir string) Options {
	o := Options{
		Setup: s, Dir: dir, Parallel: 2, Log: slog.New(slog.NewTextHandler(io.Discard, nil)),
		Binary: agent.Binary{Path: "/proc/self/exe", Version: fake.AgentVersion, SHA256: "standin"},
	}
	if os.Geteuid() == 0 {
		o.Isolation.UID = nobody
	}
	return o
}

// nobody is who sessions run as when the tests are root.
const nobody = 65534
