package trace_test

import (
	"encoding/json"
	"strings"
	"testing"

	"loopd/harness"
	"loopd/internal/testenv"
)

// BenchmarkEvaluate holds a trace of about 20 KB against its case.
func BenchmarkEvaluate(b *testing.B) {
	cases, traces := fixed(b)
	var d doc
	testenv.Must(b, json.Unmarshal(traces["payment-declines.json"], &d))
	calls := d["toolInvocations"].([]any)
	for range 42 {
		calls = append(calls, map[string]any{"toolName": "search_logs", "success": true, "durationMs": 12, "output": strings.Repeat("x", 400)})
	}
	data, err := json.Marshal(d.at("toolInvocations", calls))
	testenv.Must(b, err)
	k, _ := cases.Of("payment-declines.json")
	b.ReportAllocs()
	b.SetBytes(int64(len(data)))
	for b.Loop() {
		if r := cases.Contract.Evaluate(k, "payment-declines.json", data); r.Outcome != harness.Pass {
			b.Fatal(r.Failed)
		}
	}
}
