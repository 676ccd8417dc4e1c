package campaign

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"loopd"
	"loopd/candidates"
	"loopd/internal/store"
	"loopd/loop"
)

// exportVersion is the version of the shape of an export.
const exportVersion = 1

// exportHead is the first line of an export.
type exportHead struct {
	Export   int    `json:"export"`
	Campaign string `json:"campaign"`
	// Checks is the digest of the program's own measuring code: another one may
	// derive other numbers.
	Checks string `json:"checks"`
}

// exportLine is one event as it stands in the ledger.
type exportLine struct {
	Seq     int64           `json:"seq"`
	Time    time.Time       `json:"time"`
	Kind    string          `json:"kind"`
	Payload json.RawMessage `json:"payload"`
	Prev    string          `json:"prev"`
	Hash    string          `json:"hash"`
	// Withheld says that text was taken out of the payload, so that the hash is
	// that of the ledger's and no longer of this one.
	Withheld bool `json:"withheld,omitempty"`
}

// Export writes the events of one campaign as JSON lines, from which a stranger
// can derive every bet, e-value and verdict again. Wording that repeats held-out
// text is withheld.
func Export(ctx context.Context, l *store.Ledger, id string, w io.Writer) error {
	entries, err := entriesOf(ctx, l, id)
	if err != nil {
		return err
	}
	echoes, err := echoing(entries)
	if err != nil {
		return err
	}
	out := json.NewEncoder(w)
	out.SetEscapeHTML(false)
	if err := out.Encode(exportHead{exportVersion, id, loopd.SourceDigest()}); err != nil {
		return fmt.Errorf("export %s: %w", id, err)
	}
	for _, e := range entries {
		line := exportLine{Seq: e.Seq, Time: e.Time, Kind: e.Kind, Payload: e.Payload, Prev: e.Prev, Hash: e.Hash}
		if line.Payload, line.Withheld, err = withhold(e, echoes); err != nil {
			return err
		}
		if err := out.Encode(line); err != nil {
			return fmt.Errorf("export %s: %w", id, err)
		}
	}
	return nil
}

// NoCampaignError says that the ledger has no such campaign.
type NoCampaignError struct {
	ID    string
	Known []string
}

// Error names the campaigns there are.
func (e *NoCampaignError) Error() string {
	return fmt.Sprintf("no campaign %q, known are %v", e.ID, e.Known)
}

// entriesOf lists the events of one campaign: they follow each other.
func entriesOf(ctx context.Context, l *store.Ledger, id string) ([]store.Entry, error) {
	var out []store.Entry
	var known []string
	current := ""
	for e, err := range l.Entries(ctx, 1) {
		if err != nil {
			return nil, err
		}
		if e.Kind == string(loop.KindStarted) {
			p, err := loop.Decode(loop.KindStarted, e.Payload)
			if err != nil {
				return nil, fmt.Errorf("event %d: %w", e.Seq, err)
			}
			current = p.(loop.Started).Campaign
			known = append(known, current)
		}
		if current == id {
			out = append(out, e)
		}
	}
	if len(out) == 0 {
		return nil, &NoCampaignError{id, known}
	}
	return out, nil
}

// echoing names the candidates whose lint found held-out text.
func echoing(entries []store.Entry) (map[string]bool, error) {
	out := make(map[string]bool)
	for _, e := range entries {
		if e.Kind != string(loop.KindDecided) {
			continue
		}
		p, err := loop.Decode(loop.KindDecided, e.Payload)
		if err != nil {
			return nil, fmt.Errorf("event %d: %w", e.Seq, err)
		}
		d := p.(loop.Decided)
		if slices.Contains(candidates.Classes(d.Findings), candidates.Echo) {
			out[d.Candidate] = true
		}
	}
	return out, nil
}

