package trace_test

import (
	"encoding/json"
	"strings"
	"testing"

	"loopd/harness"
)

// BenchmarkEvaluate holds a trace of about 20 KB against its case.
func BenchmarkEvaluate(b *testing.B) {
	cases, traces := fixed(b)
	var d doc
	if err := json.Unmarshal(traces["payment-declines.json"], &d); err != nil {
		b.Fatal(err)
	}
	calls := d["toolInvocations"].([]any)
	for range 42 {
		calls = append(calls, map[string]any{"toolName": "search_logs", "success": true, "durationMs": 12, "output": strings.Repeat("x", 400)})
	}
	data, err := json.Marshal(d.at("toolInvocations", calls))
	if err != nil {
		b.Fatal(err)
	}
	k, _ := cases.Of("payment-declines.json")
	b.ReportAllocs()
	b.SetBytes(int64(len(data)))
	for b.Loop() {
		if r := cases.Contract.Evaluate(k, "payment-declines.json", data); r.Outcome != harness.Pass {
			b.Fatal(r.Failed)
		}
	}
}
