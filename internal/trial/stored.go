package trial

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"loopd/harness"
	"loopd/harness/transcript"
	"loopd/harness/unprompted"
	"loopd/internal/isolate"
)

// Stored is a run on disk: its stream, and what it left of the project.
type Stored struct {
	Transcript *transcript.Transcript
	End        harness.Tree
}

// ReadStored reads a kept attempt (transcript.jsonl and changes.json), or the
// directory of a project with the transcript.jsonl of the session that worked
// there.
func ReadStored(ctx context.Context, dir string, start harness.Tree) (Stored, error) {
	f, err := os.Open(filepath.Join(dir, TranscriptFile))
	if gone := Pruned(dir); err != nil && gone != nil {
		return Stored{}, fmt.Errorf("read run %s: %w", dir, gone)
	}
	if err != nil {
		return Stored{}, fmt.Errorf("read run: %w", err)
	}
	defer f.Close()
	t, err := transcript.Parse(bufio.NewReaderSize(f, 64<<10), transcript.Limits{})
	if err != nil {
		return Stored{}, fmt.Errorf("read run %s: %w", dir, err)
	}
	data, err := os.ReadFile(filepath.Join(dir, ChangesFile))
	if errors.Is(err, fs.ErrNotExist) {
		end, err := isolate.ReadProject(ctx, dir, TranscriptFile)
		return Stored{t, end}, err
	}
	if err != nil {
		return Stored{}, fmt.Errorf("read run: %w", err)
	}
	var c Changes
	if err := json.Unmarshal(data, &c); err != nil {
		return Stored{}, fmt.Errorf("read run %s: %s: %w", dir, ChangesFile, err)
	}
	return Stored{t, c.Apply(start)}, nil
}

// Score scores a stored run of a scenario. Only what the stream itself says is
// known about the launch, so nothing is compared with pins. A question that
// nobody answers makes the run judge_error.
func (s Stored) Score(ctx context.Context, suite harness.Suite, sc harness.Scenario, start harness.Tree, judge Judge) (harness.Class, string, harness.Result) {
	invalid := harness.Result{Kind: harness.Unprompted, Case: sc.ID, Outcome: harness.Invalid}
	want := transcript.Want{Plugin: suite.Checker.Plugin, Envelope: suite.Launch.Note.Envelope, Silent: sc.Hook == harness.HookSilent}
	if v := transcript.Validity(s.Transcript, want, transcript.External{}); v.Class != harness.Valid {
		return v.Class, v.Why, invalid
	}
	in := unprompted.Input{Scenario: sc, Checker: suite.Checker, Transcript: s.Transcript, Start: start, End: s.End}
	ev := unprompted.Evaluate(in)
	if ev.Question == nil {
		return harness.Valid, "", ev.Result
	}
	if judge == nil {
		return harness.JudgeError, "no file settles it and there is no judge", invalid
	}
	reply, err := judge.Judge(ctx, *ev.Question)
	if err != nil {
		return harness.JudgeError, err.Error(), invalid
	}
	in.Answer = &reply.Yes
	return harness.Valid, "", unprompted.Evaluate(in).Result
}

// StartOf is the project every session of a scenario starts from.
func StartOf(s harness.Suite, sc harness.Scenario, graphs map[string]harness.Tree) (harness.Tree, error) {
	tree, err := s.Fixtures[sc.Fixture].With(sc.Changes)
	if err != nil {
		return nil, fmt.Errorf("prepare scenario %s: %w", sc.ID, err)
	}
	if sc.Graph {
		for name, f := range graphs[sc.Fixture] {
			tree[graphDir+"/"+name] = f
		}
	}
	return tree, nil
}

// LayOut writes the project of a scenario to a new directory, as a git
// repository with one commit.
func LayOut(ctx context.Context, s harness.Suite, sc harness.Scenario, graphs map[string]harness.Tree, dest string) (err error) {
	tree, err := StartOf(s, sc, graphs)
	if err != nil {
		return err
	}
	git, err := isolate.NewGitTemplate(ctx, tree)
	if err != nil {
		return err
	}
	box, err := isolate.New(ctx, isolate.Options{Fixture: tree, PluginName: s.Checker.Plugin, Git: git})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, box.Remove()) }()
	if err := os.CopyFS(dest, os.DirFS(box.Work)); err != nil {
		return fmt.Errorf("lay out sandbox: %w", err)
	}
	return nil
}

// ReadJudged returns the message of a kept attempt as its judge was shown it. A
// transcript or question that gives another is an error.
func ReadJudged(ctx context.Context, dir string, sc harness.Scenario, j harness.Judgement) (string, error) {
	run, err := ReadStored(ctx, dir, harness.Tree{})
	if err != nil {
		return "", err
	}
	message := shown(unprompted.Judged(sc, run.Transcript))
	if hexDigest([]byte(message)) != j.Message || hexDigest([]byte(sc.Judge)) != j.Question {
		return "", fmt.Errorf("read run %s: not the question and the message that were judged", dir)
	}
	return message, nil
}
