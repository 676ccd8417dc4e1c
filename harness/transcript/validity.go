package transcript

import (
	"fmt"
	"regexp"
	"strings"

	"loopd/harness"
)

// Want is what the session should have been started with. Empty strings and a
// nil Builtin are not compared, and without Pinned only what no session may
// lack is asked.
type Want struct {
	Version    string `json:"version,omitempty"`
	Model      string `json:"model,omitempty"`
	Plugin     string `json:"plugin,omitempty"`
	PluginPath string `json:"plugin_path,omitempty"`
	// Builtin are the plugins the pinned CLI brings along, with or without
	// their "@builtin".
	Builtin  []string         `json:"builtin"`
	Note     harness.NoteKind `json:"note,omitempty"`
	NoteText string           `json:"note_text,omitempty"`
	Envelope harness.Envelope `json:"envelope,omitempty"`
	// Silent: the project is one the hook should run in and say nothing.
	Silent bool `json:"silent,omitempty"`
	Pinned bool `json:"pinned,omitempty"`
}

// External is what is known about the session from outside its stream.
type External struct {
	// Cause is set when loopd ended the session or the machine did.
	Cause harness.Class `json:"cause,omitempty"`
	// LimitTime: the total clock ended a session that was still working.
	LimitTime bool `json:"limit_time,omitempty"`
	// Killed: a signal ended the process. ExitCode is the process's own.
	Killed   bool `json:"killed,omitempty"`
	ExitCode int  `json:"exit_code"`
	// GatewayKnown: the session's requests went through the gateway, so that
	// Exposed and Served mean something.
	GatewayKnown bool `json:"gateway_known"`
	Exposed      bool `json:"exposed"`
	// Served holds the message and tool call ids the gateway passed on; true
	// when the whole message was, so that the stream must show it. Nil and empty
	// are not the same, and stay so in JSON.
	Served map[string]bool `json:"served"`
	// Blocks counts the content blocks served of each message; nil when that is
	// not known. The stream may show fewer, never more.
	Blocks map[string]int `json:"blocks"`
}

// Judgement says whether a transcript is evidence and what that rests on.
type Judgement struct {
	Class        harness.Class
	Why          string
	NoteVerified bool // what the hook delivered holds the wanted note whole
	Evidence     []harness.Evidence
}

// verdict is one rung's answer; the zero value means that the rung holds.
type verdict struct {
	class harness.Class
	why   string
	line  int
}

func no(class harness.Class, line int, format string, args ...any) verdict {
	return verdict{class, fmt.Sprintf(format, args...), line}
}

// rung is one question of the ladder. A session stopped by the total clock
// while it was working is asked only the rungs marked always: it may well lack
// an end, but it must have had the right start.
type rung struct {
	always bool
	ask    func(*Transcript, Want, External) verdict
}

func ladder() []rung {
	return []rung{
		{false, hasOutput},
		{false, started},
		{false, readable},
		{true, hasInit},
		{true, rightCLI},
		{true, rightModel},
		{true, rightPlugins},
		{true, ownHookOnly},
		{true, noteDelivered},
		{true, noteExposed},
		{true, notForged},
		{false, hasResult},
		{false, endedWell},
		{false, backgroundFinished},
	}
}

// Validity asks the rungs in order; the first that fails names the class. What
// is known from outside goes first.
func Validity(t *Transcript, want Want, ext External) Judgement {
	j := Judgement{Class: harness.Valid, NoteVerified: noteVerified(t, want)}
	v := endedFromOutside(t, ext)
	for _, r := range ladder() {
		if v.class != "" {
			break
		}
		if r.always || !ext.LimitTime {
			v = r.ask(t, want, ext)
		}
	}
	if v.class != "" {
		j.Class, j.Why = v.class, v.why
		if v.line > 0 {
			j.Evidence = []harness.Evidence{{Line: v.line, What: v.why}}
		}
	}
	return j
}

// endedFromOutside names the class of a session that did not end by itself. A
// process killed after its result had ended by itself.
func endedFromOutside(t *Transcript, ext External) verdict {
	switch {
	case ext.Cause != "" && ext.Cause != harness.Valid:
		return no(ext.Cause, 0, "the session was ended from outside")
	case ext.Killed && !ext.LimitTime && len(t.Results) == 0 && t.Lines > 0:
		return no(harness.Cancelled, 0, "a signal ended the session before its result")
	}
	return verdict{}
}

// limitWords are the plain-text messages with which the CLI refuses to start
// for want of quota. They are looked for in noise alone, and only when nothing
// else was printed and the exit code says failure.
var limitWords = regexp.MustCompile(`(?i)\b(hit|reached) (your|the) [\w ]{0,20}limit\b|\b(usage|session|weekly) limit reached\b`)

func hasOutput(t *Transcript, _ Want, ext External) verdict {
	if t.Lines > t.Noise {
		return verdict{}
	}
	switch {
	case ext.ExitCode == 0:
		return no(harness.NoOutput, 0, "the session printed no event")
	case limitWords.MatchString(t.NoiseText):
		return no(harness.UsageLimit, 1, "the agent CLI printed a usage limit and nothing else")
	default:
		return no(harness.Startup, 0, "the agent CLI exited with %d before its first event", ext.ExitCode)
	}
}

func started(t *Transcript, _ Want, _ External) verdict {
	for _, r := range t.Results {
		if r.StartupFailure != "" {
			return no(harness.Startup, r.Line, "the agent CLI could not start: %s", r.StartupFailure)
		}
	}
	return verdict{}
}

func readable(t *Transcript, _ Want, _ External) verdict {
	switch d := t.Damage; {
	case d.Malformed > 0:
		return no(harness.Malformed, d.Malformed, "%s", d.Why)
	case d.Oversize > 0:
		return no(harness.Oversize, d.Oversize, "%s", d.Why)
	case d.Truncated > 0:
		return no(harness.Truncated, d.Truncated, "%s", d.Why)
	}
	return verdict{}
}

func hasInit(t *Transcript, _ Want, _ External) verdict {
	if len(t.Inits) == 0 {
		return no(harness.NoInit, 0, "the session has no init event")
	}
	return verdict{}
}

func hasResult(t *Transcript, _ Want, _ External) verdict {
	if len(t.Results) == 0 {
		return no(harness.NoResult, 0, "the session has no result event")
	}
	return verdict{}
}

// backgroundFinished asks that no background work was cut off by the session's
// end, for then the last message speaks of work that never happened. Work the
// agent stopped itself is its own business.
func backgroundFinished(t *Transcript, _ Want, _ External) verdict {
	stopped := make(map[string]bool)
	for _, c := range t.ToolUses() {
		if id, ok := stoppedTask(c); ok {
			stopped[id] = true
		}
	}
	for _, task := range t.Tasks {
		cut := task.Status == "stopped" || task.Status == "killed"
		if cut && !stopped[task.ID] {
			return no(harness.BackgroundKilled, task.Line, "background work %s was %s", task.ID, task.Status)
		}
	}
	return verdict{}
}

func stoppedTask(c Call) (string, bool) {
	if !strings.HasSuffix(c.Name, "Stop") && !strings.HasPrefix(c.Name, "Kill") {
		return "", false
	}
	for _, key := range []string{"task_id", "shell_id", "bash_id"} {
		if id, ok := c.Arg(key); ok {
			return id, true
		}
	}
	return "", false
}
