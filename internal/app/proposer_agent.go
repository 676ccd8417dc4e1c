package app

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"loopd/candidates"
	"loopd/candidates/propose"
	"loopd/harness"
	"loopd/internal/trial"
	"loopd/loop"
)

// ProposerAgent is the agent CLI as a proposer: a session without tools, whose directory
// holds the wording and nothing else.
type ProposerAgent struct {
	asker  *trial.OneShot
	tokens int
	usd    *float64
}

var (
	_ propose.Model   = (*ProposerAgent)(nil)
	_ propose.Spender = (*ProposerAgent)(nil)
)

// NewProposerAgent makes a proposer of a model, by its pinned id. Of the options it needs
// what launches a session, as trial.NewOneShot does.
func NewProposerAgent(ctx context.Context, o trial.Options, model string, limit time.Duration) (*ProposerAgent, error) {
	asker, err := trial.NewOneShot(ctx, o, model, limit)
	if err != nil {
		return nil, fmt.Errorf("make proposer: %w", err)
	}
	return &ProposerAgent{asker: asker}, nil
}

// outputRoom is how much more than the answer the CLI's line may have: it is
// escaped there, and counts stand around it.
const outputRoom = 2

// Propose asks the agent once. The error is a *loop.HoldError where a limit of
// the account kept it from answering, and a *propose.Refusal where its answer
// brought nothing.
func (a *ProposerAgent) Propose(ctx context.Context, b propose.Brief) ([]candidates.Candidate, error) {
	brief, err := json.Marshal(b)
	if err != nil {
		return nil, fmt.Errorf("ask proposer: %w", err)
	}
	files := make(harness.Tree)
	for _, f := range b.Wording {
		files[f.Path] = harness.File{Mode: 0o644, Data: []byte(f.Text)}
	}
	said, err := a.asker.Ask(ctx, proposerSystem, string(brief), files, outputRoom*propose.MaxAnswer)
	a.tokens, a.usd = said.Tokens, said.CostUSD
	limit, limited := errors.AsType[*trial.LimitedError](err)
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case limited:
		return nil, &loop.HoldError{Paused: loop.Paused{Reason: string(harness.RateLimit) + ": the proposer: " + limit.Error(), Class: harness.RateLimit, Until: limit.Until}}
	case errors.Is(err, trial.ErrNoAnswer):
		return nil, refusal(propose.Hung, "no answer within the time")
	case errors.Is(err, trial.ErrTooLong):
		return nil, refusal(propose.Failed, "more output than an answer can have")
	case err != nil:
		return nil, refusal(propose.Failed, "the session gave no answer: %v", err)
	}
	return propose.ParseAnswer(b, []byte(said.Text))
}

// Spent is what the last ask used: tokens, and the list price in USD.
func (a *ProposerAgent) Spent() (tokens int, usd *float64) { return a.tokens, a.usd }
