package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"loopd/internal/app"
	"loopd/internal/campaign"
	"loopd/internal/hint"
	"loopd/internal/testenv"
)

// graphRun runs "loopd graph" with the arguments and nothing on the PATH but
// dir.
func graphRun(t *testing.T, ctx context.Context, dir string, args ...string) (code int, stderr string) {
	t.Helper()
	var out, talk bytes.Buffer
	e := env{Env: app.Env{Dir: t.TempDir(), Environ: []string{"PATH=" + dir, "HOME=" + dir, "TMPDIR=" + t.TempDir()}}, stdout: &out, stderr: &talk}
	cmd := newGraph(e)
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	cmd.SetArgs(args)
	code = finish(e, cmd.ExecuteContext(ctx))
	return code, talk.String()
}

func bundledDir(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "suite")
	testenv.Must(t, campaign.WriteBundled(dir))
	return dir
}

// req 8, 45: without the real tool there is no graph, and it says how to get it.
func TestGraphNeedsTheTool(t *testing.T) {
	t.Parallel()
	suite, out := bundledDir(t), filepath.Join(t.TempDir(), "graphs")
	nothing := t.TempDir()
	for name, mode := range map[string]os.FileMode{"absent": 0, "not executable": 0o644} {
		if mode != 0 {
			testenv.Must(t, os.WriteFile(filepath.Join(nothing, graphTool), []byte("#!/bin/sh\n"), mode))
		}
		code, stderr := graphRun(t, t.Context(), nothing, "build", "--suite", suite, "--out", out)
		want := "loopd: build graph: no graphify on the PATH\nloopd: hint: pip install graphifyy==0.8.28\n"
		if code != hint.Usage || stderr != want {
			t.Errorf("%s: got code %d, %q; want %d, %q", name, code, stderr, hint.Usage, want)
		}
	}
	if _, err := os.Stat(out); err == nil {
		t.Error("a refused build made its directory")
	}
}

// An interrupted build ends the tool and what it started, and keeps nothing.
func TestGraphBuildStops(t *testing.T) {
	t.Parallel()
	suite, out, bin := bundledDir(t), filepath.Join(t.TempDir(), "graphs"), t.TempDir()
	// The tool's child keeps the pipe open, so the pipe ends when both are gone.
	pipe := filepath.Join(bin, "alive")
	testenv.Must(t, syscall.Mkfifo(pipe, 0o600))
	script := "#!/bin/sh\nPATH=/usr/bin:/bin\nexec 3>" + pipe + "\n(sleep 20; echo late >&3) &\necho started >&3\nwait\n"
	testenv.Must(t, os.WriteFile(filepath.Join(bin, graphTool), []byte(script), 0o755))
	ctx, cancel := context.WithCancel(t.Context())
	var heard []byte
	var readErr error
	var reader sync.WaitGroup
	reader.Go(func() {
		f, err := os.Open(pipe)
		if err != nil {
			readErr = err
			return
		}
		defer f.Close()
		first := make([]byte, 1)
		_, err = io.ReadFull(f, first)
		cancel()
		heard, readErr = io.ReadAll(f)
		readErr = errors.Join(err, readErr)
	})
	code, stderr := graphRun(t, ctx, bin, "build", "--suite", suite, "--out", out)
	reader.Wait()
	if string(heard) != "tarted\n" || readErr != nil {
		t.Fatalf("the tool said %q (%v)", heard, readErr)
	}
	if code != hint.Interrupted || !strings.Contains(stderr, "graphify update: context canceled") {
		t.Errorf("got code %d, %q; want %d", code, stderr, hint.Interrupted)
	}
	if _, err := os.Stat(out); err == nil {
		t.Error("an interrupted build kept something")
	}
}
