package trial

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
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
	t, err := parseFile(dir)
	if gone := Pruned(dir); err != nil && gone != nil {
		err = gone
	}
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
	want := transcript.Want{Plugin: suite.Checker.Plugin, Envelope: suite.Launch.Note.Envelope, Silent: sc.Hook == harness.HookSilent}
	if v := transcript.Validity(s.Transcript, want, transcript.External{}); v.Class != harness.Valid {
		return v.Class, v.Why, invalidResult(sc.ID)
	}
	in := unprompted.Input{Scenario: sc, Checker: suite.Checker, Transcript: s.Transcript, Start: start, End: s.End}
	c, _ := check(in, func(q unprompted.Question) (*Judged, error) {
		if judge == nil {
			return &Judged{Why: "no file settles it and there is no judge"}, nil
		}
		reply, err := judge.Judge(ctx, q)
		if err != nil {
			return &Judged{Why: err.Error()}, nil
		}
		return &Judged{Yes: &reply.Yes}, nil
	})
	if c.class != "" {
		return c.class, c.why, invalidResult(sc.ID)
	}
	return harness.Valid, "", c.result
}

// graphDir is where a project keeps its code graph; git ignores it.
const graphDir = "graphify-out"

// start is what every session of a scenario begins with.
type start struct {
	tree harness.Tree
	git  *isolate.GitTemplate // nil where no session is started
	// project is the same for scenarios that start from the same files.
	project string
}

func startsOf(s harness.Suite, graphs map[string]harness.Tree) (map[string]start, error) {
	out := make(map[string]start)
	for _, sc := range s.Scenarios {
		tree, err := StartOf(s, sc, graphs)
		if err != nil {
			return nil, err
		}
		out[sc.ID] = start{tree: tree, project: digestOf(tree)}
	}
	return out, nil
}

// digestOf is the same for trees with the same files; hex.
func digestOf(t harness.Tree) string {
	sum := sha256.New()
	for _, name := range t.Paths() {
		fmt.Fprintf(sum, "%s\x00%o\x00%d\x00", name, t[name].Mode, len(t[name].Data))
		sum.Write(t[name].Data)
	}
	return hex.EncodeToString(sum.Sum(nil))
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

// Want is what the ladder compared a kept attempt of a spec with.
func (e *Executor) Want(spec harness.Spec) (transcript.Want, error) {
	var k Kept
	data, err := os.ReadFile(filepath.Join(e.o.Store, spec.TrialID(), LaunchFile))
	if err == nil {
		err = json.Unmarshal(data, &k)
	}
	if err != nil {
		return k.Want, fmt.Errorf("read attempt: %w", err)
	}
	return k.Want, nil
}
