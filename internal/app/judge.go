package app

import (
	"context"

	"loopd/harness"
	"loopd/internal/config"
	"loopd/internal/hint"
	"loopd/internal/trial"
)

// Judge is a judge with its name, empty when no scenario asks one.
type Judge struct {
	Name string
	// Make makes the judge once the options of the sessions are complete: a judge
	// that is a session itself is launched as they are. Nil makes none.
	Make func(ctx context.Context, o trial.Options) (trial.Judge, error)
}

// ChooseJudge chooses the judge: the command of the settings or of the Environment,
// else the agent CLI with the model of the launch profile. The judge made is
// nil when no scenario asks one.
func ChooseJudge(e Env, cfg config.Config, s harness.Suite) (Judge, error) {
	asks := ""
	for _, sc := range s.Scenarios {
		if sc.Judge != "" {
			asks = sc.ID
		}
	}
	command := JudgeCommand(e, cfg, s.Launch.Judge)
	switch {
	case asks == "":
		return Judge{}, nil
	case command != "":
		return Judge{trial.CommandName(command), func(context.Context, trial.Options) (trial.Judge, error) {
			return trial.CommandJudge{Command: command, Rubric: s.Rubric}, nil
		}}, nil
	case s.Launch.Judge.Model != "":
		return Judge{s.Launch.Judge.Model, func(ctx context.Context, o trial.Options) (trial.Judge, error) { return trial.NewCLIJudge(ctx, o) }}, nil
	}
	return Judge{}, hint.Usagef("LOOPD_JUDGE_CMD=./judge.sh loopd run --sessions 400", "start campaign: scenario %s asks a judge and none is set", asks)
}

// JudgeCommand is the command that judges, empty for none: that of the settings,
// else of LOOPD_JUDGE_CMD, else of the variable the suite names.
func JudgeCommand(e Env, cfg config.Config, profile harness.JudgeProfile) string {
	command := cfg.Judge
	for _, name := range []string{"LOOPD_JUDGE_CMD", profile.CommandEnv} {
		if command == "" && name != "" {
			command = e.Getenv(name)
		}
	}
	return command
}
