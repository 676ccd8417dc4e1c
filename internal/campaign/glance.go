package campaign

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"loopd/internal/atomicfile"
	"loopd/internal/store"
	"loopd/loop"
)

// Glance is what a look at a campaign shows, and which event it is as of. It is a
// projection for whoever only looks: with the ledger's newest event it is right,
// with any other it is not used.
type Glance struct {
	Schema string          `json:"schema"` // GlanceSchema
	Seq    int64           `json:"seq"`
	Look   json.RawMessage `json:"look"`
}

// GlanceSchema is what a Glance says of its own shape, that of the look included.
// One that says otherwise is not used.
const GlanceSchema = "loopd:glance/1"

// Glance is where the newest one is kept.
func (h Home) Glance() string { return filepath.Join(h.Dir, "status.json") }

// ReadGlance returns what a look at the newest campaign showed when the ledger's newest
// event was recorded; false where that is not known, and the ledger must be read.
func (h Home) ReadGlance(ctx context.Context, l *store.Ledger) (json.RawMessage, bool) {
	data, err := os.ReadFile(h.Glance())
	if err != nil {
		return nil, false
	}
	var g Glance
	newest, _, err := l.Last(ctx, "")
	if err != nil || json.Unmarshal(data, &g) != nil || g.Schema != GlanceSchema || g.Seq != newest || newest == 0 {
		return nil, false
	}
	return g.Look, true
}

// glance keeps what a look at the campaign shows now. It is only ever a matter of
// time saved, so that what goes wrong is told and nothing else.
func (c *Campaign) glance(ctx context.Context) {
	s := c.Current()
	if c.Look == nil || s == nil {
		return
	}
	if err := c.writeGlance(ctx, s); err != nil && !noRoom(err) {
		c.Log.Info("status is not kept", "error", err)
	}
}

func (c *Campaign) writeGlance(ctx context.Context, s *loop.State) error {
	data, err := c.renderGlance(ctx, s)
	if err != nil {
		return err
	}
	return atomicfile.WriteFile(c.Home.Glance(), data, fileMode)
}

func (c *Campaign) renderGlance(ctx context.Context, s *loop.State) ([]byte, error) {
	seq, _, err := c.ledger.Last(ctx, "")
	if err != nil {
		return nil, err
	}
	look, err := json.Marshal(c.Look(s, c.states))
	if err != nil {
		return nil, fmt.Errorf("render status: %w", err)
	}
	data, err := json.Marshal(Glance{Schema: GlanceSchema, Seq: seq, Look: look})
	if err != nil {
		return nil, fmt.Errorf("render status: %w", err)
	}
	return data, nil
}

// wrongGlance says whether a look that would be used is not what the ledger gives.
func (c *Campaign) wrongGlance(ctx context.Context) (bool, error) {
	s := c.Current()
	if c.Look == nil || s == nil {
		return false, nil
	}
	if _, used := c.Home.ReadGlance(ctx, c.ledger); !used {
		return false, nil
	}
	want, err := c.renderGlance(ctx, s)
	if err != nil {
		return false, err
	}
	got, err := os.ReadFile(c.Home.Glance())
	return err == nil && !bytes.Equal(got, want), err
}
