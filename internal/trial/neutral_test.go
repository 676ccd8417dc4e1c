package trial_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
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

	"loopd/harness"
	"loopd/internal/fake"
	"loopd/internal/gateway"
	"loopd/internal/isolate"
	"loopd/internal/testenv"
)

// telling lists the words that would say to a session that it is measured. The
// ids of the scenarios come on top.
func telling() []string {
	return []string{
		"loopd", "eval", "evals", "evaluation", "sandbox", "sandboxes", "IS_SANDBOX", "benchmark", "harness", "scenario", "fixture", "rubric", "candidate",
		"champion", "trial", "grader", "judge", "promptfoo", "inspect_ai", "waza", "swebench", "testbed", "os-adr-eval", "ADR_EVAL",
	}
}

// look is what a curious session can ask its shell: what is about it, and which
// processes it sees. Within walls all of them are loopd's doing; elsewhere the
// session looks at its own. Each line is shown once, because shells fork.
func look(all bool) string {
	seen := "$$ $PPID"
	if all {
		seen = "[0-9]*"
	}
	return `pwd; hostname; id; env | sort; ls -a . .. "$HOME" "$TMPDIR"; git log --all --format=fuller; git status; git remote -v; git reflog
for p in ` + seen + `; do cd /proc; cat $p/cmdline $p/comm 2>/dev/null | tr '\0' '\n'; done | sort -u
[ "` + seen + `" = "[0-9]*" ] && { cat self/mountinfo; ls -a / /tmp /etc; cat /etc/passwd; }
true`
}

// recorder is the API with the requests it was sent.
type recorder struct {
	proxy *httputil.ReverseProxy
	mu    sync.Mutex
	sent  []string // texts of each request: headers, system and messages
}

// ServeHTTP keeps the request and passes it on.
func (a *recorder) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	if text, ok := textOf(body); ok {
		for _, name := range slices.Sorted(maps.Keys(r.Header)) {
			text += name + " " + strings.Join(r.Header[name], " ") + "\n"
		}
		a.mu.Lock()
		a.sent = append(a.sent, text)
		a.mu.Unlock()
	}
	a.proxy.ServeHTTP(w, r)
}

// last is the longest request: the whole conversation.
func (a *recorder) last() string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.MaxFunc(append(a.sent, ""), func(x, y string) int { return len(x) - len(y) })
}

// textOf collects the strings of a request. The tools the CLI describes are its
// own words, and more of them without the launch profile.
func textOf(body []byte) (string, bool) {
	var request map[string]any
	if json.Unmarshal(body, &request) != nil || request["messages"] == nil {
		return "", false
	}
	delete(request, "tools")
	var b strings.Builder
	addStrings(&b, request)
	return b.String(), true
}

// record starts an API that keeps what it is sent before the simulated model.
func record(t *testing.T, b *bench) (*recorder, *url.URL) {
	t.Helper()
	model, err := url.Parse(b.model.URL())
	testenv.Must(t, err)
	api := &recorder{proxy: httputil.NewSingleHostReverseProxy(model)}
	server := httptest.NewServer(api)
	t.Cleanup(server.Close)
	at, err := url.Parse(server.URL)
	testenv.Must(t, err)
	return api, at
}

// loopdSession runs a trial and returns its whole conversation.
func loopdSession(t *testing.T, walled bool, lay func(*isolate.Box) error) string {
	t.Helper()
	b := forger(t, true, walled)
	api, at := record(t, b)
	gate, err := gateway.Start(t.Context(), at, gateway.Credential{Header: gateway.HeaderKey})
	testenv.Must(t, err)
	t.Cleanup(func() { gate.Close() })
	b.o.Gateway = gate
	got := b.one("R2", play{lay: lay, steps: []harness.Step{{Bash: look(walled)}, {Text: "Done."}}})
	if got.Class != harness.Valid {
		t.Fatalf("got %s (%s)", got.Class, got.Why)
	}
	return api.last()
}

// bareSession runs the CLI as a user would, with the same prompt and the same
// steps, in a project of the user's with the same files.
func bareSession(t *testing.T) string {
	t.Helper()
	b := newBench(t)
	api, at := record(t, b)
	cli, sc, place := realAgent(t), scenarioOf(t, b, "R2"), testenv.OpenDir(t)
	sc.Oracle = []harness.Step{{Bash: look(false)}, {Text: "Done."}}
	testenv.Must(t, b.model.Register("bare", fake.ModelSession{Scenario: sc, Cell: harness.Cell{Scenario: "R2", Tier: "haiku"}}))
	work, home := filepath.Join(place, "webhook-relay"), filepath.Join(place, "ann")
	bareProject(t, b.o.Suite.Fixtures[sc.Fixture], work, home)
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	model, _ := b.o.Suite.Launch.Model("haiku")
	cmd := exec.CommandContext(ctx, cli.Path, "-p", "--output-format", "stream-json", "--verbose", "--model", model, "--dangerously-skip-permissions")
	cmd.Dir, cmd.Stdin = work, strings.NewReader(sc.Task.Reveal())
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + home, "TMPDIR=" + home, "LANG=C.UTF-8", "ANTHROPIC_BASE_URL=" + at.String(), "ANTHROPIC_API_KEY=bare"}
	if nobody() != 0 {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(nobody()), Gid: uint32(nobody())}}
	}
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return api.last()
}

