package main

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"loopd/fixtures"
	"loopd/frozen"
	"loopd/harness"
	"loopd/internal/campaign"
	"loopd/internal/fake"
	"loopd/internal/testenv"
)

const (
	nightDoc   = "../../docs/first-night.md"
	nightSuite = "nine-skills"
	// nightPhrase is what helps: the simulated model does all that is asked for
	// once it has been told, and nothing before.
	nightPhrase = "Look through these skills first whenever a request changes what users of the program see."
)

var sessionDir = regexp.MustCompile(`Primary working directory: ([\w./-]+)`)

// nightModel is a simulated model that finds out by itself which scenario a
// session was given.
type nightModel struct {
	model *fake.Model
	suite harness.Suite

	mu    sync.Mutex
	known map[string]bool // by the directory of the session
}

func newNightModel(t *testing.T) *nightModel {
	t.Helper()
	suite, err := campaign.ReadBundled(nightSuite)
	testenv.Must(t, err)
	w := fake.Wording{Base: make(map[harness.Cell]float64), Objective: suite.Cells(harness.Objective)}
	w.Effects = []fake.Effect{{Phrase: nightPhrase, Lift: 1}}
	for _, role := range []harness.Role{harness.Guard, harness.Reserve} {
		for _, cell := range suite.Cells(role) {
			w.Base[cell] = 1
		}
	}
	return &nightModel{model: fake.NewModel(w), suite: suite, known: make(map[string]bool)}
}

// ServeHTTP has the model play the scenario whose task the request holds.
func (n *nightModel) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	// All sessions come with the owner's key; each has a directory of its own.
	key := "elsewhere"
	if m := sessionDir.FindSubmatch(body); m != nil {
		key = string(m[1])
	}
	n.meet(key, body)
	r.Header.Set("X-Api-Key", key)
	r.Body = io.NopCloser(bytes.NewReader(body))
	n.model.ServeHTTP(w, r)
}

func (n *nightModel) meet(key string, body []byte) {
	n.mu.Lock()
	defer n.mu.Unlock()
	var req struct {
		Model    string `json:"model"`
		Messages []any  `json:"messages"`
	}
	if n.known[key] || json.Unmarshal(body, &req) != nil {
		return
	}
	var meant harness.Scenario
	longest := 0
	for _, sc := range n.suite.Scenarios {
		if echo := sc.TaskEchoes(texts(req.Messages), 3); echo > longest {
			meant, longest = sc, echo
		}
	}
	for _, tier := range n.suite.Launch.Tiers {
		if tier.Model != req.Model || longest == 0 {
			continue
		}
		cell := harness.Cell{Scenario: meant.ID, Tier: tier.Name}
		n.known[key] = n.model.Register(key, fake.ModelSession{Scenario: meant, Cell: cell, Draw: .5}) == nil
	}
}

// texts are all the strings of a decoded document, one a line.
func texts(v any) string {
	var b strings.Builder
	var walk func(any)
	walk = func(v any) {
		switch v := v.(type) {
		case string:
			b.WriteString(v + "\n")
		case []any:
			for _, e := range v {
				walk(e)
			}
		case map[string]any:
			for _, e := range v {
				walk(e)
			}
		}
	}
	walk(v)
	return b.String()
}

// typed is one command of the document and what it prints.
type typed struct {
	command string
	prints  []string
}

// console reads the blocks of a document in which commands are typed.
func console(text string) []typed {
	var out []typed
	inside := false
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		switch {
		case line == "```console night":
			inside = true
		case line == "```":
			inside = false
		case inside && strings.HasPrefix(line, "$ "):
			out = append(out, typed{command: line[2:]})
		case inside && len(out) > 0:
			out[len(out)-1].prints = append(out[len(out)-1].prints, line)
		}
	}
	return out
}

// pattern is what a command prints: … stands for text that differs from night to
// night, and alone on a line for any lines.
func (c typed) pattern() *regexp.Regexp {
	want := c.prints
	for len(want) > 0 && want[len(want)-1] == "" {
		want = want[:len(want)-1]
	}
	var b strings.Builder
	for _, line := range want {
		if line == "…" {
			b.WriteString(`(?:[^\n]*\n)*?`)
			continue
		}
		parts := strings.Split(line, "…")
		for i := range parts {
			parts[i] = regexp.QuoteMeta(parts[i])
		}
		b.WriteString(strings.Join(parts, `[^\n]*`) + ` *\n`)
	}
	return regexp.MustCompile("^" + b.String() + "$")
}

