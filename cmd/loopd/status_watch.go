package main

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"time"

	"loopd/internal/admission"
	"loopd/internal/daemon"
)

// watchEvery is how often a status that is watched is looked at again.
const watchEvery = time.Second

// watchStatus prints the status whenever it changes until it is interrupted. On a
// terminal it takes the place of the one before.
func watchStatus(ctx context.Context, e env, state string, asJSON bool) error {
	out := e.stdout
	screen := e.moves(out)
	var last []byte
	for {
		var text bytes.Buffer
		e.stdout, e.page = &text, pageOf(out) // it may be another by now
		if err := runStatus(ctx, e, state, asJSON); err != nil {
			return err
		}
		now := text.Bytes()
		if screen {
			_, down := sizeOf(out)
			now = cropped(now, down)
		}
		if !bytes.Equal(now, last) {
			if err := show(out, screen, len(last) > 0, now); err != nil {
				return err
			}
			last = now
		}
		if !(admission.Wall{}).Wait(ctx, e.drain, time.Now().Add(watchEvery)) {
			return ctx.Err()
		}
	}
}

// cropped leaves lines out of the middle of a status that is taller than the
// screen, so that how it stands and what to type are both seen.
func cropped(text []byte, height int) []byte {
	lines := slices.Collect(bytes.Lines(text))
	const tail = 3 // the last candidate, a blank, the next command
	if height < 3*tail || len(lines) < height {
		return text
	}
	head := height - tail - 2 // a line says what is missing, and the cursor stands on one
	left := fmt.Appendf(nil, "… %d lines are left out; loopd status prints them\n", len(lines)-head-tail)
	return slices.Concat(bytes.Join(lines[:head], nil), left, bytes.Join(lines[len(lines)-tail:], nil))
}

// show prints one status: over the last one on a terminal, below it elsewhere.
func show(out interface{ Write([]byte) (int, error) }, screen, again bool, text []byte) error {
	switch {
	case screen:
		text = append([]byte("\x1b[H\x1b[2J"), text...)
	case again:
		text = append([]byte("\n"), text...)
	}
	_, err := out.Write(text)
	return err
}

// printLive says what the loopd that runs is doing: its state, the sessions under
// way with the age of their last line, and why the last window ended.
func printLive(e env, l daemon.Live) {
	e.sentence(fmt.Sprintf("loopd %s (process %d): %s", l.Verb, l.PID, liveLine(l)), "  ")
	for _, s := range l.Sessions {
		age := "nothing printed yet"
		if !s.LastEvent.IsZero() {
			age = "last line " + ago(time.Since(s.LastEvent))
		}
		e.sentence(fmt.Sprintf("  %s rep %d, attempt %d: since %s; %s", s.Cell, s.Rep, s.Attempt, s.Since.Local().Format("15:04:05"), age), "    ")
	}
	if l.Stopped != "" && l.Window == nil {
		e.sentence("last window: "+l.Stopped, "  ")
	}
	if l.Pages != "" {
		e.sentence(fmt.Sprintf("pages: %s (loopd report --open lets a browser in)", l.Pages), "  ")
	}
	fmt.Fprintln(e.stdout)
}

// ago writes an age in the largest unit that says enough.
func ago(d time.Duration) string {
	switch {
	case d < time.Minute:
		return fmt.Sprintf("%.0f s ago", d.Seconds())
	case d < time.Hour:
		return fmt.Sprintf("%.0f min ago", d.Minutes())
	}
	return fmt.Sprintf("%.1f h ago", d.Hours())
}
