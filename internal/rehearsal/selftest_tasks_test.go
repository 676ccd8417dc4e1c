package rehearsal

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"loopd/internal/agent"
	"loopd/internal/testenv"
)

// TestSelfTestUsesNoTask has every fabricated run write down what it was asked.
func TestSelfTestUsesNoTask(t *testing.T) { // req 41
	t.Parallel()
	h := home(t.TempDir())
	testenv.Must(t, h.Make())
	sealed, err := h.OpenBundled(t.Context())
	testenv.Must(t, err)
	dir := t.TempDir()
	said := filepath.Join(dir, "said")
	testenv.Must(t, os.Mkdir(said, 0o700))
	path := filepath.Join(dir, "agent")
	testenv.Must(t, os.WriteFile(path, fmt.Appendf(nil, "#!/bin/sh\ncat > '%s/'$$\n", said), 0o755))
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
		testenv.Must(t, err)
		if string(data) != neutralTask {
			t.Errorf("a run was asked %d bytes that are not the neutral sentence", len(data))
		}
	}
}
