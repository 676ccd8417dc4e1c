package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"loopd/internal/testenv"
	"loopd/stats/sim"
)

// The charts of the documents are the program's own, to the byte.
func TestDocumentedChartsAreDrawnAgain(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	testenv.Must(t, drawCharts(t.Context(), dir, sim.BenchOptions{Options: sim.Options{Seed: 1, Workers: 2}}))
	drawn, err := filepath.Glob(filepath.Join(dir, "*.svg"))
	if err != nil || len(drawn) != 2 {
		t.Fatalf("drew %v, %v", drawn, err)
	}
	for _, path := range drawn {
		name := filepath.Base(path)
		got, err := os.ReadFile(path)
		testenv.Must(t, err)
		want, err := os.ReadFile(filepath.Join("..", "..", "docs", name))
		testenv.Must(t, err)
		if !bytes.Equal(got, want) {
			t.Errorf("docs/%s is not what the program draws: loopd simulate --charts docs", name)
		}
	}
}
