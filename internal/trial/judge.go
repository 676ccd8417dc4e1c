package trial

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"loopd/harness"
	"loopd/harness/unprompted"
	"loopd/internal/gateway"
	"loopd/internal/isolate"
)

const (
	// judgeLimit bounds one answer where the judge itself names no limit.
	judgeLimit = 2 * time.Minute
	// maxAnswer is more than any judge has to say: a word, or one JSON line.
	maxAnswer = 256 << 10
)

var (
	_ Judge = CommandJudge{}
	_ Judge = (*CLIJudge)(nil)
)

// CommandJudge asks a command: rubric, question and message on standard input,
// YES or NO on standard output. It is started in an empty directory: where
// loopd was started a judge that is an agent itself would read the project's
// instructions and run its hooks.
type CommandJudge struct {
	Command string // read by sh; a relative path it begins with is from loopd's directory
	Rubric  string
	Limit   time.Duration // two minutes when 0
}

// Judge runs the command once. Anything but YES or NO is an error.
func (j CommandJudge) Judge(ctx context.Context, q unprompted.Question) (JudgeReply, error) {
	out := &answerWriter{}
	err := j.run(ctx, out, JudgePrompt(j.Rubric, q))
	r := JudgeReply{Rubric: hexDigest([]byte(j.Rubric)), Text: out.text()}
	if err == nil {
		r.Yes, err = yesOrNo(r.Text)
	}
	return r, err
}

// run runs the command and waits for its end.
func (j CommandJudge) run(ctx context.Context, out *answerWriter, prompt string) error {
	limit := j.Limit
	if limit == 0 {
		limit = judgeLimit
	}
	timed, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	room, err := os.MkdirTemp("", "")
	if err != nil {
		return fmt.Errorf("ask judge: %w", err)
	}
	defer os.RemoveAll(room)
	cmd := exec.CommandContext(timed, "sh", "-c", fromHere(j.Command))
	cmd.Dir = room
	cmd.Stdin, cmd.Stdout = strings.NewReader(prompt), out
	// What the command started goes down with it.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = time.Second
	err = cmd.Run()
	switch {
	case ctx.Err() != nil:
		return fmt.Errorf("ask judge: %w", ctx.Err())
	case timed.Err() != nil:
		return fmt.Errorf("ask judge: no answer within %v", limit)
	case out.full:
		return errTalkative
	case err != nil:
		return fmt.Errorf("ask judge: %w", err)
	}
	return nil
}

// fromHere makes the program of a command that begins with a relative path
// findable from another directory.
func fromHere(command string) string {
	word, rest, _ := strings.Cut(strings.TrimSpace(command), " ")
	if !strings.Contains(word, "/") || filepath.IsAbs(word) || strings.ContainsAny(word, "'\"`$\\~=<>|&;()\n") {
		return command
	}
	abs, err := filepath.Abs(word)
	if err != nil {
		return command
	}
	return "'" + strings.ReplaceAll(abs, "'", `'\''`) + "' " + rest
}

// CLIJudge asks the agent CLI itself, in a session without tools, hooks,
// settings or plugins: the rubric is its system prompt, question and message
// are its only prompt. Each answer comes from a process of its own, in an empty
// directory, through the gateway and within the walls sessions have.
type CLIJudge struct {
	executor *Executor
	limit    time.Duration
	git      *isolate.GitTemplate
	project  harness.Tree // of the box; the judge is not started in it
}

// NewCLIJudge makes the judge of a suite that names a model for it. Of the
// options it needs what launches a session: Suite, Agent, Gateway, Walls,
// Hidden, Sandboxes and the user.
func NewCLIJudge(ctx context.Context, o Options) (*CLIJudge, error) {
	if o.Suite.Launch.Judge.Model == "" || o.Gateway == nil {
		return nil, errors.New("make judge: the launch profile names no model, or there is no gateway")
	}
	j := &CLIJudge{executor: &Executor{o: o.timed()}, limit: judgeLimit}
	j.project = harness.Tree{"README.md": harness.File{Mode: 0o644, Data: []byte("Notes\n")}}
	var err error
	if j.git, err = isolate.NewGitTemplate(ctx, j.project); err != nil {
		return nil, fmt.Errorf("make judge: %w", err)
	}
	return j, nil
}

