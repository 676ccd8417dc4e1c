package repostate_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"loopd/harness"
)

// BenchmarkState compares a state of n issues with the expected one, from
// its bytes; the time of ten times as many is ten times as long.
func BenchmarkState(b *testing.B) {
	for _, n := range []int{500, 5_000} {
		state := bigState(n)
		spec := mustParse(b, `{"kind": "mutation", "expected": `+state+`}`)
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(len(state)))
			for b.Loop() {
				if r, err := spec.Evaluate("a.json", []byte(state)); err != nil || r.Outcome != harness.Pass {
					b.Fatalf("got %s, %v", r.Outcome, err)
				}
			}
		})
	}
}

// bigState is a state of n issues with two labels and three comments each.
func bigState(n int) string {
	var issues []any
	for i := range n {
		comments := []any{}
		for _, who := range []string{"mira", "jon", "mira"} {
			comments = append(comments, map[string]any{"author": who, "body": "The table of the next day shows up after noon, again.", "id": i})
		}
		issues = append(issues, map[string]any{
			"number": i + 1, "title": "Tide table is late", "body": "It shows up after noon, on most days of the week.", "state": "open",
			"labels": []string{"defect", "urgent"}, "assignees": []string{"jon"}, "comments": comments, "createdAt": "2025-03-01T08:00:00Z",
		})
	}
	text, err := json.Marshal(map[string]any{"issues": issues})
	if err != nil {
		panic(err)
	}
	return string(text)
}
