package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"loopd/stats/sim"
)

// The charts of the documents are the program's own, to the byte.
func TestDocumentedChartsAreDrawnAgain(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := drawCharts(t.Context(), dir, sim.BenchOptions{Options: sim.Options{Seed: 1, Workers: 2}}); err != nil {
		t.Fatal(err)
	}
	drawn, err := filepath.Glob(filepath.Join(dir, "*.svg"))
	if err != nil || len(drawn) != 2 {
		t.Fatalf("drew %v, %v", drawn, err)
	}
	for _, path := range drawn {
		name := filepath.Base(path)
		got, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		want, err := os.ReadFile(filepath.Join("..", "..", "docs", name))
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, want) {
			t.Errorf("docs/%s is not what the program draws: loopd simulate --charts docs", name)
		}
	}
}
