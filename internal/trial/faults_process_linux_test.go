package trial_test

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"loopd/harness"
	"loopd/internal/fake"
	"loopd/internal/isolate"
)

// only says that a mode cannot exist with the real CLI, and why.
func only(why string) map[string]string { return map[string]string{realCLI: why} }

// processModes are what goes wrong with the process and what it prints.
func processModes() []mode {
	leave := []harness.Step{{Bash: "setsid sleep 611 >/dev/null 2>&1 & nohup sleep 611 >/dev/null 2>&1 & (trap '' TERM; sleep 611) >/dev/null 2>&1 & (setsid sh -c 'sleep 611 &' &) ; echo left"}}
	return []mode{
		{name: "stops after a tool, stays", rows: "A1", process: fake.AgentFaultStops, real: &play{fault: fake.FaultHangLater}, want: harness.Hang, set: hasty},
		{name: "stays after its result", rows: "A2", process: fake.AgentFaultStays, real: &play{lay: lateHook}, want: harness.Valid, set: shortGrace},
		{name: "ends without a result", rows: "A3", process: fake.AgentFaultNoResult, want: harness.NoResult, never: only("only a signal ends it so")},
		{
			name: "output ends, the session file goes on", rows: "A4", process: fake.AgentFaultShort, play: play{lay: sessionFile}, want: harness.NoResult,
			never: only("its output and its session file end together"),
		},
		{name: "waits for the end of its input", rows: "A5", want: harness.Valid},
		{name: "takes only a prompt that is there", rows: "A6", process: fake.AgentFaultHasty, want: harness.Valid},
		{
			name: "a grandchild holds the output", rows: "A7", process: fake.AgentFaultPipeHeld, want: harness.Valid,
			never: only("its commands do not inherit its output, which is a socket and cannot be opened again"),
		},
		{name: "leaves processes behind", rows: "A8", before: leave, want: harness.Valid},
		{name: "leaves processes and hangs", rows: "A8", before: leave, play: play{fault: fake.FaultHangLater}, want: harness.Hang, set: hasty},
		{
			name: "background work cut off", rows: "A10", process: fake.AgentFaultBackground, want: harness.BackgroundKilled,
			never: only("the launch profile switches background work off"),
		},
		{name: "killed", play: play{fault: fake.FaultCrash}, want: harness.Cancelled},
		{name: "terminated", play: play{fault: fake.FaultTerminate}, want: harness.Cancelled},
		{name: "last line cut at 64 KiB", process: fake.AgentFaultCutLine, want: harness.Truncated, never: only("its output is drained at once")},
		{name: "half a line of JSON", process: fake.AgentFaultGarbage, want: harness.Malformed, never: only("nobody but it can write to its output")},
		{name: "another model takes over", rows: "B10", process: fake.AgentFaultFallback, want: harness.WrongModel, never: only("the service decides it, in a way not known")},
		{name: "the model refused, in a line", rows: "B12", process: fake.AgentFaultRefusal, want: harness.Refusal, never: only("it says so in its last line, as above")},
		{name: "a session's id again", process: fake.AgentFaultSameSession, want: harness.Duplicate, twice: true, never: only("it draws an id for every session")},
		{name: "disk full", want: harness.Disk, set: fullDisk},
		{
			name: "killed for want of memory", want: harness.OutOfMemory,
			never: map[string]string{standIn: memoryFaked, realCLI: memoryFaked},
		},
	}
}

const memoryFaked = "the kernel's count cannot be raised from a test; TestKillForWantOfMemory (internal/agent) gives the counts"