// withhold takes the text out of a queued candidate that repeats held-out text.
func withhold(e store.Entry, echoes map[string]bool) (json.RawMessage, bool, error) {
	if e.Kind != string(loop.KindQueued) {
		return e.Payload, false, nil
	}
	p, err := loop.Decode(loop.KindQueued, e.Payload)
	if err != nil {
		return nil, false, fmt.Errorf("event %d: %w", e.Seq, err)
	}
	q := p.(loop.Queued)
	if !echoes[q.Candidate.ID] {
		return e.Payload, false, nil
	}
	q.Candidate.Rationale = "[withheld: the candidate repeats held-out text]"
	for i := range q.Candidate.Edits {
		q.Candidate.Edits[i] = candidates.Edit{Path: q.Candidate.Edits[i].Path, Old: "[withheld]"}
	}
	data, err := json.Marshal(q)
	return data, true, err
}

// Audits derives every campaign of the ledger again.
func Audits(ctx context.Context, l *store.Ledger) ([]loop.Audit, error) {
	var out []loop.Audit
	var a *loop.Auditor
	for e, err := range l.Entries(ctx, 1) {
		if err != nil {
			return nil, err
		}
		if e.Kind == string(loop.KindStarted) {
			if a != nil {
				out = append(out, a.Audit)
			}
			a = loop.NewAuditor()
		}
		if a == nil {
			return nil, fmt.Errorf("event %d: %s before any campaign", e.Seq, e.Kind)
		}
		if err := auditEntry(a, e); err != nil {
			return nil, err
		}
	}
	if a != nil {
		out = append(out, a.Audit)
	}
	return out, nil
}

func auditEntry(a *loop.Auditor, e store.Entry) error {
	p, err := loop.Decode(loop.Kind(e.Kind), e.Payload)
	if err != nil {
		return fmt.Errorf("event %d: %w", e.Seq, err)
	}
	name := fmt.Sprintf("event %d", e.Seq)
	if made, ok := p.(loop.Committed); ok {
		if want := refOf(a.State.Started.Campaign, made.Candidate, made.Commit); made.Ref != want {
			a.Audit.Wrong = append(a.Audit.Wrong, fmt.Sprintf("%s (%s): the branch is %s, want %s", name, e.Kind, made.Ref, want))
		}
	}
	return a.Event(name, loop.Event{Time: e.Time, Payload: p})
}

// Exported is what came of checking an export.
type Exported struct {
	loop.Audit
	Events   int `json:"events"`
	Withheld int `json:"withheld"` // events whose text was taken out
	// Whole says that the campaign has its end in the file. Without it the file
	// was cut short, or the campaign was under way.
	Whole bool `json:"whole"`
	// SameChecks says that this program's measuring code is the one that wrote it.
	SameChecks bool `json:"same_checks"`
}

// CheckExport reads an export, checks its chain of hashes, and derives the
// campaign again.
func CheckExport(r io.Reader) (Exported, error) {
	lines := json.NewDecoder(bufio.NewReader(r))
	var head exportHead
	if err := lines.Decode(&head); err != nil || head.Export != exportVersion {
		return Exported{}, fmt.Errorf("read export: not an export of version %d", exportVersion)
	}
	a, prev := loop.NewAuditor(), ""
	out := Exported{SameChecks: head.Checks == loopd.SourceDigest()}
	for {
		var line exportLine
		err := lines.Decode(&line)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return out, fmt.Errorf("read export: after %d events: %w", out.Events, err)
		}
		e := store.Entry{Record: store.Record{Time: line.Time, Kind: line.Kind, Payload: line.Payload}, Seq: line.Seq, Prev: line.Prev, Hash: line.Hash}
		switch {
		case out.Events > 0 && line.Prev != prev:
			return out, fmt.Errorf("read export: event %d: not tied to the event before it", line.Seq)
		case line.Withheld && line.Kind == string(loop.KindQueued):
			out.Withheld++
		case e.Digest() != line.Hash:
			return out, fmt.Errorf("read export: event %d: content does not match its hash", line.Seq)
		}
		prev = line.Hash
		if err := auditEntry(a, e); err != nil {
			return out, fmt.Errorf("read export: %w", err)
		}
		out.Events++
	}
	if out.Events == 0 || a.Audit.Campaign != head.Campaign {
		return out, fmt.Errorf("read export: no events of campaign %q", head.Campaign)
	}
	out.Audit, out.Whole = a.Audit, a.State.Ended != nil
	return out, nil
}