// TestFirstNight types docs/first-night.md word for word, from git init to the
// wording taken over, and wants every line that is printed to be in it. The model
// is simulated; the agent is the stand-in, in a nightly run the real CLI. With
// LOOPD_FIRST_NIGHT_LOG the test writes down what was printed.
func TestFirstNight(t *testing.T) {
	text, err := os.ReadFile(nightDoc)
	testenv.Must(t, err)
	commands := console(string(text))
	if len(commands) < 10 {
		t.Fatalf("%s types %d commands", nightDoc, len(commands))
	}
	dir := testenv.OpenDir(t)
	buildReleased(t, filepath.Join(dir, "bin"))
	if claude := testenv.Claude(t); claude != "" && testenv.Nightly() {
		real := filepath.Join(dir, "bin", "claude")
		testenv.Must(t, os.Remove(real))
		testenv.Must(t, os.Symlink(claude, real))
	}
	model := httptest.NewServer(newNightModel(t))
	t.Cleanup(model.Close)
	n := firstNight{t: t, dir: dir, cwd: dir, env: nightEnv(dir, model.URL)}
	n.lay()
	if name := os.Getenv("LOOPD_FIRST_NIGHT_LOG"); name != "" {
		t.Cleanup(func() { os.WriteFile(name, n.log.Bytes(), 0o644) })
	}
	for _, c := range commands {
		n.typeIn(c)
	}
}

func nightEnv(dir, url string) []string {
	return []string{
		"PATH=" + filepath.Join(dir, "bin") + ":" + os.Getenv("PATH"), "HOME=" + filepath.Join(dir, "home"), "LC_ALL=C.UTF-8", "NO_COLOR=1", "TZ=UTC",
		"XDG_CACHE_HOME=" + filepath.Join(dir, "cache"),
		"ANTHROPIC_BASE_URL=" + url, "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null",
		"GIT_AUTHOR_NAME=author", "GIT_AUTHOR_EMAIL=author@localhost", "GIT_COMMITTER_NAME=author", "GIT_COMMITTER_EMAIL=author@localhost",
		"GIT_AUTHOR_DATE=2026-01-05T09:00:00Z", "GIT_COMMITTER_DATE=2026-01-05T09:00:00Z",
	}
}

// firstNight is a person's first night.
type firstNight struct {
	t   *testing.T
	dir string
	cwd string
	env []string
	log bytes.Buffer
}

// lay puts down what the person has: the plugin without git, a key in a file,
// and an idea.
func (n *firstNight) lay() {
	n.t.Helper()
	suite, err := campaign.ReadBundled(nightSuite)
	testenv.Must(n.t, err)
	plugin := filepath.Join(n.dir, suite.Checker.Plugin)
	files := fixtures.Plugins()
	sub, err := fs.Sub(files, suite.Checker.Plugin)
	testenv.Must(n.t, err)
	testenv.Must(n.t, frozen.Materialise(sub, nil, plugin))
	testenv.Must(n.t, os.Mkdir(filepath.Join(n.dir, "home"), 0o755))
	testenv.Must(n.t, os.WriteFile(filepath.Join(n.dir, "key"), []byte("sk-ant-api03-first-night-0123456789"), 0o600))
}

// typeIn runs one command and compares what it prints, line by line.
func (n *firstNight) typeIn(c typed) {
	n.t.Helper()
	ctx, cancel := context.WithTimeout(n.t.Context(), 20*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "sh", "-c", c.command)
	cmd.Dir, cmd.Env = n.cwd, n.env
	out, err := cmd.CombinedOutput()
	n.log.WriteString("$ " + c.command + "\n")
	n.log.Write(out)
	if err != nil {
		n.t.Fatalf("%s: %v\n%s", c.command, err, out)
	}
	if to, ok := strings.CutPrefix(c.command, "cd "); ok {
		n.cwd = filepath.Join(n.cwd, to)
	}
	printed := strings.TrimRight(string(out), "\n") + "\n"
	if len(out) == 0 {
		printed = ""
	}
	if !c.pattern().MatchString(printed) {
		n.t.Errorf("%s: printed\n%s\nthe document has\n%s", c.command, printed, strings.Join(c.prints, "\n"))
	}
}

func TestFirstNightFindsOtherOutput(t *testing.T) {
	t.Parallel()
	c := typed{prints: []string{"wrote …", "", "…", "Next: loopd run", ""}}
	for printed, want := range map[string]bool{
		"wrote a\n\nNext: loopd run\n":           true,
		"wrote a\n\nb\nc\nNext: loopd run\n":     true,
		"wrote a\nNext: loopd run\n":             false,
		"wrote a\n\nNext: loopd plan\n":          false,
		"wrote a\n\nNext: loopd run\nand more\n": false,
		"":                                       false,
	} {
		if got := c.pattern().MatchString(printed); got != want {
			t.Errorf("%q: got %t, want %t", printed, got, want)
		}
	}
}
