package trial

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"loopd/harness"
	"loopd/harness/transcript"
	"loopd/harness/unprompted"
	"loopd/internal/agent"
	"loopd/internal/isolate"
	"loopd/internal/testenv"
)

// usualProject is where a fixture's session works when it names no place.
const usualProject = "/box/k3/work"

// stream scores a session from disk as a trial does: read, asked whether it is
// evidence, whether it read how it is judged, and then checked.
func (f fixture) stream(t *testing.T, suite harness.Suite) {
	sc, ok := suite.Scenario(cmp.Or(f.Scenario, "cite"))
	if !ok {
		t.Fatalf("the suite has no scenario %s", f.Scenario)
	}
	start, err := StartOf(suite, sc, nil)
	testenv.Must(t, err)
	stored := f.stored(t, start)
	e := &Executor{o: Options{Suite: suite, Agent: agent.Binary{Version: "7.4.1"}}}
	spec := harness.Spec{Slot: harness.Slot{Cell: harness.Cell{Scenario: sc.ID, Tier: "small"}}}
	box := &isolate.Box{Plugin: cmp.Or(f.Outside.PluginPath, "/box/k3/keeper")}
	want := e.want(job{spec: spec, scenario: sc, wording: Wording{Note: keeperNote}}, box)
	j := transcript.Validity(stored.Transcript, want, transcript.External{
		Cause: f.Outside.Cause, LimitTime: f.Outside.LimitTime, Killed: f.Outside.Killed, ExitCode: f.Outside.ExitCode,
		GatewayKnown: true, Exposed: !f.Outside.Unexposed,
	})
	if j.Class == harness.Valid && contaminated(SealedTexts(suite), stored.Transcript) > 0 {
		t.Error("the session read a sealed text")
	}
	f.wantClass(t, j.Class, j.Why)
	f.wantCounts(t, stored.Transcript)
	if j.Class == harness.Valid {
		f.wantScore(t, unprompted.Evaluate(unprompted.Input{
			Scenario: sc, Checker: suite.Checker, Transcript: stored.Transcript, Project: cmp.Or(f.Project, usualProject),
			Start: start, End: stored.End, LimitTime: f.Outside.LimitTime, Answer: f.Answer,
		}))
	}
}

// stored writes the attempt to disk, with whatever else the fixture says lies
// there, and reads it back.
func (f fixture) stored(t *testing.T, start harness.Tree) Stored {
	t.Helper()
	text, ok := f.files["transcript"]
	if !ok {
		t.Fatal("the fixture has no transcript")
	}
	lines, err := expand(cmp.Or(f.Project, usualProject), text)
	testenv.Must(t, err)
	end := maps.Clone(start)
	maps.Copy(end, f.tree("end"))
	for _, p := range f.Removed {
		if _, had := end[p]; !had {
			t.Fatalf("removed: the project has no %s", p)
		}
		delete(end, p)
	}
	changes, err := json.Marshal(changesOf(start, end, func(b []byte) []byte { return b }))
	testenv.Must(t, err)
	dir := t.TempDir()
	files := map[string][]byte{TranscriptFile: lines, ChangesFile: changes}
	for name, file := range f.tree("beside") {
		files[name] = file.Data
	}
	for name, data := range files {
		at := filepath.Join(dir, name)
		testenv.Must(t, os.MkdirAll(filepath.Dir(at), 0o700))
		testenv.Must(t, os.WriteFile(at, data, 0o600))
	}
	stored, err := ReadStored(t.Context(), dir, start)
	testenv.Must(t, err)
	return stored
}

func (f fixture) wantClass(t *testing.T, class harness.Class, why string) {
	t.Helper()
	if class != f.Want.Class || !strings.Contains(why, f.Want.Why) {
		t.Fatalf("got %s (%s), want %s (%s)", class, why, f.Want.Class, f.Want.Why)
	}
	if f.Want.Fate != "" && class.Fate() != f.Want.Fate {
		t.Errorf("fate: got %s, want %s", class.Fate(), f.Want.Fate)
	}
	if class == harness.Valid && (f.Want.A == "" || f.Want.B == "") {
		t.Error("a valid session is wanted on both axes")
	}
	if class != harness.Valid && f.Want.A+f.Want.B != "" {
		t.Error("an invalid session is on no axis")
	}
}

