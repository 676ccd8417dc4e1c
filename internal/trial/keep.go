package trial

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"loopd/harness"
	"loopd/harness/transcript"
	"loopd/harness/unprompted"
	"loopd/internal/atomicfile"
)

// Kept is what scoring an attempt needs beside its stream and its changes, in
// launch.json.
type Kept struct {
	// Project is the project's directory as the session saw it.
	Project string `json:"project"`
	// Start is a digest of the project's files at the start, hex: what the session
	// left is kept as changes to these.
	Start    string              `json:"start"`
	Want     transcript.Want     `json:"want"`
	External transcript.External `json:"external"`
	// Changes is the sha256 of changes.json, hex; empty where none was kept.
	Changes string `json:"changes,omitempty"`
	// Judged is what came of asking a judge, nil where none was asked.
	Judged *Judged `json:"judged,omitempty"`
}

// Judged is a judge's answer to one question, or why there is none.
type Judged struct {
	// Question is the sha256 of rubric, question and message, hex: an answer to
	// another question is no answer.
	Question string `json:"question"`
	Yes      *bool  `json:"yes"`
	Why      string `json:"why,omitempty"`
	// Limited is set where a limit of the account kept the judge from answering:
	// until when, the zero time where nobody said.
	Limited *time.Time `json:"limited,omitempty"`
}

func questionDigest(rubric string, q unprompted.Question) string {
	var b bytes.Buffer
	for _, part := range []string{rubric, q.Text, q.Message} {
		fmt.Fprintf(&b, "%d:%s,", len(part), part)
	}
	return hexDigest(b.Bytes())
}

func hexDigest(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// write keeps the record and returns its digest.
func (k Kept) write(dir string) (string, error) {
	data, err := json.Marshal(k)
	if err != nil {
		return "", fmt.Errorf("keep launch: %w", err)
	}
	err = atomicfile.WriteFile(filepath.Join(dir, LaunchFile), data, 0o600)
	atomicfile.Failpoint("trial.store.launch")
	return hexDigest(data), err
}

// readKept reads a record of that digest.
func readKept(dir, digest string) (k Kept, err error) {
	if digest == "" {
		return k, fmt.Errorf("%s was not kept: the session is of an older loopd", LaunchFile)
	}
	err = readRecordedJSON(dir, LaunchFile, digest, &k)
	return k, err
}

// changes reads what the session left of the project.
func (k Kept) changes(dir string) (c Changes, err error) {
	if k.Changes == "" {
		return c, errors.New("it is valid now, and what it left of the project was not kept")
	}
	err = readRecordedJSON(dir, ChangesFile, k.Changes, &c)
	return c, err
}

func readRecordedJSON(dir, name, digest string, into any) error {
	data, err := readRecorded(dir, name, digest)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(data, into); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

// readRecorded reads a file of an attempt that must be the one recorded.
func readRecorded(dir, name, digest string) ([]byte, error) {
	data, err := os.ReadFile(filepath.Join(dir, name))
	if gone := Pruned(dir); err != nil && gone != nil {
		return nil, gone
	}
	if where, ok := errors.AsType[*fs.PathError](err); ok {
		return nil, fmt.Errorf("%s: %w", name, where.Err) // the folder is the trial's id
	}
	if err != nil {
		return nil, err
	}
	if hexDigest(data) != digest {
		return nil, fmt.Errorf("%s is not the one that was recorded", name)
	}
	return data, nil
}

// input is what the checker is given.
func (k Kept) input(sc harness.Scenario, c harness.Checker, tr *transcript.Transcript, start harness.Tree, changes Changes) unprompted.Input {
	return unprompted.Input{
		Scenario: sc, Checker: c, Transcript: tr, Project: k.Project, Start: start, End: changes.Apply(start), LimitTime: k.External.LimitTime,
	}
}

// PrunedFile stands in the folder of an attempt whose files were dropped to make
// room, and holds when.
const PrunedFile = "pruned"

// MarkPruned notes in the folder of an attempt that its files are being dropped.
func MarkPruned(dir string, now time.Time) error {
	return atomicfile.WriteFile(filepath.Join(dir, PrunedFile), []byte(now.UTC().Format(time.RFC3339)+"\n"), 0o600)
}

// PrunedError says that what was kept of an attempt was dropped on purpose.
type PrunedError struct{ On time.Time }

// Error says since when.
func (e *PrunedError) Error() string { return "pruned on " + e.On.Format(time.DateOnly) }

// Pruned returns a *PrunedError where the files of the attempt in dir were
// dropped, and nil where they are there, or gone for another reason.
func Pruned(dir string) error {
	data, err := os.ReadFile(filepath.Join(dir, PrunedFile))
	if err != nil {
		return nil
	}
	on, err := time.Parse(time.RFC3339, strings.TrimSpace(string(data)))
	if err != nil {
		return fmt.Errorf("pruned: %w", err)
	}
	return &PrunedError{On: on}
}
