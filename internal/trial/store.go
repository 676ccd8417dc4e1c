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
	NoteFile       = "note.txt"    // the expected text, where the hook computes it
	RepliesFile    = "judge.jsonl" // what a judge printed that is no answer
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
	if err := os.MkdirAll(f.dir, 0o700); err != nil {
		return nil, fmt.Errorf("keep attempt: %w", err)
	}
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

func (f *attemptFiles) parse() (*transcript.Transcript, error) {
	file, err := os.Open(filepath.Join(f.dir, TranscriptFile))
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return transcript.Parse(bufio.NewReaderSize(file, 1<<20), transcript.Limits{})
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

func (e *Executor) keepChanges(dir string, start, end harness.Tree) error {
	data, err := json.Marshal(changesOf(start, end, e.o.Redactor.Bytes))
	if err != nil {
		return fmt.Errorf("keep changes: %w", err)
	}
	return atomicfile.WriteFile(filepath.Join(dir, ChangesFile), data, 0o600)
}

// replies are what a judge printed instead of an answer, and why it is none.
type replies []reply

type reply struct {
	Why   string `json:"why"`
	Reply string `json:"reply"` // as printed, without secrets; bytes that are no UTF-8 replaced
}

func (r *replies) add(err error) {
	kept := reply{Why: err.Error()}
	if e, ok := errors.AsType[*replyError](err); ok {
		kept.Reply = string(e.reply)
	}
	*r = append(*r, kept)
}

// keepReplies writes one line a reply beside the attempt; none leave no file.
func (e *Executor) keepReplies(dir string, kept replies) error {
	if len(kept) == 0 {
		return nil
	}
	var lines bytes.Buffer
	for _, r := range kept {
		r.Reply = string(e.o.Redactor.Bytes([]byte(r.Reply)))
		line, err := json.Marshal(r)
		if err != nil {
			return fmt.Errorf("keep the judge's replies: %w", err)
		}
		lines.Write(append(line, '\n'))
	}
	if err := atomicfile.WriteFile(filepath.Join(dir, RepliesFile), lines.Bytes(), 0o600); err != nil {
		return fmt.Errorf("keep the judge's replies: %w", err)
	}
	return nil
}