func scenarioOf(t *testing.T, b *bench, id string) harness.Scenario {
	t.Helper()
	sc, ok := b.o.Suite.Scenario(id)
	if !ok {
		t.Fatalf("no scenario %s", id)
	}
	return sc
}

// bareProject writes the files, commits them with git as a user does, and gives
// them and a home to who runs the CLI.
func bareProject(t *testing.T, tree harness.Tree, work, home string) {
	t.Helper()
	for name, f := range tree {
		file := filepath.Join(work, filepath.FromSlash(name))
		testenv.Must(t, os.MkdirAll(filepath.Dir(file), 0o755))
		testenv.Must(t, os.WriteFile(file, f.Data, f.Mode.Perm()))
	}
	testenv.Must(t, os.Mkdir(home, 0o755))
	for _, args := range [][]string{{"init", "-q", "-b", "main"}, {"add", "."}, {"-c", "user.name=Ann", "-c", "user.email=ann@localhost", "commit", "-qm", "Start"}} {
		cmd := exec.Command("git", args...)
		cmd.Dir, cmd.Env = work, []string{"PATH=" + os.Getenv("PATH"), "HOME=" + home}
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
	if nobody() == 0 {
		return
	}
	err := filepath.WalkDir(filepath.Dir(work), func(path string, _ os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return os.Lchown(path, nobody(), nobody())
	})
	testenv.Must(t, err)
}

// counts says how often each of the words stands in a text as a whole word.
// Ids are short, so that their case counts.
func counts(text string, words, ids []string) map[string]int {
	out := make(map[string]int)
	for _, w := range words {
		out[w] = len(regexp.MustCompile(`(?i)(^|[^A-Za-z0-9])`+regexp.QuoteMeta(w)+`([^A-Za-z0-9]|$)`).FindAllString(text, -1))
	}
	for _, id := range ids {
		out[id] = len(regexp.MustCompile(`(^|[^A-Za-z0-9])`+regexp.QuoteMeta(id)+`([^A-Za-z0-9]|$)`).FindAllString(text, -1))
	}
	return out
}

// added lists the telling words of which a session's requests hold more than
// the bare CLI's.
func added(session, bare string, ids []string) []string {
	var out []string
	plain := counts(bare, telling(), ids)
	for word, n := range counts(session, telling(), ids) {
		if n > plain[word] {
			out = append(out, fmt.Sprintf("%s (%d, bare %d)", word, n, plain[word]))
		}
	}
	slices.Sort(out)
	return out
}

// What loopd adds to what the real CLI says and shows of itself tells a session
// nothing: compared word by word with a bare run of the same CLI.
func TestRun_NeutralSurroundings(t *testing.T) { // I3
	t.Parallel()
	realAgent(t)
	bare := bareSession(t)
	if !strings.Contains(bare, "ann@localhost") || !strings.Contains(bare, "ANTHROPIC_API_KEY=bare") {
		t.Fatalf("the bare session did not look around:\n%s", bare)
	}
	b := newBench(t)
	var ids []string
	for _, sc := range b.o.Suite.Scenarios {
		ids = append(ids, sc.ID)
	}
	for name, walled := range map[string]bool{"open": false, "walled": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			session := loopdSession(t, walled, nil)
			if !strings.Contains(session, "DISABLE_TELEMETRY=1") || len(ids) < 10 {
				t.Fatalf("the session did not look around, or %d ids are too few:\n%s", len(ids), session)
			}
			if words := added(session, bare, ids); len(words) > 0 {
				t.Errorf("telling words: %q", words)
			}
			if host, err := os.Hostname(); err == nil && walled && host != "localhost" && regexp.MustCompile(`\b`+regexp.QuoteMeta(host)+`\b`).MatchString(session) {
				t.Errorf("the machine's name %s is told", host)
			}
		})
	}
	t.Run("damage", func(t *testing.T) {
		t.Parallel()
		session := loopdSession(t, false, func(box *isolate.Box) error {
			return os.WriteFile(filepath.Join(box.Work, "loopd-R2.eval"), nil, 0o644)
		})
		words := strings.Join(added(session, bare, ids), " ")
		for _, want := range []string{"loopd", "R2", "eval"} {
			if !strings.Contains(words, want) {
				t.Errorf("%s in a file's name was not found: %q", want, words)
			}
		}
	})
}
