// Command loopd improves the wording of a coding-agent plugin overnight.
//
// This package is the command line: one file a verb, wiring, signals and exit
// codes. Results go to standard output, talk to standard error. It decides
// nothing that a package below could decide.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"syscall"

	"loopd/internal/admission"
	"loopd/internal/app"
	"loopd/internal/fake"
	"loopd/internal/hint"
	"loopd/internal/isolate"
)

func main() {
	os.Exit(entry(os.Args))
}

// entry runs loopd, or what the program is when it was started as something
// else: the helper within a session's walls, or the stand-in agent.
func entry(args []string) int {
	if isolate.IsHelper(args) {
		return isolate.HelperMain(args, os.Environ())
	}
	if filepath.Base(args[0]) == "claude" {
		return runStandIn(args[1:])
	}
	return runLoopd(args[1:], admission.Here())
}

func runStandIn(args []string) int {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	dir, err := os.Getwd()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return fake.AgentMain(ctx, args, os.Environ(), dir, os.Stdin, os.Stdout, os.Stderr)
}

// runLoopd turns signals into a channel and a context: the first lets running
// sessions end, the second ends them.
func runLoopd(args []string, machine admission.Machine) int {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	drain := make(chan struct{})
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	defer signal.Stop(signals)
	finished := make(chan struct{})
	defer close(finished)
	go func() {
		select {
		case <-signals:
			close(drain) // before it is said: nothing starts after that
			if !slices.Contains(args, "--watch") {
				fmt.Fprintln(os.Stderr, "loopd: stopping after the running sessions; once more to stop now")
			}
		case <-finished:
			return
		}
		select {
		case <-signals:
			cancel()
		case <-finished:
		}
	}()
	dir, err := os.Getwd()
	if err != nil {
		fmt.Fprintln(os.Stderr, "loopd: find working directory:", err)
		return int(hint.Failed)
	}
	surroundings := app.Env{Dir: dir, Environ: os.Environ(), Warn: os.Stderr, Machine: machine}
	return run(ctx, env{Env: surroundings, stdin: os.Stdin, stdout: os.Stdout, stderr: os.Stderr, drain: drain, page: pageOf(os.Stdout)}, args)
}

// env is everything outside that a verb may use.
type env struct {
	app.Env
	stdin  io.Reader
	stdout io.Writer
	stderr io.Writer
	drain  <-chan struct{}
	page   int // cells of a line of the terminal that stdout is, 0 for a pipe
}

// run is the whole program but for the process around it.
func run(ctx context.Context, e env, args []string) int {
	root := newRoot(e)
	root.SetArgs(args)
	root.SetIn(e.stdin)
	root.SetOut(e.stdout)
	root.SetErr(e.stderr)
	return finish(e, root.ExecuteContext(ctx))
}
