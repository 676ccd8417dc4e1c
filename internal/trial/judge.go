package trial

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"loopd/harness/unprompted"
)

// Judge answers the question a checker was left with. Anything but YES or NO is
// an error.
type Judge interface {
	Judge(ctx context.Context, q unprompted.Question) (JudgeReply, error)
}

// JudgeReply is what one call of a judge came to. A call that failed may have one
// too: what was sent and what came back.
type JudgeReply struct {
	Yes    bool
	Rubric string // sha256 of the rubric as it was sent, hex; empty when it was not
	Text   string // what the judge printed, as it came
}

const (
	// judgeLimit bounds one answer where the judge itself names no limit.
	judgeLimit = 2 * time.Minute
	// maxAnswer is more than any judge has to say: a word, or one JSON line.
	maxAnswer = 256 << 10
	// maxJudged is how much of a final message a judge is shown, in bytes.
	maxJudged = 20_000
)

var (
	_ Judge = CommandJudge{}
	_ Judge = (*CLIJudge)(nil)
	_ Judge = (*Replies)(nil)
)

// JudgePrompt is what a judge reads: the rubric, the question, and the message
// as data between random marker lines, which the message cannot guess and so
// cannot close.
func JudgePrompt(rubric string, q unprompted.Question) string {
	marker := "----- " + rand.Text() + " -----"
	return strings.Join([]string{rubric, "Question: " + q.Text, marker, shown(q.Message), marker, "Answer YES or NO.", ""}, "\n")
}

// shown is the part of a message that a judge sees.
func shown(message string) string {
	if len(message) <= maxJudged {
		return message
	}
	return strings.ToValidUTF8(message[:maxJudged], "") // no half of a character
}

func yesOrNo(text string) (bool, error) {
	switch strings.ToUpper(strings.TrimSpace(text)) {
	case "YES":
		return true, nil
	case "NO":
		return false, nil
	}
	return false, fmt.Errorf("the answer is neither YES nor NO (%d bytes)", len(text))
}

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
	r := JudgeReply{Rubric: hexDigest([]byte(j.Rubric)), Text: string(out.data)}
	if err == nil {
		r.Yes, err = yesOrNo(r.Text)
	}
	if err != nil {
		err = fmt.Errorf("ask judge: %w", err)
	}
	return r, err
}

// run runs the command and waits for its end.
func (j CommandJudge) run(ctx context.Context, out *answerWriter, prompt string) error {
	limit := cmp.Or(j.Limit, judgeLimit)
	timed, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	empty, err := os.MkdirTemp("", "")
	if err != nil {
		return err
	}
	defer os.RemoveAll(empty)
	cmd := exec.CommandContext(timed, "sh", "-c", fromHere(j.Command))
	cmd.Dir = empty
	cmd.Stdin, cmd.Stdout = strings.NewReader(prompt), out
	// What the command started goes down with it.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = time.Second
	err = cmd.Run()
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case timed.Err() != nil:
		return fmt.Errorf("no answer within %v", limit)
	case out.full:
		return fmt.Errorf("%w: more than %d KiB", ErrTooLong, maxAnswer>>10)
	}
	return err
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
// are its only prompt.
type CLIJudge struct {
	oneShot *OneShot
	rubric  string
}

// NewCLIJudge makes the judge of a suite that names a model for it. Of the
// options it needs what launches a session: Suite, Agent, Gateway, Isolation,
// Hidden, Sandboxes and the user.
func NewCLIJudge(ctx context.Context, o Options) (*CLIJudge, error) {
	o.OneShotLimits = nil // a session that was paid for is judged
	shot, err := NewOneShot(ctx, o, o.Suite.Launch.Judge.Model, judgeLimit)
	if err != nil {
		return nil, fmt.Errorf("make judge: %w", err)
	}
	shot.what, shot.dir = "ask judge", "empty"
	return &CLIJudge{shot, o.Suite.Rubric}, nil
}

// Judge runs the CLI once. Anything but an answer of YES or NO is an error.
func (j *CLIJudge) Judge(ctx context.Context, q unprompted.Question) (r JudgeReply, err error) {
	printed, err := j.oneShot.ask(ctx, request{system: j.rubric, prompt: JudgePrompt("", q), most: maxAnswer}, func(reply Reply) (err error) {
		r.Yes, err = yesOrNo(reply.Text)
		return err
	})
	r.Rubric, r.Text = printed.system, printed.line
	return r, err
}

// Replies is a judge whose answers are given as the text a judge command would
// print, one a question. An empty list, or one that is used up, stands for a
// judge that gives no answer in time.
type Replies struct{ left []string }

// NewReplies makes the judge that gives these answers in turn.
func NewReplies(replies []string) *Replies { return &Replies{left: replies} }

// Judge reads the next answer as any judge's answer is read.
func (r *Replies) Judge(context.Context, unprompted.Question) (JudgeReply, error) {
	if len(r.left) == 0 {
		return JudgeReply{}, context.DeadlineExceeded
	}
	next := r.left[0]
	r.left = r.left[1:]
	yes, err := yesOrNo(next)
	return JudgeReply{Yes: yes, Text: next}, err
}

// answerWriter keeps an answer and takes no more than one can be long, so that
// whoever never stops talking is cut off.
type answerWriter struct {
	most int // bytes; maxAnswer when 0
	data []byte
	full bool
}

// ErrTooLong says that a program printed more than an answer can have.
var ErrTooLong = errors.New("more output than an answer can have")

// Write keeps the bytes, or refuses them.
func (w *answerWriter) Write(p []byte) (int, error) {
	if w.full = w.full || len(w.data)+len(p) > cmp.Or(w.most, maxAnswer); w.full {
		return 0, ErrTooLong
	}
	w.data = append(w.data, p...)
	return len(p), nil
}
