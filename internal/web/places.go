package web

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"time"

	"loopd/candidates"
	"loopd/frozen"
	"loopd/internal/campaign"
)

// frozenData is the page of what measures.
type frozenData struct {
	Dir     string
	Digest  string
	Files   []frozen.Entry
	Drift   []frozen.Delta
	Looked  time.Time
	Took    time.Duration
	Problem string
	// Began is the seal the newest campaign began with; empty without one.
	Began string
}

func (s *Server) frozenPage(r *http.Request) (string, any, error) {
	d := frozenData{Dir: s.o.SealedDir, Looked: s.o.Now()}
	err := s.with(r.Context(), func(v view) error {
		d.Began = v.seal()
		return nil
	})
	if err != nil {
		return "", nil, err
	}
	manifest, err := frozen.ReadManifest(d.Dir)
	switch {
	case d.Dir == "" || errors.Is(err, fs.ErrNotExist):
		d.Problem = "Nothing is sealed yet; loopd freeze seals what measures."
		return "Frozen", d, nil
	case err != nil:
		d.Problem = err.Error()
		return "Frozen", d, nil
	}
	d.Digest, d.Files = string(manifest.Digest()), manifest.Entries()
	began := time.Now()
	drift, err := frozen.Verify(r.Context(), d.Dir, manifest)
	if err != nil {
		d.Problem = err.Error()
	}
	if drift != nil {
		d.Drift = drift.Deltas
	}
	d.Took = time.Since(began).Round(time.Millisecond)
	return "Frozen", d, nil
}

// queueData is the page of what waits.
type queueData struct {
	Waiting []waiting
	CanAdd  bool
	Said    string
}

// waiting is one file of the spool.
type waiting struct {
	Name, Source, Rationale, Problem string
	Findings                         []string
}

func (s *Server) queuePage(r *http.Request) (string, any, error) {
	d := queueData{CanAdd: s.o.Add != nil, Said: r.URL.Query().Get("said")}
	spooled, err := s.store.home().Spooled()
	if err != nil {
		return "", nil, err
	}
	for _, f := range spooled {
		w := waiting{Name: f.Name, Source: string(f.Candidate.Source), Rationale: s.mask.text(f.Candidate.Rationale)}
		if f.Err != nil {
			w.Problem = f.Err.Error()
		} else {
			w.Findings = s.lint(r.Context(), f)
		}
		d.Waiting = append(d.Waiting, w)
	}
	return "Queue", d, nil
}

// lint names what the lint finds, by class. Of an echo no more is said.
func (s *Server) lint(ctx context.Context, f campaign.Spooled) []string {
	if s.o.Lint == nil {
		return nil
	}
	found, err := s.o.Lint(ctx, f.Candidate)
	if err != nil {
		return []string{"could not be linted: " + err.Error()}
	}
	var out []string
	for _, one := range found {
		text := string(one.Class)
		if one.Class != candidates.Echo && one.Path != "" {
			text = fmt.Sprintf("%s in %s: %s", one.Class, one.Path, one.Detail)
		}
		out = append(out, text)
	}
	return out
}

// settingsData is the page of what is in force.
type settingsData struct {
	Settings []Setting
	Problem  string
}

func (s *Server) settingsPage(*http.Request) (string, any, error) {
	var d settingsData
	if s.o.Settings == nil {
		d.Problem = "No settings: this state directory was opened without its plugin."
		return "Settings", d, nil
	}
	var err error
	if d.Settings, err = s.o.Settings(); err != nil {
		d.Problem = err.Error()
	}
	return "Settings", d, nil
}
