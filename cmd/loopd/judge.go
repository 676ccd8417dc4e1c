package main

import (
	"bytes"
	"context"
	"fmt"
	"os/exec"
	"strings"
	"time"

	"loopd/harness"
	"loopd/harness/unprompted"
	"loopd/internal/config"
	"loopd/internal/trial"
)

// judgeOf is the judge of the settings or of the environment, nil when no
// scenario asks one.
func judgeOf(e env, cfg config.Config, s harness.Suite) (trial.Judge, error) {
	asks := ""
	for _, sc := range s.Scenarios {
		if sc.Judge != "" {
			asks = sc.ID
		}
	}
	command := cfg.Judge
	for _, name := range []string{"LOOPD_JUDGE_CMD", "ADR_EVAL_B_JUDGE_CMD"} {
		if v := e.getenv(name); command == "" && v != "" {
			command = v
		}
	}
	switch {
	case asks == "":
		return nil, nil
	case command == "":
		return nil, usageError("LOOPD_JUDGE_CMD=./judge.sh loopd run --sessions 400", "start campaign: scenario %s asks a judge and none is set", asks)
	}
	return commandJudge{command: command, rubric: s.Rubric}, nil
}

// judgeLimit bounds one answer.
const judgeLimit = 2 * time.Minute

// commandJudge asks a command: the prompt on standard input, YES or NO on
// standard output.
type commandJudge struct{ command, rubric string }

// Judge runs the command once. Anything but YES or NO is an error.
func (j commandJudge) Judge(ctx context.Context, q unprompted.Question) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, judgeLimit)
	defer cancel()
	cmd := exec.CommandContext(ctx, "sh", "-c", j.command)
	cmd.WaitDelay = time.Second
	cmd.Stdin = strings.NewReader(trial.JudgePrompt(j.rubric, q))
	var out bytes.Buffer
	cmd.Stdout = &out
	if err := cmd.Run(); err != nil {
		return false, fmt.Errorf("ask judge: %w", err)
	}
	switch answer := strings.ToUpper(strings.TrimSpace(out.String())); answer {
	case "YES":
		return true, nil
	case "NO":
		return false, nil
	default:
		return false, fmt.Errorf("ask judge: the answer is neither YES nor NO (%d bytes)", out.Len())
	}
}
