package trial

import (
	"testing"
	"time"

	"loopd/harness"
	"loopd/harness/transcript"
)

// TestFold_Order: a later step's ruling replaces an earlier one's, the checker's
// result counts only where all of them leave the session valid, and when a limit
// lifts stays with whoever said so.
func TestFold_Order(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 12, 1, 3, 50, 0, 0, time.UTC)
	pass := harness.Result{Kind: harness.Unprompted, Case: "R1", Outcome: harness.Pass}
	by := func(class harness.Class) ruling { return ruling{class: class, why: "by " + string(class)} }
	ladder := func(class harness.Class) transcript.Judgement {
		return transcript.Judgement{Class: class, Why: "by " + string(class), NoteVerified: true}
	}
	valid := transcript.Judgement{Class: harness.Valid, NoteVerified: true}
	for name, c := range map[string]struct {
		learned
		seal  ruling
		want  harness.Class
		lifts time.Time
	}{
		"valid":             {learned: learned{validity: valid, checked: checked{result: pass}}, want: harness.Valid},
		"the note":          {learned: learned{note: by(harness.HookNotDelivered)}, want: harness.HookNotDelivered},
		"note, called off":  {learned: learned{note: by(harness.HookNotDelivered), ended: by(harness.Cancelled)}, want: harness.Cancelled},
		"the ladder":        {learned: learned{validity: ladder(harness.Hang), checked: checked{result: pass}}, want: harness.Hang},
		"a limit":           {learned: learned{validity: ladder(harness.RateLimit), limit: ruling{lifts: &at}}, want: harness.RateLimit, lifts: at},
		"limit, then spent": {learned: learned{validity: ladder(harness.RateLimit), limit: ruling{lifts: &at}, gateway: by(harness.Budget)}, want: harness.Budget, lifts: at},
		"the gateway":       {learned: learned{validity: valid, gateway: by(harness.VersionDrift), checked: checked{result: pass}}, want: harness.VersionDrift},
		"the judge":         {learned: learned{validity: valid, checked: checked{ruling: by(harness.JudgeError), result: pass}}, want: harness.JudgeError},
		"no room":           {learned: learned{validity: valid, checked: checked{result: pass}, ended: by(harness.Disk)}, want: harness.Disk},
		"the seal":          {learned: learned{validity: valid, checked: checked{result: pass}, ended: by(harness.Disk)}, seal: by(harness.DriftedSeal), want: harness.DriftedSeal},
	} {
		var start harness.Trial
		start.Spec.Slot.Cell.Scenario = "R1"
		got := fold(start, c.learned, c.seal)
		why, result := "by "+string(c.want), invalidResult("R1")
		if c.want == harness.Valid {
			why, result = "", pass
		}
		if got.Class != c.want || got.Why != why || got.Result.Outcome != result.Outcome || !got.Lifts.Equal(c.lifts) || got.NoteVerified != c.validity.NoteVerified {
			t.Errorf("%s: got %s (%s) %s, lifts %v, note %v; want %s (%s) %s, %v", name, got.Class, got.Why, got.Result.Outcome, got.Lifts, got.NoteVerified, c.want, why, result.Outcome, c.lifts)
		}
	}
}
