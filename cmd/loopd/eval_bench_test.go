package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"loopd/internal/app"
	"loopd/internal/hint"
	"loopd/internal/testenv"
)

// BenchmarkEvalTraces evaluates n traces of 20 KB each by the whole command and
// reports the processor time and the most memory the process has had. The traces
// are one file under many names.
func BenchmarkEvalTraces(b *testing.B) {
	dir := b.TempDir()
	call := `{"toolName": "read_gauge", "success": true, "durationMs": 12, "output": "` + strings.Repeat("x", 400) + `"}`
	trace := `{"finalAnswer": "The valve is shut.", "durationMs": 40, "toolInvocations": [` + strings.TrimSuffix(strings.Repeat(call+",", 42), ",") +
		`], "selfEvaluation": {"verifier_evaluation": {"verdict": "PASS"}}}`
	cases := `{"cases": [{"id": "boiler", "question": "Why is the water cold?", "expectedRootCauseKeywords": ["valve"], "requiredEvidenceTools": ["read_gauge"], "allowedVerdicts": ["PASS"]}]}`
	file, one := filepath.Join(dir, "cases.json"), filepath.Join(dir, "one.json")
	testenv.Must(b, os.WriteFile(file, []byte(cases), 0o644))
	testenv.Must(b, os.WriteFile(one, []byte(trace), 0o644))
	for _, n := range []int{1_000, 10_000} {
		traces := filepath.Join(dir, fmt.Sprint(n))
		testenv.Must(b, os.Mkdir(traces, 0o755))
		for i := range n {
			testenv.Must(b, os.Link(one, filepath.Join(traces, fmt.Sprintf("boiler.%05d.json", i))))
		}
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			before := processor(b)
			for b.Loop() {
				if code := run(b.Context(), env{Env: app.Env{Dir: dir}, stdout: io.Discard, stderr: io.Discard}, []string{"eval", "trace", file, traces}); code != hint.Done {
					b.Fatalf("got exit code %d", code)
				}
			}
			now := processor(b)
			b.ReportMetric((now.seconds-before.seconds)/float64(b.N), "cpu-s/op")
			b.ReportMetric(now.megabytes, "MB-most")
		})
	}
}

// used is what a process has used so far.
type used struct{ seconds, megabytes float64 }

func processor(b *testing.B) used {
	b.Helper()
	var u syscall.Rusage
	testenv.Must(b, syscall.Getrusage(syscall.RUSAGE_SELF, &u))
	seconds := func(t syscall.Timeval) float64 { return float64(t.Sec) + float64(t.Usec)/1e6 }
	return used{seconds(u.Utime) + seconds(u.Stime), float64(u.Maxrss) / 1024}
}
