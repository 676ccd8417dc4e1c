package daemon

import (
	"fmt"
	"time"
)

// Command is what the user tells a loopd that runs.
type Command string

// The commands.
const (
	Pause  Command = "pause"  // start nothing more until Resume
	Resume Command = "resume" // lift a pause, or a halt that lifts
	Halt   Command = "halt"   // end the running sessions, start nothing until Resume
	Finish Command = "finish" // end the search; the gate is next
	Look   Command = "look"   // a candidate waits in the queue
)

// Commands lists them.
func Commands() []Command { return []Command{Pause, Resume, Halt, Finish, Look} }

// Phase is what a loopd that runs is doing.
type Phase string

// The phases.
const (
	Opening  Phase = "opening"  // a window has begun, its campaign is being opened
	Running  Phase = "running"  // sessions are run
	Waiting  Phase = "waiting"  // for something to lift: Until and Why say what
	Stopping Phase = "stopping" // running sessions end, nothing new starts
	Idle     Phase = "idle"     // between two windows; Until is the next one's start
	Held     Phase = "held"     // the user said pause; no window opens until resume
)

// Window is a stretch of time in which a campaign may run. The zero End is none.
type Window struct {
	Start time.Time `json:"start"`
	End   time.Time `json:"end,omitzero"`
}

// Session is one session under way.
type Session struct {
	Cell    string    `json:"cell"`
	Rep     int       `json:"rep"`
	Attempt int       `json:"attempt"`
	Since   time.Time `json:"since"`
	// LastEvent is when the session printed its last line; zero before the first.
	LastEvent time.Time `json:"last_event,omitzero"`
}

// Live is what only the process that runs knows.
type Live struct {
	PID     int       `json:"pid"`
	Verb    string    `json:"verb"` // run or serve
	Since   time.Time `json:"since"`
	Now     time.Time `json:"now"` // its clock
	Phase   Phase     `json:"phase"`
	Why     string    `json:"why,omitempty"`
	Until   time.Time `json:"until,omitzero"` // the next wake-up
	Window  *Window   `json:"window,omitempty"`
	Stopped string    `json:"stopped,omitempty"` // why the last window's work ended
	// Pages is the address of the pages it serves, without their token; empty for none.
	Pages string `json:"pages,omitempty"`
	// Sessions are those under way, the oldest first.
	Sessions []Session `json:"sessions"`
}

// NotRunningError says that no loopd listens for a state directory.
type NotRunningError struct{ Dir string }

// Error names the directory.
func (e *NotRunningError) Error() string { return fmt.Sprintf("no loopd runs for %s", e.Dir) }

// SilentError says that a loopd listens for a state directory and does not answer,
// as one that is stopped or has too much to do.
type SilentError struct{ Dir string }

// Error names the directory.
func (e *SilentError) Error() string {
	return fmt.Sprintf("the loopd that runs for %s does not answer", e.Dir)
}

// RefusedError is the answer of a loopd that runs and will not do what it was told.
type RefusedError struct {
	Command Command
	Why     string
}

// Error says what it will not do and why.
func (e *RefusedError) Error() string { return fmt.Sprintf("%s: %s", e.Command, e.Why) }
