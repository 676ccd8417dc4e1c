package trial

import (
	"bytes"
	"context"
	"fmt"
	"path/filepath"

	"loopd/harness"
	"loopd/harness/transcript"
	"loopd/harness/unprompted"
)

// RescoreOptions is what a Rescorer needs.
type RescoreOptions struct {
	// Suite is the one whose rules are asked; it may be another than the sealed.
	Suite harness.Suite
	Store string // directory of the kept attempts
	// Graphs are the built code graphs by fixture.
	Graphs map[string]harness.Tree
	// Judge is asked what nobody has answered; nil leaves it open.
	Judge Judge
}

// Rescorer scores kept attempts again, the way they were scored when they were
// run. It starts no session and writes nothing. It is safe for concurrent use.
type Rescorer struct {
	o      RescoreOptions
	starts map[string]start // by scenario
	sealed *harness.Runs
}

// NewRescorer prepares the projects sessions start from.
func NewRescorer(o RescoreOptions) (*Rescorer, error) {
	starts, err := startsOf(o.Suite, o.Graphs)
	return &Rescorer{o: o, starts: starts, sealed: SealedTexts(o.Suite)}, err
}

// UnscorableError says that an attempt cannot be scored again.
type UnscorableError struct {
	ID  string // of the trial
	Why string
}

// Error names the trial and what is missing.
func (e *UnscorableError) Error() string {
	return fmt.Sprintf("score trial %s again: %s", e.ID, e.Why)
}

// Scorable reports whether a trial left a stream that names its class. Where none
// was kept, or where the seal, the disk, a limit of spending or another way of
// asking the model voided the trial whatever its stream says, the record stands.
func Scorable(t harness.Trial) bool {
	switch t.Class {
	case harness.DriftedSeal, harness.Disk, harness.Budget, harness.VersionDrift:
		return false
	}
	return t.Transcript != "" && (t.Class != harness.Cancelled || t.Why != whyCalledOff)
}

// CheckKept says what is missing or damaged of the files kept of a trial below
// store, nil where nothing is. One that was pruned is a *PrunedError.
func CheckKept(store string, t harness.Trial) error {
	if !Scorable(t) {
		return nil
	}
	dir := filepath.Join(store, t.ID)
	_, err := readRecorded(dir, TranscriptFile, t.Transcript)
	if err == nil && t.Launch != "" {
		_, err = readRecorded(dir, LaunchFile, t.Launch)
	}
	if err != nil {
		return fmt.Errorf("trial %s: %w", t.ID, err)
	}
	return nil
}

// Rescore returns the trial as the rules of the suite see it now. An attempt
// whose files are gone or damaged is an UnscorableError.
func (r *Rescorer) Rescore(ctx context.Context, t harness.Trial) (harness.Trial, error) {
	dir := filepath.Join(r.o.Store, t.ID)
	lost := func(why any) (harness.Trial, error) { return t, &UnscorableError{t.ID, fmt.Sprint(why)} }
	sc, ok := r.o.Suite.Scenario(t.Spec.Slot.Cell.Scenario)
	if !ok {
		return lost("the suite has no scenario " + t.Spec.Slot.Cell.Scenario)
	}
	data, err := readRecorded(dir, TranscriptFile, t.Transcript)
	if err != nil {
		return lost(err)
	}
	k, err := readKept(dir, t.Launch)
	if err != nil {
		return lost(err)
	}
	tr, err := transcript.Parse(bytes.NewReader(data), transcript.Limits{})
	if err != nil {
		return lost(err)
	}
	st := r.starts[sc.ID]
	if k.Start != st.project {
		return lost("the session started from another project than the suite has")
	}
	r.rules(sc, &k.Want)
	validity := evidence(r.sealed, tr, k.Want, k.External)
	var c checked
	if validity.Class == harness.Valid {
		if k.Changes == "" && t.Class == harness.Oversize {
			return t, nil // what the session left was too much to keep
		}
		changes, err := k.changes(dir)
		if err != nil {
			return lost(err)
		}
		if c, err = check(k.input(sc, r.o.Suite.Checker, tr, st.tree, changes), func(q unprompted.Question) (*Judged, error) { return r.answer(ctx, sc, k, q) }); err != nil {
			return t, err
		}
	}
	return rule(t, validity, c.result, ladderRuling(validity), c.ruling), nil
}

// rules replaces what the suite says about a session by what it says now. What
// the session was launched with stays.
func (r *Rescorer) rules(sc harness.Scenario, w *transcript.Want) {
	l := r.o.Suite.Launch
	w.Plugin, w.Builtin, w.Envelope, w.Silent = r.o.Suite.Checker.Plugin, l.BuiltinPlugins, l.Note.Envelope, sc.Hook == harness.HookSilent
}

// answer uses a judge's answer again where it was to the same question.
func (r *Rescorer) answer(ctx context.Context, sc harness.Scenario, k Kept, q unprompted.Question) (*Judged, error) {
	digest := questionDigest(r.o.Suite.Rubric, q)
	if k.Judged != nil && k.Judged.Question == digest {
		return k.Judged, nil
	}
	if r.o.Judge == nil {
		return &Judged{Question: digest, Why: "unanswered: nobody was asked what " + sc.ID + " asks now"}, nil
	}
	out, _, err := askTwice(ctx, r.o.Judge, r.o.Suite.Rubric, q)
	return out, err
}