// wantCounts compares what is counted in the stream; each name must be one of
// these, and an unknown type is "unknown TYPE".
func (f fixture) wantCounts(t *testing.T, tr *transcript.Transcript) {
	t.Helper()
	u := tr.Usage()
	got := map[string]float64{
		"tokens in": float64(u.Input), "tokens out": float64(u.Output), "retries": float64(len(tr.Retries)), "noise": float64(tr.Noise),
		"calls": float64(len(tr.ToolUses())), "lines": float64(tr.Lines), "bad utf-8": float64(tr.BadUTF8), "nul": float64(tr.NULs),
		"unknown": float64(len(tr.Unknown)), "longest output": float64(longestOutput(tr)),
	}
	for kind, n := range tr.Unknown {
		got["unknown "+kind] = float64(n)
	}
	for name, want := range f.Want.Counts {
		if n, counted := got[name]; !counted || n != want {
			t.Errorf("%s: got %v (counted: %t), want %v", name, n, counted, want)
		}
	}
	if final := tr.FinalText(); f.Want.Final != nil && final != *f.Want.Final {
		t.Errorf("final text: got %q, want %q", final, *f.Want.Final)
	}
}

func longestOutput(tr *transcript.Transcript) int {
	longest := 0
	for _, c := range tr.ToolUses() {
		longest = max(longest, len(c.Output))
	}
	return longest
}

func (f fixture) wantScore(t *testing.T, ev unprompted.Evaluation) {
	t.Helper()
	a, b := ev.Result.Check(harness.AxisA), ev.Result.Check(harness.AxisB)
	if a.Outcome != f.Want.A || b.Outcome != f.Want.B {
		t.Errorf("got a %s (%s), b %s (%s), want %s and %s; evidence %v", a.Outcome, a.Reason, b.Outcome, b.Reason, f.Want.A, f.Want.B, pointers(a.Evidence, b.Evidence))
	}
	for _, axis := range []struct {
		name string
		got  string
		want *string
	}{{"a", a.Reason, f.Want.ReasonA}, {"b", b.Reason, f.Want.ReasonB}} {
		if axis.want != nil && axis.got != *axis.want {
			t.Errorf("reason of %s: got %q, want %q", axis.name, axis.got, *axis.want)
		}
	}
	evidence := pointers(a.Evidence, b.Evidence)
	for _, want := range f.Want.Evidence {
		if !strings.Contains("\n"+strings.Join(evidence, "\n")+"\n", "\n"+want+"\n") {
			t.Errorf("evidence: got %q, want %q among it", evidence, want)
		}
	}
	if near := pointers(a.NearMisses, b.NearMisses); f.Want.Near != nil && strings.Join(near, "\n") != strings.Join(f.Want.Near, "\n") {
		t.Errorf("near misses (-want +got):\n%s", gocmp.Diff(f.Want.Near, near))
	}
	switch judged := ev.Question; {
	case judged == nil && f.Want.Judged != "":
		t.Error("no judge is asked")
	case judged != nil && (f.Want.Judged == "" || !strings.Contains(judged.Message, f.Want.Judged)):
		t.Errorf("a judge is asked about %q", judged.Message)
	}
	for kind, n := range f.Want.Counts {
		if name, ok := strings.CutPrefix(kind, "unknown "); ok && ev.Result.Metrics["unknown lines: "+name] != n {
			t.Errorf("the result does not name %s: %v", kind, ev.Result.Metrics)
		}
	}
}

// pointers are what checks point at, in words. What rests on a file has no line.
func pointers(lists ...[]harness.Evidence) []string {
	var out []string
	for _, list := range lists {
		for _, e := range list {
			what := e.What
			if e.Line > 0 {
				what = fmt.Sprintf("line %d: %s", e.Line, e.What)
			}
			out = append(out, what)
		}
	}
	return out
}
