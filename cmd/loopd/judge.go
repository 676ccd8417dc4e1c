package main

import (
	"context"

	"loopd/harness"
	"loopd/internal/config"
	"loopd/internal/hint"
	"loopd/internal/trial"
)

// chosenJudge is a judge with its name, empty when no scenario asks one.
type chosenJudge struct {
	name string
	make judgeMaker
}

// judgeMaker makes the judge once the options of the sessions are complete: a
// judge that is a session itself is launched as they are.
type judgeMaker func(ctx context.Context, o trial.Options) (trial.Judge, error)

// judgeOf chooses the judge: the command of the settings or of the environment,
// else the agent CLI with the model of the launch profile. The judge made is
// nil when no scenario asks one.
func judgeOf(e env, cfg config.Config, s harness.Suite) (chosenJudge, error) {
	asks := ""
	for _, sc := range s.Scenarios {
		if sc.Judge != "" {
			asks = sc.ID
		}
	}
	command := judgeCommand(e, cfg, s.Launch.Judge)
	switch {
	case asks == "":
		return chosenJudge{make: func(context.Context, trial.Options) (trial.Judge, error) { return nil, nil }}, nil
	case command != "":
		return chosenJudge{trial.CommandName(command), func(context.Context, trial.Options) (trial.Judge, error) {
			return trial.CommandJudge{Command: command, Rubric: s.Rubric}, nil
		}}, nil
	case s.Launch.Judge.Model != "":
		return chosenJudge{s.Launch.Judge.Model, func(ctx context.Context, o trial.Options) (trial.Judge, error) { return trial.NewCLIJudge(ctx, o) }}, nil
	}
	return chosenJudge{}, hint.Usagef("LOOPD_JUDGE_CMD=./judge.sh loopd run --sessions 400", "start campaign: scenario %s asks a judge and none is set", asks)
}

// judgeCommand is the command that judges, empty for none: that of the settings,
// else of LOOPD_JUDGE_CMD, else of the variable the suite names.
func judgeCommand(e env, cfg config.Config, profile harness.JudgeProfile) string {
	command := cfg.Judge
	for _, name := range []string{"LOOPD_JUDGE_CMD", profile.CommandEnv} {
		if command == "" && name != "" {
			command = e.getenv(name)
		}
	}
	return command
}
