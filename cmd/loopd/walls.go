package main

import (
	"context"
	"fmt"

	"loopd/internal/sandbox"
)

// ground is what sessions stand on: the walls around them, and the user they
// run as when loopd is root.
type ground struct {
	walls sandbox.Walls
	uid   int
}

// probeGround finds out whether sessions can be shut in here, by doing it. Root
// tries as nobody first, so that a session which broke out would be nobody.
func probeGround(ctx context.Context, e env) (ground, error) {
	uid := sessionUser()
	walls, err := sandbox.Probe(ctx, sandbox.ProbeOptions{Path: e.getenv("PATH"), UID: uid, GID: uid})
	if err == nil || uid == 0 {
		return ground{walls, uid}, err
	}
	if walls, rootErr := sandbox.Probe(ctx, sandbox.ProbeOptions{Path: e.getenv("PATH")}); rootErr == nil {
		return ground{walls, 0}, nil
	}
	return ground{uid: uid}, err
}

// groundOrOpen goes on without walls where there are none and says so. Only a
// rehearsal may: its model is a program of ours.
func groundOrOpen(ctx context.Context, e env) ground {
	g, err := probeGround(ctx, e)
	if err != nil {
		fmt.Fprintf(e.stderr, "loopd: sessions are not isolated: %v\n", err)
		if hint := hintOf(err); hint != "" {
			fmt.Fprintf(e.stderr, "loopd: hint: %s\n", hint)
		}
	}
	return g
}

// groundFor shuts real sessions in, or refuses where that cannot be done and
// the user has not accepted it.
func groundFor(ctx context.Context, e env, accepted bool) (ground, error) {
	g, err := probeGround(ctx, e)
	if err == nil {
		return g, nil
	}
	if !accepted {
		return g, &codedError{exitUsage, fmt.Errorf("start sessions: they have every permission and would not be isolated: %w", err), wallHint(err)}
	}
	if err := refuseManaged(managedFiles(managedDir)...); err != nil {
		return g, err // within walls nobody sees them
	}
	fmt.Fprintf(e.stderr, "loopd: sessions are not isolated: %v\n", err)
	return g, nil
}

// wallHint is what helps when sessions cannot be shut in.
func wallHint(err error) string {
	if hint := hintOf(err); hint != "" {
		return hint
	}
	return "loopd run --sessions 400 --i-accept-no-isolation"
}
