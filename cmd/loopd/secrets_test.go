package main

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"loopd/fixtures"
	"loopd/frozen"
	"loopd/harness"
	"loopd/internal/campaign"
	"loopd/internal/fake"
	"loopd/internal/testenv"
)

// secret is one that is planted: as it stands in a text, and the part of it that
// must be in no file.
type secret struct{ text, core string }

// ownKey is the user's own key. It is planted nowhere: it must reach the API in
// the header the gateway writes, and nothing else.
const ownKey = "sk-ant-api03-ownkey0123456789abcdefgh"

// plantedSecrets are of fourteen families. They are put together here so that
// nobody takes this file for one that leaks.
func plantedSecrets() map[string]secret {
	body := func(mark string) string { return mark + "Q7w2E9r4T6y1U3i5O8p0A2s4" }
	plain := func(prefix, mark string) secret { return secret{prefix + body(mark), body(mark)} }
	keyed := func(key, mark string) secret { return secret{key + body(mark), body(mark)} }
	jwt := "eyJhbGciOiJub25lIn0" + ".eyJzdWIiOiJoZXJvbiJ9" + body("jw") + "." + body("jx")
	pem := "-----BEGIN PRIVATE" + " KEY-----\n" + body("pem") + body("pen") + "\n-----END PRIVATE" + " KEY-----"
	return map[string]secret{
		"anthropic key":   plain("sk-"+"ant-api03-", "ak"),
		"anthropic token": plain("sk-"+"ant-oat01-", "at"),
		"github":          plain("gh"+"p_", "gh"),
		"github fine":     plain("github"+"_pat_", "gf"),
		"stripe":          plain("sk_"+"live_", "st"),
		"slack":           plain("xox"+"b-", "sl"),
		"slack hook":      plain("https://hooks.slack.com"+"/services/", "sh"),
		"google":          plain("ya"+"29.", "go"),
		"aws id":          {"AKI" + "AQ7W2E9R4T6Y1U3I5", "Q7W2E9R4T6Y1U3I5"},
		"aws secret":      keyed("aws_secret_access"+"_key = ", "aw"),
		"header":          keyed("Author"+"ization: Basic ", "he"),
		"key header":      keyed("x-api"+"-key: ", "kh"),
		"jwt":             {jwt, body("jx")},
		"private key":     {pem, body("pem")},
	}
}

func allSecrets() string {
	var out []string
	for _, s := range plantedSecrets() {
		out = append(out, s.text)
	}
	slices.Sort(out)
	return strings.Join(out, "\n")
}

// blobs are runs of base64, which files of an attempt hold.
var blobs = regexp.MustCompile(`[A-Za-z0-9+/]{24,}={0,2}`)

// leaked names the secrets that stand in a text, as they are or in base64.
func leaked(text []byte) []string {
	texts := [][]byte{text}
	for _, blob := range blobs.FindAll(text, -1) {
		if plain, err := base64.StdEncoding.DecodeString(string(blob)); err == nil {
			texts = append(texts, plain)
		}
	}
	all := plantedSecrets()
	all["own key"] = secret{ownKey, strings.TrimPrefix(ownKey, "sk-ant-api03-")}
	var out []string
	for name, s := range all {
		if slices.ContainsFunc(texts, func(t []byte) bool { return bytes.Contains(t, []byte(s.core)) }) {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return out
}

// tellingAPI is a model that says and does things with secrets in them, and keeps
// what it was asked.
type tellingAPI struct {
	model *fake.Model

	mu      sync.Mutex
	changed *sync.Cond
	asked   []byte
	waiting int
	held    bool
	refuses bool // with an error that holds every secret
}

// ServeHTTP keeps the body, waits while answers are held, and answers.
func (a *tellingAPI) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	a.mu.Lock()
	a.asked = append(append(a.asked, body...), '\n')
	a.waiting++
	a.changed.Broadcast()
	for a.held {
		a.changed.Wait()
	}
	refuses := a.refuses
	a.mu.Unlock()
	if refuses {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusBadRequest)
		_ = json.NewEncoder(w).Encode(map[string]any{"type": "error", "error": map[string]any{"type": "invalid_request_error", "message": allSecrets()}})
		return
	}
	a.model.ServeHTTP(w, r)
}

func (a *tellingAPI) hold(on bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.held = on
	a.changed.Broadcast()
}

// await returns when a further request waits.
func (a *tellingAPI) await() {
	a.mu.Lock()
	defer a.mu.Unlock()
	for n := a.waiting; a.waiting == n; {
		a.changed.Wait()
	}
}

// leaky is a user's plugin, state directory and API, all with secrets about.
type leaky struct {
	t                  *testing.T
	dir, plugin, state string
	api                *tellingAPI
	url                string
	said               bytes.Buffer // by every command
}

