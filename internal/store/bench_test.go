package store

import (
	"encoding/json"
	"strings"
	"testing"

	"loopd/internal/testenv"
)

// A night's ledger: events of the size of a trial's record.
func BenchmarkReplay(b *testing.B) {
	l := open(b, stateDir(b))
	const events = 100_000
	payload := json.RawMessage(`{"checks":"` + strings.Repeat("axis a pass; ", 40) + `"}`)
	batch := make([]Record, 1000)
	for i := range batch {
		batch[i] = event(i)
		batch[i].Payload = payload
	}
	for range events / len(batch) {
		testenv.Must(b, l.Append(b.Context(), batch...))
	}
	b.ReportAllocs()
	for b.Loop() {
		n := 0
		for _, err := range l.Entries(b.Context(), 1) {
			testenv.Must(b, err)
			n++
		}
		if n != events {
			b.Fatalf("got %d events, want %d", n, events)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N)/events, "µs/event")
}

func BenchmarkAppend(b *testing.B) {
	l := open(b, stateDir(b))
	b.ReportAllocs()
	for b.Loop() {
		testenv.Must(b, l.Append(b.Context(), event(1)))
	}
}
