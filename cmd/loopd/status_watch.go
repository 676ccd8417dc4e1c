package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"time"

	"github.com/mattn/go-isatty"

	"loopd/internal/clock"
	"loopd/internal/control"
)

// watchEvery is how often a status that is watched is looked at again.
const watchEvery = time.Second

// watchStatus prints the status whenever it changes until it is interrupted. On a
// terminal it takes the place of the one before.
func watchStatus(ctx context.Context, e env, state string, asJSON bool) error {
	out := e.stdout
	f, file := out.(*os.File)
	screen := file && isatty.IsTerminal(f.Fd())
	var last []byte
	for {
		var text bytes.Buffer
		e.stdout = &text
		if err := runStatus(ctx, e, state, asJSON); err != nil {
			return err
		}
		if !bytes.Equal(text.Bytes(), last) {
			if err := show(out, screen, len(last) > 0, text.Bytes()); err != nil {
				return err
			}
			last = bytes.Clone(text.Bytes())
		}
		if !(clock.Wall{}).Wait(ctx, e.drain, time.Now().Add(watchEvery)) {
			return ctx.Err()
		}
	}
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
func printLive(e env, l control.Live) {
	fmt.Fprintf(e.stdout, "loopd %s (process %d): %s\n", l.Verb, l.PID, liveLine(l))
	for _, s := range l.Sessions {
		age := "nothing printed yet"
		if !s.LastEvent.IsZero() {
			age = "last line " + ago(time.Since(s.LastEvent))
		}
		fmt.Fprintf(e.stdout, "  %s rep %d, attempt %d: since %s; %s\n", s.Cell, s.Rep, s.Attempt, s.Since.Local().Format("15:04:05"), age)
	}
	if l.Stopped != "" && l.Window == nil {
		fmt.Fprintf(e.stdout, "last window: %s\n", l.Stopped)
	}
	if l.Pages != "" {
		fmt.Fprintf(e.stdout, "pages: %s (loopd report --open lets a browser in)\n", l.Pages)
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
