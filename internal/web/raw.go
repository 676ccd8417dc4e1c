package web

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"path"
	"slices"
	"time"

	"loopd/internal/trial"
)

// rawFiles are the files of a trial that can be looked at as they are.
var rawFiles = []string{trial.TranscriptFile, trial.StderrFile, trial.ChangesFile, trial.LaunchFile}

// maxWhole bounds a file that is masked as a whole, in bytes. A transcript is
// masked line by line and may be of any size.
const maxWhole = 32 << 20

// rawFile sends one file of a trial, masked.
func (s *Server) rawFile(w http.ResponseWriter, r *http.Request) {
	name := r.PathValue("file")
	t, err := s.session(r.Context(), r.PathValue("trial"))
	if err != nil || !slices.Contains(rawFiles, name) {
		s.answer(w, r, nil, cmp.Or(err, missing("such file")))
		return
	}
	dir, err := s.trialDir(t.ID)
	if err != nil {
		s.answer(w, r, nil, &problem{http.StatusNotFound, err.Error()})
		return
	}
	defer dir.Close()
	f, err := dir.Open(name)
	if err != nil {
		s.answer(w, r, nil, missing("such file"))
		return
	}
	defer f.Close()
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(fileTime)) // without, the file ends early
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	switch {
	case s.o.Reveal:
		_, _ = io.Copy(w, f) // the browser has gone
	case path.Ext(name) == ".jsonl":
		s.sendLines(w, f)
	default:
		s.sendWhole(w, f)
	}
}

// sendLines masks a stream of documents, one a line.
func (s *Server) sendLines(w io.Writer, f io.Reader) {
	lines := bufio.NewReader(f)
	for {
		line, err := lines.ReadBytes('\n')
		if _, writeErr := w.Write(s.mask.json(line)); writeErr != nil || err != nil {
			return
		}
	}
}

func (s *Server) sendWhole(w http.ResponseWriter, f io.Reader) {
	data, err := io.ReadAll(io.LimitReader(f, maxWhole+1))
	if err == nil && len(data) > maxWhole {
		err = errors.New("larger than can be masked; loopd report --open --reveal shows it")
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	_, _ = w.Write(s.mask.json(data)) // the browser has gone
}

// launchRow is one thing that is known of a launch.
type launchRow struct{ Name, Value string }

// maxLaunch bounds the record of a launch in bytes, and launchShown one value of it.
const (
	maxLaunch   = 1 << 20
	launchShown = 300
)

// launchOf reads the record of a launch for people; nil where there is none.
func (s *Server) launchOf(dir *os.Root) []launchRow {
	f, err := dir.Open(trial.LaunchFile)
	if err != nil {
		return nil
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxLaunch))
	if err != nil {
		return nil
	}
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	var doc any
	if d.Decode(&doc) != nil {
		return nil
	}
	return s.flat("", doc, nil)
}

// flat turns a document into rows by the way to each value.
func (s *Server) flat(at string, v any, rows []launchRow) []launchRow {
	switch v := v.(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			rows = s.flat(joined(at, key), v[key], rows)
		}
		return rows
	case []any:
		for i, one := range v {
			rows = s.flat(joined(at, fmt.Sprint(i+1)), one, rows)
		}
		return rows
	case nil:
		return rows
	}
	text := fmt.Sprint(v)
	return append(rows, launchRow{s.mask.text(at), cut(s.mask.text(text), launchShown)})
}

func joined(at, key string) string {
	if at == "" {
		return key
	}
	return at + " " + key
}
