package rehearsal

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"loopd/internal/agent"
)

// TestSelfTestUsesNoTask has every fabricated run write down what it was asked.
func TestSelfTestUsesNoTask(t *testing.T) { // req 41
	t.Parallel()
	h := home(t.TempDir())
	if err := h.Make(); err != nil {
		t.Fatal(err)
	}
	sealed, err := h.OpenBundled(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	said := filepath.Join(dir, "said")
	if err := os.Mkdir(said, 0o700); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "agent")
	if err := os.WriteFile(path, fmt.Appendf(nil, "#!/bin/sh\ncat > '%s/'$$\n", said), 0o755); err != nil {
		t.Fatal(err)
	}
	r, err := SelfTest(t.Context(), SelfTestOptions{Suite: sealed.Suite, Binary: agent.Binary{Path: path}, Parallel: 2})
	cases := r.Cases
	if err != nil || len(cases) == 0 {
		t.Fatalf("%d cases: %v", len(cases), err)
	}
	prompts, err := os.ReadDir(said)
	if err != nil || len(prompts) != len(cases) {
		t.Fatalf("%d prompts for %d cases: %v", len(prompts), len(cases), err)
	}
	for _, p := range prompts {
		data, err := os.ReadFile(filepath.Join(said, p.Name()))
		if err != nil {
			t.Fatal(err)
		}
		if string(data) != neutralTask {
			t.Errorf("a run was asked %d bytes that are not the neutral sentence", len(data))
		}
	}
}
