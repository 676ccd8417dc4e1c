package main

import (
	"context"
	"fmt"

	"loopd/internal/sandbox"
)

// probeWalls finds out whether sessions can be shut in here, by doing it.
func probeWalls(ctx context.Context, e env) (sandbox.Walls, error) {
	return sandbox.Probe(ctx, sandbox.ProbeOptions{Path: e.getenv("PATH")})
}

// wallsOrNone goes on without walls where there are none and says so. Only a
// rehearsal may: its model is a program of ours.
func wallsOrNone(ctx context.Context, e env) sandbox.Walls {
	walls, err := probeWalls(ctx, e)
	if err != nil {
		fmt.Fprintf(e.stderr, "loopd: sessions are not isolated: %v\n", err)
		if hint := hintOf(err); hint != "" {
			fmt.Fprintf(e.stderr, "loopd: hint: %s\n", hint)
		}
	}
	return walls
}

// wallHint is what helps when sessions cannot be shut in.
func wallHint(err error) string {
	if hint := hintOf(err); hint != "" {
		return hint
	}
	return "loopd run --sessions 400 --i-accept-no-isolation"
}

// wallsFor shuts real sessions in, or refuses where that cannot be done and the
// user has not accepted it.
func wallsFor(ctx context.Context, e env, accepted bool) (sandbox.Walls, error) {
	walls, err := probeWalls(ctx, e)
	if err == nil {
		return walls, nil
	}
	if !accepted {
		return walls, &codedError{exitUsage, fmt.Errorf("start sessions: they have every permission and would not be isolated: %w", err), wallHint(err)}
	}
	fmt.Fprintf(e.stderr, "loopd: sessions are not isolated: %v\n", err)
	return walls, nil
}
