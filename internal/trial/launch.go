package trial

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"loopd/harness"
	"loopd/harness/transcript"
	"loopd/internal/agent"
	"loopd/internal/atomicfile"
	"loopd/internal/gateway"
	"loopd/internal/isolate"
)

// attempt is what a launch left behind.
type attempt struct {
	exit       agent.Exit
	transcript *transcript.Transcript
	seen       gateway.Report
	dir        string
}

// launch runs the agent once, keeping its output on disk as it comes.
func (e *Executor) launch(ctx context.Context, sc harness.Scenario, w Wording, box *isolate.Box, t *harness.Trial) (attempt, error) {
	tap := e.proxyFor(t, w, box)
	defer tap.Close()
	if e.o.Faults != nil {
		forget, err := e.o.Faults.Register(t.Spec, tap.Key())
		if err != nil {
			return attempt{}, err
		}
		defer forget()
	}
	files, err := e.openAttempt(t.ID, e.recordedNote(t, w))
	if err != nil {
		return attempt{}, err
	}
	l, release, err := e.launchOf(ctx, sc, box, tap, t)
	if err != nil {
		_, closeErr := files.close()
		return attempt{}, errors.Join(err, closeErr)
	}
	defer release()
	l.Stdout, l.Stderr = files.stdout, files.stderr
	exit, runErr := run(ctx, l, filepath.Join(files.dir, runningFile))
	atomicfile.Failpoint("trial.session.ended")
	digest, err := files.close()
	atomicfile.Failpoint("trial.store.stream")
	if err := errors.Join(runErr, err); err != nil {
		return attempt{}, err
	}
	tap.Close()
	t.Transcript, t.Seconds, t.Survivors = digest, exit.Wall.Seconds(), exit.Survivors
	tr, err := files.parse()
	return attempt{exit: exit, transcript: tr, seen: tap.Report(), dir: files.dir}, err
}

// runningFile notes, beside what is kept of an attempt, that its session runs.
const runningFile = "running"

// run runs the agent, noted in that file for as long as it does.
func run(ctx context.Context, l agent.Launch, note string) (agent.Exit, error) {
	release, err := agent.Note(note, l.Marker)
	if err != nil {
		return agent.Exit{}, err
	}
	atomicfile.Failpoint("trial.session.noted")
	exit, err := agent.Run(ctx, l)
	return exit, errors.Join(err, release())
}

func noteFor(t *harness.Trial, w Wording) string {
	if !t.ExpectsNote {
		return ""
	}
	return w.Note
}

// launchOf builds the launch of the sealed profile for this sandbox, within
// walls where there are some. The function it returns gives up what was opened.
func (e *Executor) launchOf(ctx context.Context, sc harness.Scenario, box *isolate.Box, tap *gateway.Proxy, t *harness.Trial) (l agent.Launch, release func() error, err error) {
	env, err := agent.Environ(e.o.Suite.Launch, e.values(box, tap))
	if err != nil {
		return l, nil, err
	}
	task := sc.PracticeTask
	if sc.Role != harness.Practice {
		task = sc.Task.Reveal()
	}
	l, err = e.plainLaunch(box, t.Spec.Slot.Cell.Tier, env, task)
	if err != nil {
		return l, nil, err
	}
	l.Activity = tap.LastActivity
	l.MaxMemory, l.Overrun = e.o.Limits.Memory, overrun(ctx, box, e.o.Limits.Disk)
	if e.o.Isolation.Backend() == isolate.None {
		return l, func() error { return nil }, nil
	}
	return e.walled(l, box, tap)
}

// plainLaunch is the launch of the sealed profile, without walls.
func (e *Executor) plainLaunch(box *isolate.Box, tier string, env []string, task string) (agent.Launch, error) {
	profile := e.o.Suite.Launch
	model, ok := profile.Model(tier)
	if !ok {
		return agent.Launch{}, fmt.Errorf("no tier %s in the launch profile", tier)
	}
	return agent.Launch{
		Path: e.o.Agent.Path, Argv0: "claude", Args: agent.Command(profile, agent.CommandOptions{Model: model, PluginDir: box.Plugin}),
		Env: env, Dir: box.Work, Stdin: []byte(task), Clocks: profile.Clocks,
		UID: e.o.UID, GID: e.o.GID, Marker: box.Root,
	}, nil
}

// walled shuts the launch in: the session sees its box, the agent's program and
// the system's programs, and its only way out is the gateway.
func (e *Executor) walled(l agent.Launch, box *isolate.Box, tap *gateway.Proxy) (agent.Launch, func() error, error) {
	if !e.o.Isolation.TakesHandoff() {
		port, err := strconv.Atoi(e.o.Gateway.URL().Port())
		if err != nil {
			return l, nil, fmt.Errorf("port of the gateway: %w", err)
		}
		return e.shutIn(l, box, nil, port)
	}
	door, err := tap.Handoff()
	if err != nil {
		return l, nil, err
	}
	return e.shutIn(l, box, door, 0)
}

// shutIn walls a launch in with that door or port, or with none and no network.
func (e *Executor) shutIn(l agent.Launch, box *isolate.Box, door *os.File, port int) (agent.Launch, func() error, error) {
	w, err := e.o.Isolation.Wrap(isolate.Session{
		Box: box, Agent: l.Path, Args: l.Args, Env: l.Env, Handoff: door, Port: port, Limits: e.o.Limits, ReadOnly: e.o.Read, Hidden: e.o.Hidden,
	})
	if err != nil {
		return l, nil, err
	}
	l.Path, l.Argv0, l.Args, l.Env, l.Files = w.Path, "", w.Args, w.Env, w.Files
	l.PIDNamespace = w.PIDNamespace
	return l, w.Close, nil
}

// overrun ends a session whose box has outgrown its limit.
func overrun(ctx context.Context, box *isolate.Box, limit int64) func() harness.Class {
	watch := box.Watch(ctx, limit, time.Now)
	return func() harness.Class {
		if watch() != nil {
			return harness.Oversize
		}
		return ""
	}
}
