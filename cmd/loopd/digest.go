package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
)

// runDigest prints the digest of the newest campaign as it was projected beside
// it, because its wording diff needs the private repository.
func runDigest(ctx context.Context, e env, state string, asJSON bool) error {
	r, err := openReview(ctx, e, state)
	if err != nil {
		return err
	}
	s, err := r.current()
	if err != nil {
		return err
	}
	name := "digest.md"
	if asJSON {
		name = "digest.json"
	}
	data, err := os.ReadFile(filepath.Join(r.home.Report(s.Started.Campaign), name))
	if err != nil {
		return &codedError{exitFailed, fmt.Errorf("read digest: %w", err), "loopd verify"}
	}
	if err := e.kept(data, asJSON); err != nil || asJSON {
		return err
	}
	return printNext(e, s, state)
}
