package loopd_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"loopd/internal/testenv"
)

// marked is the info string of a fenced block whose commands a test runs:
// lines that begin with "$ " are typed, the others are what must be printed.
const marked = "console run"

// anything stands in a printed line for text that differs from run to run.
const anything = "…"

// command is one line to type, what must be printed in that order, and where
// the document says so.
type command struct {
	line   int
	typed  string
	prints []string
}

// commands reads the marked blocks of a Markdown document, one script a block.
func commands(text string) [][]command {
	var out [][]command
	inside := false
	for i, line := range strings.Split(text, "\n") {
		switch {
		case !inside && line == "```"+marked:
			inside = true
			out = append(out, nil)
		case inside && line == "```":
			inside = false
		case inside && strings.HasPrefix(line, "$ "):
			last := len(out) - 1
			out[last] = append(out[last], command{line: i + 1, typed: line[2:]})
		case inside && strings.TrimSpace(line) != "":
			block := out[len(out)-1]
			if len(block) == 0 {
				block = append(block, command{line: i + 1, typed: "false"})
			}
			last := len(block) - 1
			block[last].prints = append(block[last].prints, line)
			out[len(out)-1] = block
		}
	}
	return out
}

// missing returns the first line that is not printed after the ones before it.
func missing(printed string, want []string) (line string, ok bool) {
	rest := strings.Split(printed, "\n")
	for _, w := range want {
		parts := strings.Split(strings.TrimSpace(w), anything)
		for i := range parts {
			parts[i] = regexp.QuoteMeta(parts[i])
		}
		pattern := regexp.MustCompile("^" + strings.Join(parts, ".*") + "$")
		found := false
		for len(rest) > 0 && !found {
			found = pattern.MatchString(strings.TrimSpace(rest[0]))
			rest = rest[1:]
		}
		if !found {
			return w, true
		}
	}
	return "", false
}

// run types the commands of one block into one shell each, in a directory of
// their own with the program at bin/loopd and a home that is empty.
func run(t *testing.T, dir string, block []command) []string {
	t.Helper()
	var out []string
	for _, c := range block {
		cmd := exec.CommandContext(t.Context(), "sh", "-c", c.typed)
		cmd.Dir = dir
		cmd.Env = []string{"PATH=" + filepath.Join(dir, "bin") + ":" + os.Getenv("PATH"), "HOME=" + filepath.Join(dir, "home"), "LC_ALL=C.UTF-8", "NO_COLOR=1"}
		var printed bytes.Buffer
		cmd.Stdout, cmd.Stderr = &printed, &printed
		err := cmd.Run()
		var exit *exec.ExitError
		switch {
		case errors.As(err, &exit):
			out = append(out, fmt.Sprintf("line %d: %s: %v\n%s", c.line, c.typed, err, printed.String()))
		case err != nil:
			t.Fatal(err)
		}
		if line, yes := missing(printed.String(), c.prints); yes {
			out = append(out, fmt.Sprintf("line %d: %s: does not print %q but\n%s", c.line, c.typed, line, printed.String()))
		}
	}
	return out
}

// TestDocumentedCommands builds the program and types what the documents say.
// A document without a marked block, like a build that fails, is a failure: a
// session in a README that nobody runs stops being true.
func TestDocumentedCommands(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	// The flags of make build: then its packages are in the build cache already.
	build := exec.CommandContext(t.Context(), "go", "build", "-trimpath", "-o", filepath.Join(dir, "bin", "loopd"), "./cmd/loopd")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if text, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build ./cmd/loopd: %v\n%s", err, text)
	}
	testenv.Must(t, os.Mkdir(filepath.Join(dir, "home"), 0o700))
	blocks := commands(document(t, "README.md"))
	if len(blocks) == 0 {
		t.Fatalf("README.md has no block marked %q", marked)
	}
	demo := regexp.MustCompile(`(?m)^demo: .*\n\t@\./bin/(loopd .*)$`).FindStringSubmatch(document(t, "Makefile"))
	if demo == nil || blocks[0][0].typed != demo[1] {
		t.Errorf("make demo does %q, want the first command of README.md", demo)
	}
	for _, block := range blocks {
		if len(block) == 0 {
			t.Errorf("README.md has an empty block marked %q", marked)
		}
		for _, complaint := range run(t, dir, block) {
			t.Error("README.md: " + complaint)
		}
	}
}

func TestDocumentedCommandsDamage(t *testing.T) {
	t.Parallel()
	fenced := func(lines string) string { return "# x\n```sh\n$ exit 9\n```\n```" + marked + "\n" + lines + "\n```\n" }
	for name, tc := range map[string]struct {
		lines, want string
	}{
		"sound":           {"$ printf 'a 1\\nb\\nc\\n'\na …\nc", ""},
		"fails":           {"$ exit 3", "exit status 3"},
		"prints nothing":  {"$ true\nkept", `does not print "kept"`},
		"wrong order":     {"$ printf 'a\\nb\\n'\nb\na", `does not print "a"`},
		"half a line":     {"$ echo kept by chance\nkept", `does not print "kept"`},
		"output no input": {"kept", "exit status 1"},
	} {
		blocks := commands(fenced(tc.lines))
		if len(blocks) != 1 {
			t.Fatalf("%s: got %d blocks, want 1", name, len(blocks))
		}
		got := strings.Join(run(t, t.TempDir(), blocks[0]), "\n")
		if tc.want == "" && got != "" || !strings.Contains(got, tc.want) {
			t.Errorf("%s: got %q, want %q", name, got, tc.want)
		}
	}
}
