package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"loopd/harness"
	"loopd/internal/app"
	"loopd/internal/campaign"
	"loopd/internal/daemon"
	"loopd/internal/store"
	"loopd/loop"
	"loopd/report"
)

func newStatus(e env) *cobra.Command {
	var asJSON, watch bool
	var state string
	cmd := &cobra.Command{
		Use: "status", Short: "where the campaign stands", Args: noArgs,
		Long: "  loopd status\n  loopd status --watch\n\nPrints the campaign under way or the last one, one line a candidate, and what the\nloopd that runs here is doing. With --watch it goes on until it is interrupted.",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if watch {
				return watchStatus(cmd.Context(), e, state, asJSON)
			}
			return runStatus(cmd.Context(), e, state, asJSON)
		},
	}
	cmd.Flags().BoolVar(&watch, "watch", false, "print it again whenever it changes")
	flagJSON(cmd, &asJSON)
	flagState(cmd, &state)
	return cmd
}

// status is the JSON of the verb.
type status struct {
	Campaign   string           `json:"campaign"`
	Headline   string           `json:"headline"`
	Phase      loop.Phase       `json:"phase"`
	Sessions   int              `json:"sessions"`
	Budget     int              `json:"budget"`
	Round      string           `json:"round,omitempty"` // what is being run
	LastEvent  time.Time        `json:"last_event"`
	Quota      *harness.Quota   `json:"quota,omitempty"`     // of the account, as last heard
	Isolation  string           `json:"isolation,omitempty"` // of the sessions so far
	Simulated  bool             `json:"simulated"`
	Halted     bool             `json:"halted,omitempty"`
	Candidates []report.Summary `json:"candidates"`
	Live       *daemon.Live     `json:"live,omitempty"` // what the loopd that runs does
	Next       string           `json:"next"`           // what to type
}

func runStatus(ctx context.Context, e env, state string, asJSON bool) error {
	out, err := liveStatus(ctx, e, state)
	if err != nil {
		return err
	}
	if asJSON {
		return printJSON(e.stdout, out)
	}
	return printStatus(e, out)
}

// liveStatus is what the ledger says, and what the loopd that runs does. With one
// that runs there need be no campaign yet.
func liveStatus(ctx context.Context, e env, state string) (status, error) {
	home, err := reviewHome(e, state)
	if err != nil {
		return status{}, err
	}
	live, err := liveOf(ctx, home.Dir)
	if silent, ok := errors.AsType[*daemon.SilentError](err); ok {
		fmt.Fprintf(e.stderr, "loopd: warning: %v\n", silent)
	} else if err != nil {
		return status{}, err
	}
	out, err := lookAt(ctx, home)
	if err != nil {
		return status{}, err
	}
	if out.Campaign == "" && live == nil {
		_, err := review{home: home}.current()
		return status{}, err
	}
	out.Live = live
	switch {
	case live != nil && live.Phase == daemon.Held:
		out.Next = "loopd resume"
	case live != nil && out.Phase != loop.Done && !out.Halted:
		out.Next = "loopd status --watch"
	}
	out.Next = withState(out.Next, state)
	return out, nil
}

// lookAt returns what the campaign wrote down after its newest event, or reads its
// events. It is empty where there is none.
func lookAt(ctx context.Context, home campaign.Home) (status, error) {
	out := status{Candidates: []report.Summary{}}
	l, err := store.OpenReadOnly(home.Dir)
	if _, missing := errors.AsType[*store.MissingError](err); missing {
		return out, nil
	}
	if err != nil {
		return out, err
	}
	defer l.Close()
	if look, ok := home.ReadGlance(ctx, l); ok && json.Unmarshal(look, &out) == nil {
		return out, nil
	}
	s, err := campaign.ReplayNewest(ctx, l)
	if err != nil || s == nil {
		return out, err
	}
	return statusOf(s, []*loop.State{s}), nil
}

// look is what a campaign keeps for those who only look.
func look(s *loop.State, all []*loop.State) any { return statusOf(s, all) }

// statusOf is the status of a campaign, the newest of all.
func statusOf(s *loop.State, all []*loop.State) status {
	rep := report.Build(s)
	out := status{
		Next:     nextAfter(s),
		Campaign: rep.ID, Headline: rep.Headline, Phase: rep.Phase, Sessions: rep.Sessions, Budget: rep.Budget, LastEvent: rep.ChangedAt,
		Isolation: rep.Isolation, Simulated: rep.Simulated, Candidates: rep.Candidates, Halted: s.Halted != nil && s.Ended == nil,
	}
	if q := app.LastQuota(all); !q.IsZero() {
		out.Quota = &q
	}
	if n := len(s.Rounds); n > 0 && s.Ended == nil {
		out.Round = fmt.Sprintf("%d, %s of %s", s.Rounds[n-1].N, s.Rounds[n-1].Purpose, s.Rounds[n-1].Subject)
	}
	return out
}

func printStatus(e env, st status) error {
	if st.Live != nil {
		printLive(e, *st.Live)
	}
	if st.Campaign == "" {
		_, err := fmt.Fprintf(e.stdout, "No campaign yet.\n\nNext: %s\n", st.Next)
		return err
	}
	e.sentence(fmt.Sprintf("Campaign %s: %s", st.Campaign, st.Headline), "  ")
	if st.Simulated {
		fmt.Fprintln(e.stdout, "simulated: the model is a program")
	}
	fmt.Fprintf(e.stdout, "%d of %d sessions; last event %s\n", st.Sessions, st.Budget, st.LastEvent.Local().Format("2006-01-02 15:04:05"))
	if st.Isolation != "" {
		fmt.Fprintf(e.stdout, "isolation of the sessions: %s\n", st.Isolation)
	}
	if st.Quota != nil {
		e.sentence(quotaLine(*st.Quota), "  ")
	}
	if st.Round != "" {
		fmt.Fprintf(e.stdout, "round %s\n", st.Round)
	}
	if len(st.Candidates) > 0 {
		fmt.Fprintln(e.stdout)
		if err := printCandidates(e, st.Candidates); err != nil {
			return err
		}
	}
	_, err := fmt.Fprintf(e.stdout, "\nNext: %s\n", st.Next)
	return err
}

func printCandidates(e env, list []report.Summary) error {
	rows := [][]string{{"candidate", "verdict", "sessions", "E", "source"}}
	for _, c := range list {
		verdict := verdictText(c.Verdict, c.Reason)
		if c.Withdrawn {
			verdict += ", withdrawn"
		}
		rows = append(rows, []string{c.ID, verdict, strconv.Itoa(c.Sessions), eText(c.EValue), c.Source})
	}
	_, err := io.WriteString(e.stdout, report.Table(rows, e.page))
	return err
}
