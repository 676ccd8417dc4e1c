package app

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"loopd/candidates"
	"loopd/candidates/propose"
	"loopd/harness"
	"loopd/internal/agent"
)

// ProposerCommand is a program that proposes.
type ProposerCommand struct {
	Args  []string // the program and its arguments; a program without "/" is looked for on the PATH
	Limit time.Duration
	// Environ is loopd's own environment, of which the names of passedOn are
	// handed on.
	Environ []string
}

var _ propose.Model = ProposerCommand{}

// passedOn are the names of the environment that a command is given. No variable
// that holds a credential is among them: a command finds its own in HOME.
func passedOn() []string { return []string{"PATH", "HOME", "USER", "LANG", "LC_ALL", "TZ"} }

// Propose runs the command once, in an empty directory of its own. A *Refusal is
// an answer that brought nothing; any other error is loopd's own.
func (c ProposerCommand) Propose(ctx context.Context, b propose.Brief) ([]candidates.Candidate, error) {
	if len(c.Args) == 0 || c.Limit <= 0 {
		return nil, errors.New("ask proposer: no command or no limit")
	}
	brief, err := json.Marshal(b)
	if err != nil {
		return nil, fmt.Errorf("ask proposer: %w", err)
	}
	room, err := os.MkdirTemp("", "")
	if err != nil {
		return nil, fmt.Errorf("ask proposer: %w", err)
	}
	defer os.RemoveAll(room)
	out := &bounded{most: propose.MaxAnswer}
	exit, err := agent.Run(ctx, agent.Launch{
		Path: lookUp(c.Args[0], c.value("PATH")), Argv0: c.Args[0], Args: c.Args[1:], Env: c.environ(room), Dir: room, Stdin: brief,
		Stdout: out, Stderr: io.Discard, Clocks: harness.Clocks{Total: c.Limit, Grace: time.Second}, Marker: room,
	})
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case out.full:
		return nil, refusal(propose.Failed, "more than %d KiB of output", propose.MaxAnswer>>10)
	case err != nil:
		return nil, refusal(propose.Failed, "the command cannot be run: %s", reason(err))
	case exit.LimitTime || exit.Cause != "":
		return nil, refusal(propose.Hung, "no answer within %v", c.Limit)
	case exit.Code != 0:
		return nil, refusal(propose.Failed, "the command exited with %d", exit.Code)
	}
	return propose.ParseAnswer(b, out.Bytes())
}

func refusal(why propose.Why, format string, args ...any) *propose.Refusal {
	return &propose.Refusal{Why: why, Detail: fmt.Sprintf(format, args...)}
}

// reason is the innermost error, which names no file.
func reason(err error) string {
	for {
		next := errors.Unwrap(err)
		if next == nil {
			return err.Error()
		}
		err = next
	}
}

// environ is the whole environment of the command. TMPDIR is its own directory,
// by which what it leaves behind is known.
func (c ProposerCommand) environ(room string) []string {
	var out []string
	for _, name := range passedOn() {
		if v := c.value(name); v != "" {
			out = append(out, name+"="+v)
		}
	}
	return append(out, "TMPDIR="+room)
}

func (c ProposerCommand) value(name string) string {
	value := ""
	for _, e := range c.Environ {
		if v, ok := strings.CutPrefix(e, name+"="); ok {
			value = v
		}
	}
	return value
}

// lookUp finds a program on a PATH; what is not found is left to the system to
// refuse.
func lookUp(program, path string) string {
	if strings.ContainsRune(program, os.PathSeparator) {
		return program
	}
	for dir := range strings.SplitSeq(path, string(os.PathListSeparator)) {
		file := dir + string(os.PathSeparator) + program
		if info, err := os.Stat(file); err == nil && info.Mode().IsRegular() && info.Mode().Perm()&0o111 != 0 {
			return file
		}
	}
	return program
}

// bounded keeps output up to a bound and refuses what is beyond.
type bounded struct {
	bytes.Buffer
	most int
	full bool
}

// Write keeps the bytes, or refuses them.
func (b *bounded) Write(p []byte) (int, error) {
	if b.full = b.full || b.Len()+len(p) > b.most; b.full {
		return 0, errors.New("too much output")
	}
	return b.Buffer.Write(p)
}
