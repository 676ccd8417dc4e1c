package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode"

	"github.com/goccy/go-yaml"

	"loopd/harness"
	"loopd/internal/atomicfile"
	"loopd/internal/campaign"
	"loopd/internal/git"
	"loopd/internal/hint"
	"loopd/internal/trial"
	"loopd/loop"
	"loopd/report"
)

// sheet is the file of judged messages that a person labels. It says neither
// arm, candidate nor tier, and not what the judge answered.
type sheet struct {
	Campaign string      `yaml:"campaign"`
	Items    []sheetItem `yaml:"items"`
}

type sheetItem struct {
	Number   int    `yaml:"number"`
	Key      string `yaml:"key"`
	Question string `yaml:"question"`
	Message  string `yaml:"message"`
	Label    string `yaml:"label"`
}

// sheetFile is the name of a sheet.
const sheetFile = "judged.yaml"

const sheetHead = `# Final messages that the judge was asked about, in random order. Write YES or NO
# after each "label:", by the question above the message, and then type
# loopd report --judged --labels judged.yaml
# A message may quote its task, which is held out: show this file to no model that
# proposes wording.
`

// runSheet writes the judged messages of the campaign to a file in dir, by
// default beside its reports.
func runSheet(ctx context.Context, e env, state, dir string) error {
	r, s, err := judgedCampaign(ctx, e, state)
	if err != nil {
		return err
	}
	suite, err := suiteOf(ctx, e, r, state)
	if err != nil {
		return err
	}
	if dir == "" {
		dir = r.home.Report(s.Started.Campaign)
	} else if dir, err = outsideRepositories(e.Path(dir)); err != nil {
		return err
	}
	out, lost := sheetOf(ctx, r.home, s, suite)
	if len(out.Items) == 0 {
		return hint.New(hint.Failed, fmt.Errorf("write judged messages: %d were judged, and the transcript of none is kept", lost), "loopd report")
	}
	data, err := out.bytes()
	if err != nil {
		return fmt.Errorf("write judged messages: %w", err)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("write judged messages: %w", err)
	}
	path := filepath.Join(dir, sheetFile)
	if _, err := os.Lstat(path); err == nil {
		return hint.Usagef(labelsCommand(path, state), "write judged messages: %s exists and may hold labels", path)
	}
	if err := atomicfile.WriteFile(path, data, 0o600); err != nil {
		return err
	}
	if lost > 0 {
		fmt.Fprintf(e.stderr, "loopd: %d judged messages are left out: their transcripts are not what was judged, or not kept\n", lost)
	}
	_, err = fmt.Fprintf(e.stdout, "%d judged messages in %s. They may hold held-out text.\n\nNext: %s\n", len(out.Items), path, labelsCommand(path, state))
	return err
}

// labelsCommand reads a sheet that was labelled.
func labelsCommand(path, state string) string {
	command := "loopd report --judged --labels " + quoted(path)
	if state != "" {
		command += " --state " + quoted(state)
	}
	return command
}

// judgedCampaign is the newest campaign, if it has judged messages.
func judgedCampaign(ctx context.Context, e env, state string) (review, *loop.State, error) {
	r, err := openReview(ctx, e, state)
	if err != nil {
		return r, nil, err
	}
	s, err := r.current()
	if err == nil && len(report.JudgedTrials(s)) == 0 {
		err = hint.Usagef("loopd report", "campaign %s has no message that a judge gave an answer to", s.Started.Campaign)
	}
	return r, s, err
}

// suiteOf opens the suite a campaign was run with: that of the settings, or the
// bundled one in the state directory given.
func suiteOf(ctx context.Context, e env, r review, state string) (harness.Suite, error) {
	if state != "" {
		sealed, err := campaign.OpenSuite(r.home.Suite())
		return sealed.Suite, err
	}
	l, err := loadConfig(e)
	if err != nil {
		return harness.Suite{}, err
	}
	sealed, err := openSuite(ctx, r.home, l.Config)
	return sealed.Suite, err
}

// outsideRepositories refuses a directory within a repository: held-out text
// that gets into one reaches whoever works there, a model among them.
func outsideRepositories(dir string) (string, error) {
	there := dir
	for {
		if _, err := os.Stat(there); err == nil || there == filepath.Dir(there) {
			break
		}
		there = filepath.Dir(there)
	}
	_, err := git.OpenUser(there)
	if _, none := errors.AsType[*git.NotRepositoryError](err); none {
		return dir, nil
	}
	return "", hint.Usagef("loopd report --judged", "write judged messages: %s lies in a git repository, and the messages may hold held-out text", dir)
}

