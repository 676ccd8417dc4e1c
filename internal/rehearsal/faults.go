package rehearsal

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"loopd/harness"
	"loopd/internal/fake"
	"loopd/loop"
)

// FaultName names a fault of a single session.
type FaultName string

// The faults that can be planted in a session.
const (
	Overloaded FaultName = "overloaded" // the service answers busy once
	NoHook     FaultName = "no_hook"    // the hook fails
	Terminated FaultName = "terminated" // a signal ends the session before its last line
	Crash      FaultName = "crash"      // the agent is killed after its first line
	// The faults of admission: a reason not to start sessions, told to the loop the
	// way a night is told.
	RateLimited FaultName = "rate_limit" // status 429 with a reset in an hour
	OverSpent   FaultName = "spend"      // the session spends more than a session may
	DiskFull    FaultName = "disk"       // the disk is full while the session runs
	OnBattery   FaultName = "battery"    // the machine runs on its battery while the session runs
)

// place is where a fault is planted: a repetition of a cell under the starting
// wording, first attempt.
type place struct {
	cell string
	rep  int
}

// fault is what goes wrong there, and the class it must show as.
type fault struct {
	name  string
	model fake.Fault
	hook  bool // the hook fails
	class harness.Class
	pause cause // the pause that follows; empty for none
}

func faultsByName() map[FaultName]fault {
	return map[FaultName]fault{
		Overloaded: {name: "overloaded, clears", model: fake.FaultOverloaded, class: harness.Valid},
		NoHook:     {name: "hook not delivered", hook: true, class: harness.HookNotDelivered},
		Terminated: {name: "terminated", model: fake.FaultTerminate, class: harness.Cancelled},
		Crash:      {name: "agent killed after init", model: fake.FaultCrash, class: harness.Cancelled},

		RateLimited: {name: "429 with a reset", model: fake.FaultAllowance, class: harness.RateLimit, pause: causeLimit},
		OverSpent:   {name: "spend limit of a session", model: fake.FaultCostly, class: harness.Budget},
		DiskFull:    {name: "disk full", class: harness.Valid, pause: causeDisk},
		OnBattery:   {name: "battery runs low", class: harness.Valid, pause: causeBattery},
	}
}

// faultsAt puts each fault at its place. One without a cell takes the cell of
// its own number, so that no cell takes them all.
func (p Planting) faultsAt(cells []harness.Cell) map[place]fault {
	out := make(map[place]fault)
	for i, f := range p.Faults {
		cell := f.Cell
		if cell == "" && len(cells) > 0 {
			cell = cells[i%len(cells)].String()
		}
		out[place{cell, f.Rep}] = faultsByName()[f.Fault]
	}
	return out
}

// breakHooks makes every command of a plugin's hooks fail, whatever it is.
func breakHooks(plugin string) error {
	path := filepath.Join(plugin, "hooks", "hooks.json")
	data, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("plant a hook that fails: %w", err)
	}
	var doc any
	if err := json.Unmarshal(data, &doc); err != nil {
		return fmt.Errorf("plant a hook that fails: %s: %w", path, err)
	}
	failing(doc)
	if data, err = json.Marshal(doc); err != nil {
		return err
	}
	return os.WriteFile(path, data, 0o644)
}

// failing replaces every command in a document of hooks.
func failing(doc any) {
	switch v := doc.(type) {
	case map[string]any:
		for key, sub := range v {
			if _, text := sub.(string); text && key == "command" {
				v[key] = "exit 1"
				continue
			}
			failing(sub)
		}
	case []any:
		for _, sub := range v {
			failing(sub)
		}
	}
}

// ShownFault is one fault planted in a session, and the class it showed as.
type ShownFault struct {
	Fault    string        `json:"fault"`
	Cell     string        `json:"cell"`
	Rep      int           `json:"rep"`
	Expected harness.Class `json:"expected"`
	Class    harness.Class `json:"class"`
	// Pause is why sessions had to wait because of it, empty where none has to, and
	// Lifted whether that pause was recorded and lifted by itself.
	Pause  string `json:"pause,omitempty"`
	Lifted bool   `json:"lifted,omitempty"`
	Right  bool   `json:"right"`
}

// compareFaults sets every planted fault beside the class of the first attempt it
// was planted in, and the pause it asked for beside those of the ledger.
func (out *Result) compareFaults(s *loop.State, plan Plan, pauses []pause) {
	out.Faults = []ShownFault{}
	for _, t := range s.Trials {
		sl := t.Spec.Slot
		f, planted := plan.faults[place{sl.Cell.String(), sl.Rep}]
		if !planted || t.Spec.Attempt != 1 || s.CandidateOf(sl.Wording) != loop.SubjectStart {
			continue
		}
		if s.Halted != nil && (t.Class == harness.DriftedSeal || t.Class == harness.Cancelled) {
			continue // a halt ended it, whatever was planted
		}
		c := ShownFault{Fault: f.name, Cell: sl.Cell.String(), Rep: sl.Rep, Expected: f.class, Class: t.Class, Pause: string(f.pause)}
		c.Lifted = f.pause != "" && lifted(pauses, f.pause)
		c.Right = t.Class == f.class && c.Lifted == (f.pause != "")
		if !c.Right {
			out.Mismatches++
		}
		out.Faults = append(out.Faults, c)
	}
}

// driftingFile is a sealed file that an operator may be tempted to improve.
func (r *run) driftingFile() string {
	if r.sealed.Suite.Rubric == "" {
		return "launch.yaml"
	}
	return "rubric.md"
}

// edit changes a sealed file the way an editor does: one more line.
func edit(path string) error {
	f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteString("When in doubt, answer YES.\n")
	return errors.Join(err, f.Close())
}