// startModes are what goes wrong before the first line and with it.
func startModes() []mode {
	return []mode{
		{name: "no output, exit 0", rows: "B8", process: fake.AgentFaultSilent, want: harness.NoOutput, never: only("it exits with 1 when it has nothing to print")},
		{
			name: "no output, exit 1", rows: "A13", process: fake.AgentFaultExit, want: harness.Startup, set: asRoot,
			look: func(t *testing.T, got harness.Trial) {
				if !strings.Contains(got.Why, "exited with 1") {
					t.Errorf("why %q, want the exit code", got.Why)
				}
			},
		},
		{name: "start refused, in a result", rows: "B9", process: fake.AgentFaultRoot, real: &play{lay: brokenConfig}, want: harness.Startup},
		{
			name: "a usage limit in plain text", rows: "B4", process: fake.AgentFaultLimitText, want: harness.UsageLimit, look: lifts(0, 24*time.Hour),
			never: only("this version says it in its last line"),
		},
		{name: "the first line never comes", rows: "A12", process: fake.AgentFaultLateInit, real: &play{lay: sleepyHook}, want: harness.StartupHang, set: shortStart},
		{name: "no first line, but an end", process: fake.AgentFaultNoInit, want: harness.NoInit, never: only("it prints its first line before it asks")},
		{name: "another version", process: fake.AgentFaultVersion, want: harness.VersionDrift, set: otherVersion},
		{name: "somebody else's plugin", process: fake.AgentFaultForeign, want: harness.ForeignPlugin, never: only("settings are off and one plugin is named")},
		{name: "plugin from a cache", process: fake.AgentFaultStale, want: harness.StalePlugin, never: only("the plugin is named by its directory")},
	}
}

// hookModes are what goes wrong with the plugin and its hook.
func hookModes() []mode {
	const hook, hooks, note = "hooks/session-start", "hooks/hooks.json", "hooks/session-start-note.md"
	flat := "#!/bin/sh\necho '{\"additionalContext\":\"[os-adr] x\"}'\n"
	slow := inPlugin(hook, to("#!/bin/sh\nsleep 612\n"))
	damaged := func(name string, lay func(*isolate.Box) error, want harness.Class) mode {
		return mode{name: name, play: play{lay: lay}, want: want}
	}
	return []mode{
		damaged("plugin half loaded", inPlugin(hooks, to(`{"hooks": {`)), harness.PluginNotLoaded),
		damaged("plugin missing", without(""), harness.PluginNotLoaded),
		damaged("two hooks", inPlugin(hooks, twiceEach), harness.ForeignHook),
		damaged("hook fails", inPlugin(hook, to("#!/bin/sh\nexit 1\n")), harness.HookNotDelivered),
		damaged("hook says nothing", inPlugin(hook, to("#!/bin/sh\nexit 0\n")), harness.HookNotDelivered),
		damaged("hook missing", without(hook), harness.HookNotDelivered),
		damaged("hooks.json missing", without(hooks), harness.HookNotDelivered),
		damaged("hook's program missing", inPlugin(hook, to("#!/bin/sh\nset -e\nno-such-program --note\n")), harness.HookNotDelivered),
		damaged("hook's interpreter missing", inPlugin(hook, to("#!/usr/bin/no-such-interpreter\n")), harness.HookNotDelivered),
		damaged("hook prints plain text", inPlugin(hook, to("#!/bin/sh\ncat \"${0%/*}/session-start-note.md\"\n")), harness.HookNotDelivered),
		damaged("hook prints two documents", inPlugin(hook, to(flat+strings.TrimPrefix(flat, "#!/bin/sh\n"))), harness.HookNotDelivered),
		damaged("broken manifest", inPlugin(".claude-plugin/plugin.json", to(`{"name": "os-adr",`)), harness.PluginNotLoaded),
		damaged("skill cut", inPlugin("skills/find-decision/SKILL.md", swap("why something was decided", "it")), harness.NotExposed),
		damaged("skill missing", without("skills/find-decision"), harness.NotExposed),
		damaged("hook too slow", both(slow, inPlugin(hooks, waits(1))), harness.HookNotDelivered),
		damaged("hook prints flat JSON", inPlugin(hook, to(flat)), harness.HookNotDelivered),
		damaged("hook names another event", inPlugin(hook, swap("SessionStart", "SessionEnd")), harness.HookNotDelivered),
		damaged("note of 10,001 characters", inPlugin(note, func(text string) string { return text + strings.Repeat("n", 10_001-len([]rune(text))) }), harness.HookTruncated),
		damaged("another note", inPlugin(note, to("[os-adr] Nothing to see here.\n")), harness.HookNotDelivered),
	}
}

// without removes a file or a folder of the plugin's copy.
func without(name string) func(*isolate.Box) error {
	return func(box *isolate.Box) error { return os.RemoveAll(filepath.Join(box.Plugin, name)) }
}

func both(first, second func(*isolate.Box) error) func(*isolate.Box) error {
	return func(box *isolate.Box) error { return errors.Join(first(box), second(box)) }
}

