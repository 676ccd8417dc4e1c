package fake

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/google/uuid"
)

// maxNote is the longest context a hook may add; of anything longer the model
// gets a preview.
const (
	maxNote     = 10_000
	notePreview = 2_000
)

const hookName = "SessionStart:startup"

// hookOutcome says how a hook ended, in the stream's words.
type hookOutcome string

const (
	hookSuccess   hookOutcome = "success"
	hookError     hookOutcome = "error"
	hookCancelled hookOutcome = "cancelled"
)

// hookRun is one hook that ran.
type hookRun struct {
	id             string
	stdout, stderr string
	output         string
	exit           int
	outcome        hookOutcome
	note           string // what reaches the model; empty for nothing
}

// runHooks runs the SessionStart hooks side by side, prints their lines in the
// order of hooks.json and returns what reaches the model.
func (s *session) runHooks(ctx context.Context) []string {
	runs := make([]hookRun, len(s.plugin.hooks))
	for i := range runs {
		runs[i].id = uuid.NewString()
		s.out.line(hookStartedLine{"system", "hook_started", runs[i].id, hookName, "SessionStart", s.out.uuid(), s.id})
	}
	var wait sync.WaitGroup
	for i, h := range s.plugin.hooks {
		wait.Go(func() { runs[i].run(ctx, s, h) })
	}
	wait.Wait()
	var notes []string
	for _, r := range runs {
		if ctx.Err() != nil {
			return nil
		}
		s.out.line(hookResponseLine{
			"system", "hook_response", r.id, hookName, "SessionStart",
			r.output, r.stdout, r.stderr, r.exit, r.outcome, s.out.uuid(), s.id,
		})
		if r.note != "" {
			notes = append(notes, r.note)
		}
	}
	return notes
}

// run starts the program in its own session, so that a timeout ends all of it.
func (r *hookRun) run(ctx context.Context, s *session, h hookCommand) {
	ctx, cancel := context.WithTimeout(ctx, h.timeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, "/bin/sh", "-c", h.command)
	cmd.Dir = s.dir
	cmd.Env = s.childEnv("CLAUDE_PROJECT_DIR="+s.dir, "CLAUDE_PLUGIN_ROOT="+s.plugin.root)
	cmd.Stdin = bytes.NewReader(s.hookInput())
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	ownSession(cmd)
	err := cmd.Run()
	if errors.Is(err, exec.ErrWaitDelay) {
		err = nil // the program ended well, only a child of it holds the pipe
	}
	if ctx.Err() != nil {
		r.exit, r.outcome = 1, hookCancelled
		return
	}
	r.stdout, r.stderr = stdout.String(), stderr.String()
	r.output = r.stdout + r.stderr
	r.outcome = hookSuccess
	if err != nil {
		r.exit, r.outcome = exitCode(err), hookError
	}
	r.read()
}

// read interprets the output of a hook, as measured on the pinned CLI: one
// JSON object with the right event name delivers its additionalContext, even
// when the exit code is not 0; an object that is broken or says the wrong
// thing delivers nothing; other text is delivered as it is after exit 0.
func (r *hookRun) read() {
	text := strings.TrimSpace(r.stdout)
	object := strings.HasPrefix(text, "{") && strings.HasSuffix(text, "}")
	switch {
	case object:
		r.readObject(text)
	case text != "" && r.outcome == hookSuccess:
		r.note = hookName + " hook success: " + preview(text, maxNote)
	}
}

func (r *hookRun) readObject(text string) {
	var doc struct {
		HookSpecificOutput *struct {
			HookEventName     string
			AdditionalContext string
		}
	}
	err := json.Unmarshal([]byte(text), &doc)
	own := doc.HookSpecificOutput
	switch {
	case err != nil:
		r.fail(r.exit, fmt.Sprintf("Hook output looks like a JSON object but is not usable: %v", err))
	case own == nil:
	case own.HookEventName == "":
		r.fail(r.exit, `Hook JSON output validation failed: hookSpecificOutput is missing required field "hookEventName"`)
	case own.HookEventName != "SessionStart":
		r.fail(1, fmt.Sprintf("Hook returned incorrect event name: expected 'SessionStart' but got '%s'", own.HookEventName))
		r.stdout, r.output = "", r.stderr
	case own.AdditionalContext != "":
		r.note = "SessionStart hook additional context: " + preview(own.AdditionalContext, maxNote)
	}
}

func (r *hookRun) fail(exit int, why string) {
	r.exit, r.outcome, r.stderr = exit, hookError, why
}

// preview cuts what is too long for the model, as the CLI does.
func preview(text string, limit int) string {
	if len([]rune(text)) <= limit {
		return text
	}
	head := string([]rune(text)[:notePreview])
	return fmt.Sprintf("<persisted-output>\nOutput too large (%.1fKB).\n\nPreview (first 2KB):\n%s\n...\n</persisted-output>",
		float64(len(text))/1024, head)
}

func (s *session) hookInput() []byte {
	data, _ := json.Marshal(map[string]string{ // strings only: cannot fail
		"session_id":      s.id,
		"transcript_path": filepath.Join(s.env.value("CLAUDE_CONFIG_DIR"), "projects", s.id+".jsonl"),
		"cwd":             s.dir,
		"hook_event_name": "SessionStart",
		"source":          "startup",
	})
	return data
}

// childEnv is the environment of hooks and shell commands.
func (s *session) childEnv(more ...string) []string {
	return s.env.with(append([]string{"CLAUDECODE=1", "CLAUDE_CODE_ENTRYPOINT=sdk-cli", "CLAUDE_CODE_SESSION_ID=" + s.id}, more...)...)
}

// ownSession starts the command in a session of its own and makes cancelling
// kill all of it. Output pipes held open by a stray child do not hold us up.
func ownSession(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = 2 * time.Second
}

// exitCode is the shell's view of how a command ended.
func exitCode(err error) int {
	exit, ok := errors.AsType[*exec.ExitError](err)
	if !ok {
		return 127
	}
	if ws, ok := exit.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		return 128 + int(ws.Signal())
	}
	return exit.ExitCode()
}