// sheetOf reads the messages from the kept attempts; lost counts those that
// cannot be had as they were judged.
func sheetOf(ctx context.Context, h campaign.Home, s *loop.State, suite harness.Suite) (out sheet, lost int) {
	out.Campaign = s.Started.Campaign
	for _, t := range report.JudgedTrials(s) {
		sc, _ := suite.Scenario(t.Spec.Slot.Cell.Scenario)
		message, err := trial.ReadJudged(ctx, filepath.Join(h.Trials(), t.ID), sc, *t.Judgement)
		if err != nil {
			lost++
			continue
		}
		out.Items = append(out.Items, sheetItem{
			Number: len(out.Items) + 1, Key: report.JudgedKey(s, t.ID), Question: legible(sc.Judge), Message: legible(message),
		})
	}
	return out, lost
}

// legible is a text for a person to read, as a literal block of YAML can hold
// it: without control characters and without white space around it.
func legible(text string) string {
	text = strings.ReplaceAll(strings.ToValidUTF8(text, "\uFFFD"), "\t", "    ")
	return strings.TrimSpace(strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && r != '\n' || r == '\uFEFF' {
			return -1
		}
		return r
	}, text))
}

// bytes is the sheet as a file. What somebody else wrote stands in a literal
// block, also where it is one line: there nothing has a meaning in YAML.
func (s sheet) bytes() ([]byte, error) {
	s.Items = slices.Clone(s.Items)
	for i := range s.Items {
		for _, text := range []*string{&s.Items[i].Question, &s.Items[i].Message} {
			if *text != "" {
				*text += "\n"
			}
		}
	}
	data, err := yaml.MarshalWithOptions(s, yaml.UseLiteralStyleIfMultiline(true))
	return append([]byte(sheetHead), data...), err
}

// runLabels compares the labels of a sheet with the judge's answers. They change
// no verdict and enter no ledger.
func runLabels(ctx context.Context, e env, state, file string, asJSON bool) error {
	_, s, err := judgedCampaign(ctx, e, state)
	if err != nil {
		return err
	}
	labels, err := readLabels(e.Path(file))
	if err != nil {
		return err
	}
	got, err := report.Agree(s, labels)
	if err != nil {
		return hint.Usagef("loopd report --judged", "%w", err)
	}
	if asJSON {
		return printJSON(e.stdout, got)
	}
	return printAgreement(e, got, withState("loopd report", state))
}

// readLabels reads what a person wrote, true for YES, by key. An item without a
// label is left out.
func readLabels(path string) (map[string]bool, error) {
	bad := func(format string, args ...any) error {
		return hint.Usagef("loopd report --judged", "read labels: %s: "+format, append([]any{path}, args...)...)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, hint.Usagef("loopd report --judged", "read labels: %w", err)
	}
	var in sheet
	if err := yaml.UnmarshalWithOptions(data, &in, yaml.Strict()); err != nil {
		place, _, _ := strings.Cut(err.Error(), "\n") // the rest would show the messages
		return nil, bad("%s", place)
	}
	out := make(map[string]bool)
	for _, item := range in.Items {
		switch strings.ToUpper(strings.TrimSpace(item.Label)) {
		case "":
		case string(harness.AnswerYes):
			out[item.Key] = true
		case string(harness.AnswerNo):
			out[item.Key] = false
		default:
			return nil, bad("item %d: label: %q is neither YES nor NO", item.Number, item.Label)
		}
	}
	if len(out) == 0 {
		return nil, bad("no item has a label")
	}
	return out, nil
}

func printAgreement(e env, a report.Agreement, next string) error {
	w := e.table()
	fmt.Fprintln(w, "wording\tlabel is the judge's answer\tkappa")
	for _, arm := range append([]report.AgreementArm{a.All}, a.Arms...) {
		kappa := "none"
		if arm.Kappa != nil {
			kappa = fmt.Sprintf("%.2f", *arm.Kappa)
		}
		fmt.Fprintf(w, "%s\t%d/%d [%.2f, %.2f]\t%s\n", arm.Name, arm.K, arm.N, arm.CI.Low, arm.CI.High, kappa)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintf(e.stdout, "\n%d judged messages have no label. Labels change no verdict.\n\nNext: %s\n", a.Unlabeled, next)
	return err
}
