package rehearsal

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"loopd/harness"
	"loopd/internal/campaign"
	"loopd/internal/daemon"
	"loopd/internal/store"
	"loopd/loop"
)

// NightFault is what was planted in a night, what loopd did, and whether that is
// right.
type NightFault struct {
	Fault   string `json:"fault"`
	Planted string `json:"planted"`
	Done    string `json:"done"`
	Right   bool   `json:"right"`
}

// faults sets what was planted beside what the ledger says was done.
func (n *night) faults(ctx context.Context) ([]NightFault, error) {
	l, err := store.OpenReadOnly(home(n.Dir).Dir)
	if err != nil {
		return nil, err
	}
	defer l.Close()
	states, err := campaign.Replay(ctx, l)
	if err != nil {
		return nil, err
	}
	pauses, err := pausesOf(ctx, home(n.Dir).Dir)
	if err != nil {
		return nil, err
	}
	s := states[len(states)-1]
	n.mu.Lock()
	p := n.phase
	n.mu.Unlock()
	return []NightFault{busyFault(s, pauses), limitFault(s, pauses), hangFault(s), crashFault(s, p), clocksFault(p), windowFault(p, pauses)}, nil
}

func count(s *loop.State, classes ...harness.Class) (n int) {
	for _, t := range s.Trials {
		if slices.Contains(classes, t.Class) {
			n++
		}
	}
	return n
}

// busyFault: after a few failed sessions nothing is started, and one goes ahead
// to look until the service answers.
func busyFault(s *loop.State, pauses []pause) NightFault {
	failed, held, open := count(s, harness.Overloaded), 0, 0
	for _, h := range pauses {
		if strings.HasPrefix(h.p.Reason, "the service failed") {
			held++
			if h.lifted.IsZero() {
				open++
			}
		}
	}
	return NightFault{
		"service busy", fmt.Sprintf("every request is answered 529 for %.0f minutes", busyFor.Minutes()),
		fmt.Sprintf("%d sessions failed and count for nothing; %d pauses, each lifted by itself", failed, held),
		failed > 0 && held > 0 && open == 0,
	}
}

// limitFault: everything waits for the moment the service named, and goes on
// within a minute of it.
func limitFault(s *loop.State, pauses []pause) NightFault {
	f := NightFault{Fault: "quota with a reset", Planted: "one session is refused for a limit that lifts in an hour", Done: "no pause was recorded"}
	met := count(s, harness.RateLimit, harness.UsageLimit)
	for _, h := range pauses {
		if h.p.Class != harness.RateLimit && h.p.Class != harness.UsageLimit {
			continue
		}
		late := h.lifted.Sub(h.p.Until)
		f.Done = fmt.Sprintf("paused at %s until %s, went on %.0f s after that; sessions that met the limit: %d, run again", clockText(h.at), clockText(h.p.Until), late.Seconds(), met)
		f.Right = met == 1 && !h.lifted.IsZero() && late >= 0 && late <= time.Minute
	}
	return f
}

func clockText(t time.Time) string { return t.UTC().Format("15:04:05") }

// hangFault: the session is given up, and its slot run again.
func hangFault(s *loop.State) NightFault {
	n := count(s, harness.Hang, harness.StartupHang)
	return NightFault{"hang", "one session never gets an answer", fmt.Sprintf("%d session given up as a hang, its slot run again", n), n == 1}
}

// crashFault: every slot is counted once, whatever was under way.
func crashFault(s *loop.State, p Phase) NightFault {
	seen, twice := make(map[string]bool), 0
	for _, t := range s.Trials {
		if seen[t.ID] {
			twice++
		}
		seen[t.ID] = true
	}
	return NightFault{
		"crash", fmt.Sprintf("loopd is killed with signal 9 once %d trials are recorded", crashAfter),
		fmt.Sprintf("started again, went on in the same window; %d trials, %d of them twice", len(s.Trials), twice),
		p.Crashed && twice == 0 && len(p.Windows) > 1 && p.Windows[0].Equal(p.Windows[1]),
	}
}

// clocksFault: a start that the clocks skip comes once, an hour late.
func clocksFault(p Phase) NightFault {
	berlin, err := time.LoadLocation("Europe/Berlin")
	f := NightFault{Fault: "clocks set forward", Planted: "the window is to begin at 02:30, which 29 March does not have"}
	if err != nil || len(p.Windows) == 0 {
		return f
	}
	starts := slices.CompactFunc(slices.Clone(p.Windows), time.Time.Equal)
	var sameDay int
	for _, at := range starts {
		if at.In(berlin).YearDay() == starts[0].In(berlin).YearDay() {
			sameDay++
		}
	}
	f.Done = fmt.Sprintf("%d window that day, begun at %s", sameDay, starts[0].In(berlin).Format("15:04"))
	f.Right = sameDay == 1 && starts[0].In(berlin).Format("2 15:04") == "29 03:30"
	return f
}

// windowFault: what one window leaves, the next goes on with.
func windowFault(p Phase, pauses []pause) NightFault {
	starts := slices.CompactFunc(slices.Clone(p.Windows), time.Time.Equal)
	over, lifted := 0, 0
	for _, h := range pauses {
		if h.p.Reason == daemon.WindowOver {
			over++
			if !h.lifted.IsZero() {
				lifted++
			}
		}
	}
	return NightFault{
		"second window", "the campaign is longer than a night",
		fmt.Sprintf("%d windows, one campaign; paused at the end of %d, gone on with after %d", len(starts), over, lifted),
		len(starts) >= 2 && over >= 1 && over == lifted && over == len(starts)-1,
	}
}

// DigestFile is the digest of the rehearsal in dir, empty where there is none.
func DigestFile(dir string) string {
	found, err := filepath.Glob(filepath.Join(home(dir).Dir, "reports", "*", "digest.md"))
	if err != nil || len(found) != 1 {
		return ""
	}
	return found[0]
}