// Judge runs the CLI once. Anything but an answer of YES or NO is an error.
func (j *CLIJudge) Judge(ctx context.Context, q unprompted.Question) (r JudgeReply, err error) {
	o := j.executor.o
	box, err := isolate.New(ctx, isolate.Options{
		Base: o.Sandboxes, Fixture: j.project, PluginName: "empty", Git: j.git, UID: o.UID, GID: o.GID,
	})
	if err != nil {
		return r, fmt.Errorf("ask judge: %w", err)
	}
	defer func() { err = errors.Join(err, box.Remove()) }()
	rubric, err := o.layRubric(box)
	if err != nil {
		return r, fmt.Errorf("ask judge: %w", err)
	}
	tap := o.Gateway.Open(gateway.Session{})
	defer tap.Close()
	defer func() { err = limited(ctx, tap.Report(), j.executor.o.Now(), err) }()
	out := &answerWriter{}
	exit, err := j.executor.once(ctx, box, tap, out, launchedPrompt{j.limit, judgeArgs(o.Suite.Launch.Judge.Model, rubric.file), JudgePrompt("", q)})
	r.Rubric, r.Text = rubric.digest, out.text()
	switch {
	case ctx.Err() != nil:
		return r, fmt.Errorf("ask judge: %w", ctx.Err())
	case err != nil:
		return r, fmt.Errorf("ask judge: %w", err)
	case exit.Cause != "" || exit.LimitTime:
		return r, fmt.Errorf("ask judge: no answer within %v", j.limit)
	case exit.Survivors > 0:
		return r, fmt.Errorf("ask judge: %d processes of it could not be ended", exit.Survivors)
	}
	r.Yes, err = readAnswer(r.Text)
	return r, err
}

// LimitedError says that a limit of the account kept the judge from answering.
// Asking again soon is no use.
type LimitedError struct {
	Until time.Time // when the limit is over, zero where nobody said
	Err   error     // what came instead of an answer
}

// Error says what came instead of an answer.
func (e *LimitedError) Error() string { return "a limit of the account: " + e.Err.Error() }

// Unwrap returns what came instead of an answer.
func (e *LimitedError) Unwrap() error { return e.Err }

// limited names the limit in an error of a judge whose last request was refused
// for one.
func limited(ctx context.Context, seen gateway.Report, now time.Time, err error) error {
	if err == nil || ctx.Err() != nil || seen.Limited == nil {
		return err
	}
	until, _ := gateway.Lifts(seen.Limited, now)
	return &LimitedError{until, err}
}

// laidRubric is the rubric where the judge reads it, and the sha256 of what was
// written there.
type laidRubric struct{ file, digest string }

// layRubric writes the rubric where only the judge's user can read it.
func (o Options) layRubric(box *isolate.Box) (laidRubric, error) {
	return o.laySystem(box, o.Suite.Rubric)
}

// judgeArgs are the arguments of a judge, without the program's name: nothing
// of the rubric, which is read from its file. Options that take several values
// are written with "=".
func judgeArgs(model, rubric string) []string {
	return []string{
		"-p", "--output-format", "json", "--setting-sources=", "--tools=", "--disable-slash-commands", "--strict-mcp-config",
		"--no-session-persistence", "--max-turns", "1", "--model", model, "--system-prompt-file", rubric,
	}
}

// readAnswer reads the one line the CLI prints for a judge.
func readAnswer(line string) (bool, error) {
	r, err := readSaid(line)
	if err != nil {
		return false, fmt.Errorf("ask judge: %w", err)
	}
	return yesOrNo(r.Text)
}

func yesOrNo(text string) (bool, error) {
	switch strings.ToUpper(strings.TrimSpace(text)) {
	case "YES":
		return true, nil
	case "NO":
		return false, nil
	}
	return false, fmt.Errorf("ask judge: the answer is neither YES nor NO (%d bytes)", len(text))
}

// answerWriter keeps an answer and takes no more than one can be long, so that
// whoever never stops talking is cut off.
type answerWriter struct {
	most int // bytes; maxAnswer when 0
	data []byte
	full bool
}

var errTalkative = fmt.Errorf("ask judge: more than %d KiB of output", maxAnswer>>10)

func (w *answerWriter) text() string { return string(w.data) }

// Write keeps the bytes, or refuses them.
func (w *answerWriter) Write(p []byte) (int, error) {
	if w.full = w.full || len(w.data)+len(p) > cmp.Or(w.most, maxAnswer); w.full {
		return 0, errTalkative
	}
	w.data = append(w.data, p...)
	return len(p), nil
}
