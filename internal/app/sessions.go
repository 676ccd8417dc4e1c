package app

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"time"

	"loopd/frozen"
	"loopd/harness"
	"loopd/internal/agent"
	"loopd/internal/gateway"
	"loopd/internal/isolate"
	"loopd/internal/redact"
	"loopd/internal/trial"
)

// Service is what answers the sessions' model calls.
type Service struct {
	URL        *url.URL
	Credential gateway.Credential
}

// Simulated is a simulated model at that address, which wants no credential.
func Simulated(address string) (Service, error) {
	u, err := url.Parse(address)
	return Service{URL: u, Credential: gateway.Credential{Header: gateway.HeaderKey}}, err
}

// Parts are what sessions are run with.
type Parts struct {
	Suite     harness.Suite
	Seal      func(ctx context.Context) (*frozen.Drift, error) // nil where nothing is sealed
	Wording   func(commit string) (trial.Wording, error)
	Agent     agent.Binary
	Isolation Isolation
	Limits    isolate.Limits
	Hidden    []string // what no session may read, wherever it lies
	Read      []string // what sessions may read of the machine beside their sandbox
	Graphs    map[string]harness.Tree
	Service   Service
	Judge     Judge
	Inject    trial.FaultInjector // nil but in rehearsals, self-tests and probes
	Secrets   []string            // values that no file may hold, beside the credential
	Store     string              // where attempts are kept
	Sandboxes string              // parent of the sandboxes, empty for the default
	Now       func() time.Time
}

// Fixed is a wording that does not depend on a commit.
func Fixed(w trial.Wording) func(string) (trial.Wording, error) {
	return func(string) (trial.Wording, error) { return w, nil }
}

// Sessions runs sessions. Close it.
type Sessions struct {
	trial.Options
	gateway *gateway.Gateway
}

// Connect opens the way to the service, and makes the judge that goes by it.
func Connect(ctx context.Context, p Parts) (*Sessions, error) {
	if p.Seal == nil {
		p.Seal = func(context.Context) (*frozen.Drift, error) { return nil, nil }
	}
	if p.Now == nil {
		p.Now = time.Now
	}
	g, err := gateway.Start(ctx, p.Service.URL, p.Service.Credential)
	if err != nil {
		return nil, err
	}
	uid := p.Isolation.UID
	s := &Sessions{gateway: g, Options: trial.Options{
		Suite: p.Suite, Seal: p.Seal, Wording: p.Wording, Agent: p.Agent, Gateway: g, Store: p.Store, Sandboxes: p.Sandboxes, Faults: p.Inject,
		Redactor: redact.New(append(p.Secrets, p.Service.Credential.Value)...), Isolation: p.Isolation.Sandbox, Hidden: p.Hidden, Read: p.Read, Limits: p.Limits,
		UID: uid, GID: uid, Graphs: p.Graphs, Now: p.Now,
	}}
	if p.Judge.Make == nil {
		return s, nil
	}
	if s.Options.Judge, err = p.Judge.Make(ctx, s.Options); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// Executor runs specs one by one.
func (s *Sessions) Executor(ctx context.Context) (*trial.Executor, error) {
	if _, err := isolate.Sweep(""); err != nil {
		return nil, fmt.Errorf("sweep sandboxes: %w", err)
	}
	return trial.New(ctx, s.Options)
}

// TestJudge asks the judge the gold set, so many questions side by side.
func (s *Sessions) TestJudge(ctx context.Context, name string, parallel int) (harness.JudgeTest, error) {
	return trial.TestJudge(ctx, s.Suite, s.Options.Judge, name, parallel)
}

// Close ends the way to the service.
func (s *Sessions) Close() error { return s.gateway.Close() }
