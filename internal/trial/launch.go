package trial

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
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
	digest     string // of the stream as it is kept
	transcript *transcript.Transcript
	seen       gateway.Report
	dir        string
	at         time.Time // when it was over
}

// launch runs the agent once, keeping its output on disk as it comes.
func (e *Executor) launch(ctx context.Context, j job, box *isolate.Box) (*attempt, error) {
	proxy := e.open(j, box)
	defer proxy.Close()
	if e.o.Faults != nil {
		forget, err := e.o.Faults.Register(j.spec, proxy.Key())
		if err != nil {
			return nil, err
		}
		defer forget()
	}
	note := ""
	if j.computesNote { // a file's is in the wording's commit
		note = j.wording.Note
	}
	files, err := e.openAttempt(j.spec.TrialID(), note)
	if err != nil {
		return nil, err
	}
	l, release, err := e.sessionLaunch(ctx, j, box, proxy)
	if err != nil {
		_, closeErr := files.close()
		return nil, errors.Join(err, closeErr)
	}
	defer release()
	l.Stdout, l.Stderr = files.stdout, files.stderr
	exit, runErr := run(ctx, l, filepath.Join(files.dir, runningFile))
	atomicfile.Failpoint("trial.session.ended")
	digest, err := files.close()
	atomicfile.Failpoint("trial.store.stream")
	if err := errors.Join(runErr, err); err != nil {
		return nil, err
	}
	proxy.Close()
	tr, err := parseFile(files.dir)
	if err != nil {
		return nil, err
	}
	return &attempt{exit: exit, digest: digest, transcript: tr, seen: proxy.Report(), dir: files.dir, at: e.o.Now()}, nil
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

// open opens the gateway for one session of a wording.
func (e *Executor) open(j job, box *isolate.Box) *gateway.Proxy {
	s := gateway.Session{
		Descriptions: j.wording.Descriptions, Own: []string{box.Work, box.Plugin, box.Home, box.Config, box.Tmp, box.Root}, Prices: e.o.Suite.Launch.Prices(),
	}
	if j.expectsNote {
		s.Note = j.wording.Note
	}
	if e.o.SpendLimits != nil {
		s.Limits = e.o.SpendLimits(j.spec)
	}
	return e.o.Gateway.Open(s)
}

// sessionLaunch is the launch of the sealed profile, isolated. The function it
// returns gives up what was opened.
func (e *Executor) sessionLaunch(ctx context.Context, j job, box *isolate.Box, proxy *gateway.Proxy) (agent.Launch, func() error, error) {
	task := j.scenario.PracticeTask
	if j.scenario.Role != harness.Practice {
		task = j.scenario.Task.Reveal()
	}
	l, err := e.plainLaunch(box, j.spec.Slot.Cell.Tier, e.values(box, proxy.Key(), e.o.Gateway.URL().String()), task)
	if err != nil {
		return l, nil, err
	}
	l.Activity = proxy.LastActivity
	l.MaxMemory, l.Overrun = e.o.Limits.Memory, overrun(ctx, box, e.o.Limits.Disk)
	return e.isolated(l, box, proxy)
}

// plainLaunch is the launch of the sealed profile in the open.
func (e *Executor) plainLaunch(box *isolate.Box, tier string, values map[string]string, task string) (agent.Launch, error) {
	profile := e.o.Suite.Launch
	env, err := agent.Environ(profile, values)
	if err != nil {
		return agent.Launch{}, err
	}
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

// isolated shuts a launch in: the session sees its box, the agent's program and
// the system's programs, and its only way out is the proxy; nil for no way out.
func (e *Executor) isolated(l agent.Launch, box *isolate.Box, proxy *gateway.Proxy) (agent.Launch, func() error, error) {
	s := isolate.Session{Box: box, Limits: e.o.Limits, ReadOnly: e.o.Read, Hidden: e.o.Hidden}
	var err error
	switch {
	case proxy == nil || e.o.Isolation.Backend() == isolate.None:
	case e.o.Isolation.TakesHandoff():
		if s.Handoff, err = proxy.Handoff(); err != nil {
			return l, nil, err
		}
	default:
		if s.Port, err = strconv.Atoi(e.o.Gateway.URL().Port()); err != nil {
			return l, nil, fmt.Errorf("port of the gateway: %w", err)
		}
	}
	return isolated(l, e.o.Isolation, s)
}

// isolated starts what a launch names within a sandbox, where there is one.
func isolated(l agent.Launch, sandbox isolate.Sandbox, s isolate.Session) (agent.Launch, func() error, error) {
	if sandbox.Backend() == isolate.None {
		return l, func() error { return nil }, nil
	}
	s.Agent, s.Args, s.Env = l.Path, l.Args, l.Env
	w, err := sandbox.Wrap(s)
	if err != nil {
		return l, nil, err
	}
	l.Path, l.Argv0, l.Args, l.Env, l.Files, l.PIDNamespace = w.Path, "", w.Args, w.Env, w.Files, w.PIDNamespace
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

// values are the values of the names the launch profile lists, for a session with
// that key and API. Nothing else of loopd's own environment reaches it.
func (e *Executor) values(box *isolate.Box, key, api string) map[string]string {
	known := map[string]string{
		"PATH":                    os.Getenv("PATH"),
		"HOME":                    box.Home,
		"CLAUDE_CONFIG_DIR":       box.Config,
		"TMPDIR":                  box.Tmp,
		"LANG":                    "C.UTF-8",
		"ANTHROPIC_BASE_URL":      api,
		"ANTHROPIC_API_KEY":       key,
		"CLAUDE_CODE_OAUTH_TOKEN": key,
		"DISABLE_AUTOUPDATER":     "1",
		"DISABLE_TELEMETRY":       "1",
		"DISABLE_ERROR_REPORTING": "1",
		"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
		"CLAUDE_CODE_DISABLE_AUTO_MEMORY":          "1",
		"CLAUDE_CODE_DISABLE_BACKGROUND_TASKS":     "1",
		"CLAUDE_CODE_MAX_RETRIES":                  strconv.Itoa(e.o.Suite.Launch.MaxRetries),
	}
	// A session is told the kind of credential its user has, and nothing else.
	other := "CLAUDE_CODE_OAUTH_TOKEN"
	if e.o.Gateway.Kind() == gateway.HeaderToken {
		other = "ANTHROPIC_API_KEY"
	}
	delete(known, other)
	maps.DeleteFunc(known, func(name, _ string) bool { return !slices.Contains(e.o.Suite.Launch.Env, name) })
	return known
}