func newLeaky(t *testing.T) *leaky {
	t.Helper()
	dir := testenv.OpenDir(t)
	l := &leaky{t: t, dir: dir, plugin: filepath.Join(dir, "adr"), state: filepath.Join(dir, "state")}
	l.api = &tellingAPI{model: fake.NewModel(fake.Wording{Base: map[harness.Cell]float64{{Scenario: "R3", Tier: "haiku"}: 1}})}
	l.api.changed = sync.NewCond(&l.api.mu)
	server := httptest.NewServer(l.api)
	t.Cleanup(func() { l.api.hold(false); server.CloseClientConnections(); server.Close() })
	l.url = server.URL
	suite, err := campaign.ReadBundled(campaign.BundledSuite)
	testenv.Must(t, err)
	sc, _ := suite.Scenario("R3")
	sc.Oracle = []harness.Step{
		{Write: &harness.WriteStep{Path: "notes/found.txt", Content: allSecrets() + "\n"}},
		{Bash: "cat notes/found.txt; env; tr '\\0' '\\n' </proc/self/environ; tr '\\0' '\\n' </proc/$PPID/environ; leak"},
		{Read: "/nowhere/" + plantedSecrets()["github"].text},
		{Text: "What I found:\n" + allSecrets()},
	}
	testenv.Must(t, l.api.model.Register(ownKey, fake.ModelSession{Scenario: sc, Cell: harness.Cell{Scenario: "R3", Tier: "haiku"}}))
	l.layPlugin()
	return l
}

// layPlugin makes the plugin, whose program and hook print secrets. Its files hold
// none: they are the user's.
func (l *leaky) layPlugin() {
	l.t.Helper()
	sub, err := fs.Sub(fixtures.Plugins(), campaign.BundledSuite)
	testenv.Must(l.t, err)
	testenv.Must(l.t, frozen.Materialise(sub, fixtures.PluginMode, l.plugin))
	var octal strings.Builder
	for _, b := range []byte(allSecrets() + "\n") {
		fmt.Fprintf(&octal, "\\%03o", b)
	}
	tell := "printf '" + octal.String() + "'"
	l.put(filepath.Join(l.plugin, "bin", "leak"), "#!/bin/sh\n"+tell+"\n", 0o755)
	hook := filepath.Join(l.plugin, "hooks", "session-start")
	text, err := os.ReadFile(hook)
	testenv.Must(l.t, err)
	first, rest, _ := strings.Cut(string(text), "\n")
	l.put(hook, first+"\n"+tell+" >&2\n"+rest, 0o755)
	l.put(filepath.Join(l.plugin, "loopd.yaml"), "plugin: .\nsuite: bundled\nagent: "+l.claude()+"\nparallel: 2\nmax_candidates: 1\nscenarios: [R3]\ntiers: [haiku]\n", 0o644)
	for _, step := range []string{"init --quiet --initial-branch=main", "add --all", "commit --quiet --message start"} {
		l.git(l.plugin, strings.Fields(step)...)
	}
}

// claude is this program under the agent's name.
func (l *leaky) claude() string {
	l.t.Helper()
	self, err := os.Executable()
	testenv.Must(l.t, err)
	link := filepath.Join(l.dir, "claude")
	testenv.Must(l.t, os.Symlink(self, link))
	return link
}

func (l *leaky) put(path, text string, mode fs.FileMode) {
	l.t.Helper()
	testenv.Must(l.t, os.WriteFile(path, []byte(text), mode))
}

func (l *leaky) git(dir string, args ...string) []byte {
	l.t.Helper()
	cmd := exec.CommandContext(l.t.Context(), "git", args...)
	cmd.Dir, cmd.Env = dir, l.environ()
	out, err := cmd.CombinedOutput()
	if err != nil {
		l.t.Fatalf("git %s: %v: %s", args[0], err, out)
	}
	return out
}

func (l *leaky) environ() []string {
	return []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + l.dir, "TMPDIR=" + os.TempDir(), "XDG_STATE_HOME=" + l.state, "XDG_CACHE_HOME=" + filepath.Join(l.dir, "cache"),
		"ANTHROPIC_BASE_URL=" + l.url, "ANTHROPIC_API_KEY=" + ownKey, "GOTRACEBACK=all", "LC_ALL=C", "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null",
		"GIT_AUTHOR_NAME=author", "GIT_AUTHOR_EMAIL=author@localhost", "GIT_COMMITTER_NAME=author", "GIT_COMMITTER_EMAIL=author@localhost",
		"LOOPD_JUDGE_CMD=printf '%s\\n' 'NO " + plantedSecrets()["github"].text + "'",
	}
}

// command prepares loopd with those arguments.
func (l *leaky) command(args ...string) *exec.Cmd {
	l.t.Helper()
	self, err := os.Executable()
	testenv.Must(l.t, err)
	ctx, cancel := context.WithTimeout(l.t.Context(), 5*time.Minute)
	l.t.Cleanup(cancel)
	cmd := exec.CommandContext(ctx, self, args...)
	cmd.Args[0], cmd.Dir, cmd.Env = "loopd", l.plugin, l.environ()
	return cmd
}

// loopd runs the program and wants that exit code; what it says is kept.
func (l *leaky) loopd(want int, args ...string) string {
	l.t.Helper()
	out, err := l.command(args...).CombinedOutput()
	l.said.Write(out)
	got, err := codeOf(err)
	if err != nil || got != want {
		l.t.Fatalf("loopd %s: got exit code %d, %v, want %d:\n%s", strings.Join(args, " "), got, err, want, out)
	}
	return string(out)
}

// crash kills a run in the middle of sessions in the way that prints the most, and
// returns what it printed.
func (l *leaky) crash(args ...string) []byte {
	l.t.Helper()
	l.api.hold(true)
	cmd := l.command(args...)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	testenv.Must(l.t, cmd.Start())
	l.api.await()
	testenv.Must(l.t, cmd.Process.Signal(syscall.SIGQUIT))
	if err := cmd.Wait(); err == nil {
		l.t.Fatal("the program outlived SIGQUIT")
	}
	l.api.hold(false)
	return out.Bytes()
}
