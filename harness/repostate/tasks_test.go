package repostate_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"loopd/harness"
	"loopd/harness/repostate"
	"loopd/internal/testenv"
)

// classes are the kinds of task of the suite, three of each.
var classes = []string{"read", "one", "find", "several"}

// TestTasks scores a perfect submission of every task and wrong ones, and wants
// of each exactly what is wrong with it. req 128-140
func TestTasks(t *testing.T) {
	t.Parallel()
	tasks := 0
	for _, class := range classes {
		specs, err := filepath.Glob(filepath.Join("testdata/tasks", class, "*", "spec-*.json"))
		if err != nil || len(specs) != 3 {
			t.Fatalf("%s: got %d tasks, %v; want 3", class, len(specs), err)
		}
		for _, file := range specs {
			tasks++
			t.Run(class+"/"+filepath.Base(filepath.Dir(file)), func(t *testing.T) { scoreTask(t, file) })
		}
	}
	if tasks != 12 {
		t.Errorf("got %d tasks, want 12", tasks)
	}
}

func scoreTask(t *testing.T, file string) {
	data, err := os.ReadFile(file)
	testenv.Must(t, err)
	spec, err := repostate.ParseSpec(filepath.Base(file), data)
	testenv.Must(t, err)
	dir := filepath.Dir(file)
	if want := filepath.Base(dir); spec.ID != want {
		t.Errorf("got id %q, want %q", spec.ID, want)
	}
	want := expectations(t, dir)
	if len(want) < 2 {
		t.Fatalf("got %d wrong submissions, want 2 at least", len(want))
	}
	perfect := "perfect.json"
	if spec.Kind == repostate.Read {
		perfect = "perfect.md"
	}
	want[perfect] = nil
	for name, findings := range want {
		data, err := os.ReadFile(filepath.Join(dir, name))
		testenv.Must(t, err)
		r, err := spec.Evaluate(name, data)
		testenv.Must(t, err)
		var got []string
		for _, c := range r.Checks {
			got = append(got, c.Findings...)
		}
		slices.Sort(got)
		slices.Sort(findings)
		testenv.Same(t, fmt.Sprintf("%s: findings", name), findings, got)
		if passed := r.Outcome == harness.Pass; passed != (name == perfect) || r.Case != spec.ID || r.Submission != name {
			t.Errorf("%s: got %s of %s", name, r.Outcome, r.Case)
		}
		if int(r.Metrics[harness.Differences]) != len(findings) {
			t.Errorf("%s: got %v differences, want %d", name, r.Metrics, len(findings))
		}
	}
}

// expectations reads what is wrong with each wrong submission.
func expectations(t *testing.T, dir string) map[string][]string {
	data, err := os.ReadFile(filepath.Join(dir, "expect.tsv"))
	testenv.Must(t, err)
	out := make(map[string][]string)
	for line := range strings.Lines(string(data)) {
		name, finding, ok := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		if !ok {
			t.Fatalf("%s: %q is no name and finding", dir, line)
		}
		out[name] = append(out[name], finding)
	}
	return out
}