// changeCommands rewrites every list of commands in a hooks.json.
func changeCommands(text string, change func(list []any) []any) string {
	var doc any
	if err := json.Unmarshal([]byte(text), &doc); err != nil {
		panic(err)
	}
	var walk func(v any)
	walk = func(v any) {
		switch v := v.(type) {
		case map[string]any:
			if list, ok := v["hooks"].([]any); ok {
				v["hooks"] = change(list)
				return
			}
			for _, sub := range v {
				walk(sub)
			}
		case []any:
			for _, sub := range v {
				walk(sub)
			}
		}
	}
	walk(doc)
	data, err := json.Marshal(doc)
	if err != nil {
		panic(err)
	}
	return string(data)
}

// twiceEach adds a hook beside each one: another command, for the CLI runs equal
// ones once.
func twiceEach(text string) string {
	return changeCommands(text, func(list []any) []any { return append(list, map[string]any{"type": "command", "command": "echo more"}) })
}

// waits sets the seconds that the CLI itself gives a hook.
func waits(seconds int) func(string) string {
	return func(text string) string {
		return changeCommands(text, func(list []any) []any {
			for _, h := range list {
				h.(map[string]any)["timeout"] = seconds
			}
			return list
		})
	}
}

// lateHook has the session run a program at its end that does not end.
func lateHook(box *isolate.Box) error {
	return inPlugin("hooks/hooks.json", func(text string) string {
		var doc map[string]any
		if err := json.Unmarshal([]byte(text), &doc); err != nil {
			panic(err)
		}
		doc["hooks"].(map[string]any)["SessionEnd"] = []any{map[string]any{
			"hooks": []any{map[string]any{"type": "command", "command": "sleep 613", "timeout": 600}},
		}}
		data, err := json.Marshal(doc)
		if err != nil {
			panic(err)
		}
		return string(data)
	})(box)
}

// sleepyHook sleeps for longer than the start clock, and the CLI waits for it.
func sleepyHook(box *isolate.Box) error {
	return both(inPlugin("hooks/session-start", to("#!/bin/sh\nsleep 614\n")), inPlugin("hooks/hooks.json", waits(600)))(box)
}

// brokenConfig leaves a file the real CLI cannot start with.
func brokenConfig(box *isolate.Box) error {
	file := filepath.Join(box.Config, ".claude.json")
	return errors.Join(os.WriteFile(file, []byte(`{"numStartups":`), 0o644), own(file))
}

// own gives a file to who sessions run as.
func own(file string) error {
	if id := nobody(); id != 0 {
		return os.Chown(file, id, id)
	}
	return nil
}

// sessionFile leaves the CLI's own record of a session that went on.
func sessionFile(box *isolate.Box) error {
	dir := filepath.Join(box.Config, "projects", "x")
	line := `{"type":"assistant","message":{"id":"msg_9","model":"claude-haiku-5-5","content":[{"type":"tool_use","id":"t9","name":"Read","input":{"file_path":"docs/adr/0001.md"}}]}}` + "\n"
	return errors.Join(os.MkdirAll(dir, 0o755), os.WriteFile(filepath.Join(dir, "s.jsonl"), []byte(strings.Repeat(line, 20)), 0o644))
}

func shortGrace(_ *testing.T, b *bench, _ string) { b.o.Suite.Launch.Clocks.Grace = time.Second }

func shortStart(_ *testing.T, b *bench, agent string) {
	b.o.Suite.Launch.Clocks.Startup = time.Second
	if agent == realCLI {
		b.o.Suite.Launch.Clocks.Startup = 20 * time.Second
	}
}

// asRoot runs the real CLI as root, which it refuses to be.
func asRoot(t *testing.T, b *bench, agent string) {
	if agent != realCLI {
		return
	}
	if os.Geteuid() != 0 {
		t.Skip("the test is not root")
	}
	b.o.UID, b.o.GID = 0, 0
}

// otherVersion expects another version of the real CLI than there is.
func otherVersion(_ *testing.T, b *bench, agent string) {
	if agent == realCLI {
		b.o.Agent.Version = "2.1.331"
	}
}

// fullDisk has no room for a sandbox.
func fullDisk(t *testing.T, b *bench, _ string) {
	if err := syscall.Access("/proc/self/mounts", 4); err != nil {
		t.Skip(err)
	}
	b.o.Sandboxes = smallDisk(t, "100k")
}
