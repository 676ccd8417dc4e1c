package main

import (
	"bufio"
	"bytes"
	"io"
	"net/http"
	"net/http/cookiejar"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"loopd/internal/app"
	"loopd/internal/hint"
	"loopd/internal/testenv"
)

// What is opened is served to who has the link, until it is interrupted, and
// nothing of it stays.
func TestAReportOpens(t *testing.T) {
	for _, c := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"report", "docs/eval/baseline.json", "--open"}, hint.Done, "<h1>Diagnosis traces: 9 of 9 pass</h1>"},
		{[]string{"diff", "docs/eval/baseline.json", "docs/eval/baseline.json", "--open"}, hint.Done, "nothing regressed</h1>"},
	} {
		t.Setenv("TMPDIR", t.TempDir())
		t.Setenv("DISPLAY", "")
		t.Setenv("WAYLAND_DISPLAY", "")
		read, out := io.Pipe()
		drain, ended := make(chan struct{}), make(chan int, 1)
		var talk bytes.Buffer
		go func() {
			ended <- run(t.Context(), env{Env: app.Env{Dir: filepath.Join("..", "..")}, stdout: out, stderr: &talk, drain: drain}, c.args)
			out.Close()
		}()
		lines := bufio.NewReader(read)
		link, err := lines.ReadString('\n')
		if err != nil {
			t.Fatalf("%q: %v; exit code %d\n%s", c.args, err, <-ended, talk.String())
		}
		go func() { _, _ = io.Copy(io.Discard, lines) }()
		jar, err := cookiejar.New(nil)
		testenv.Must(t, err)
		answer, err := (&http.Client{Jar: jar}).Get(strings.TrimSpace(link))
		testenv.Must(t, err)
		page, err := io.ReadAll(answer.Body)
		answer.Body.Close()
		if err != nil || !strings.Contains(string(page), c.want) {
			t.Errorf("%q: got %v\n%s", c.args, err, page)
		}
		close(drain)
		if code := <-ended; code != c.code {
			t.Errorf("%q: got exit code %d, want %d:\n%s", c.args, code, c.code, talk.String())
		}
		if left, err := os.ReadDir(os.Getenv("TMPDIR")); err != nil || len(left) != 0 {
			t.Errorf("%q: left %v, %v", c.args, left, err)
		}
	}
}
