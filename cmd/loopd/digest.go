package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"loopd/internal/hint"
	"loopd/loop"
	"loopd/report"
)

// runDigest prints the digest of the newest campaign as it was projected beside
// it, because its wording diff needs the private repository.
func runDigest(ctx context.Context, e env, state string, asJSON bool) error {
	name := "digest.md"
	if asJSON {
		name = "digest.json"
	}
	s, data, err := keptDigest(ctx, e, state, name)
	if err != nil {
		return err
	}
	if err := e.kept(data, asJSON); err != nil || asJSON {
		return err
	}
	return printNext(e, s, state)
}

// runComment prints the same digest as a comment, in a terminal too as it is: it is
// there to be handed on.
func runComment(ctx context.Context, e env, state string) error {
	_, data, err := keptDigest(ctx, e, state, "digest.json")
	if err != nil {
		return err
	}
	var d report.Digest
	if err := json.Unmarshal(data, &d); err != nil {
		return hint.New(hint.Failed, fmt.Errorf("read digest: %w", err), "loopd verify")
	}
	_, err = e.stdout.Write(d.Comment())
	return err
}

// keptDigest reads the digest of the newest campaign.
func keptDigest(ctx context.Context, e env, state, name string) (*loop.State, []byte, error) {
	r, err := openReview(ctx, e, state)
	if err != nil {
		return nil, nil, err
	}
	s, err := r.current()
	if err != nil {
		return nil, nil, err
	}
	data, err := os.ReadFile(filepath.Join(r.home.Report(s.Started.Campaign), name))
	if err != nil {
		return nil, nil, hint.New(hint.Failed, fmt.Errorf("read digest: %w", err), "loopd verify")
	}
	return s, data, nil
}
