package trial

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"loopd/harness"
	"loopd/harness/transcript"
	"loopd/internal/atomicfile"
)

// The files of a kept attempt.
const (
	TranscriptFile = "transcript.jsonl"
	StderrFile     = "stderr.txt"
	ChangesFile    = "changes.json"
	LaunchFile     = "launch.json" // what is known from outside the stream
	NoteFile       = "note.txt"    // the expected text, where the hook computes it
)

// attemptFiles are the open files of an attempt. Output is redacted before the
// first byte is written.
type attemptFiles struct {
	dir            string
	out, err       *os.File
	stdout, stderr io.WriteCloser
	sum            hash.Hash
}

// openAttempt makes the directory of an attempt. A directory left by an attempt
// that was cut short before it was recorded is cleared first. A note is kept
// unless it is empty.
func (e *Executor) openAttempt(id, note string) (*attemptFiles, error) {
	f := &attemptFiles{dir: filepath.Join(e.o.Store, id), sum: sha256.New()}
	if err := os.RemoveAll(f.dir); err != nil {
		return nil, fmt.Errorf("clear attempt: %w", err)
	}
	atomicfile.Failpoint("trial.store.cleared")
	if err := os.MkdirAll(f.dir, 0o700); err != nil {
		return nil, fmt.Errorf("keep attempt: %w", err)
	}
	atomicfile.Failpoint("trial.store.made")
	if note != "" {
		if err := atomicfile.WriteFile(filepath.Join(f.dir, NoteFile), []byte(note+"\n"), 0o600); err != nil {
			return nil, fmt.Errorf("keep note: %w", err)
		}
	}
	var errs [2]error
	f.out, errs[0] = os.OpenFile(filepath.Join(f.dir, TranscriptFile), os.O_CREATE|os.O_RDWR|os.O_APPEND, 0o600)
	f.err, errs[1] = os.OpenFile(filepath.Join(f.dir, StderrFile), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err := errors.Join(errs[:]...); err != nil {
		return nil, fmt.Errorf("keep attempt: %w", err)
	}
	f.stdout = e.o.Redactor.Writer(io.MultiWriter(f.out, f.sum))
	f.stderr = e.o.Redactor.Writer(f.err)
	return f, nil
}

// close flushes both files and returns the transcript's sha256.
func (f *attemptFiles) close() (string, error) {
	err := errors.Join(f.stdout.Close(), f.stderr.Close(), f.out.Close(), f.err.Close())
	return hex.EncodeToString(f.sum.Sum(nil)), err
}

// parseFile reads the stream that is kept in a directory.
func parseFile(dir string) (*transcript.Transcript, error) {
	file, err := os.Open(filepath.Join(dir, TranscriptFile))
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return transcript.Parse(bufio.NewReaderSize(file, 64<<10), transcript.Limits{})
}

// Changes is what a session did to the project, kept so that the attempt can
// be scored again.
type Changes struct {
	Written map[string]Written `json:"written"` // added or changed files
	Removed []string           `json:"removed"`
}

// Written is one file a session left: type and permission bits, and its bytes
// without secrets. The bytes of a symbolic link are its target.
type Written struct {
	Mode fs.FileMode `json:"mode"`
	Data []byte      `json:"data"`
}

// Apply makes the end state from the start.
func (c Changes) Apply(start harness.Tree) harness.Tree {
	end := maps.Clone(start)
	for _, p := range c.Removed {
		delete(end, p)
	}
	for p, f := range c.Written {
		end[p] = harness.File{Mode: f.Mode, Data: f.Data}
	}
	return end
}

// changesOf compares two states; clean takes secrets out of what is kept.
func changesOf(start, end harness.Tree, clean func([]byte) []byte) Changes {
	c := Changes{Written: make(map[string]Written), Removed: []string{}}
	for p, f := range end {
		if before, ok := start[p]; !ok || before.Mode != f.Mode || !bytes.Equal(before.Data, f.Data) {
			c.Written[p] = Written{Mode: f.Mode, Data: clean(f.Data)}
		}
	}
	for p := range start {
		if _, ok := end[p]; !ok {
			c.Removed = append(c.Removed, p)
		}
	}
	slices.Sort(c.Removed)
	return c
}

// keepChanges keeps what a session did to the project and returns it as it will
// be read back, so that what is scored today is what can be scored again. The
// digest is the file's.
func (e *Executor) keepChanges(dir string, start, end harness.Tree) (kept Changes, digest string, err error) {
	data, err := json.Marshal(changesOf(start, end, e.o.Redactor.Bytes))
	if err != nil {
		return kept, "", fmt.Errorf("keep changes: %w", err)
	}
	if err := json.Unmarshal(data, &kept); err != nil {
		return kept, "", fmt.Errorf("keep changes: %w", err)
	}
	err = atomicfile.WriteFile(filepath.Join(dir, ChangesFile), data, 0o600)
	atomicfile.Failpoint("trial.store.changes")
	return kept, hexDigest(data), err
}
