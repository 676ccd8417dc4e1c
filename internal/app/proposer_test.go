package app

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"loopd/candidates"
	"loopd/candidates/propose"
	"loopd/harness"
	"loopd/internal/agent"
	"loopd/internal/fake"
	"loopd/internal/gateway"
	"loopd/internal/testenv"
	"loopd/internal/trial"
	"loopd/loop"
)

// standInName is this test under the agent's name.
const standInName = "claude"

func TestMain(m *testing.M) {
	if filepath.Base(os.Args[0]) == standInName {
		dir, err := os.Getwd()
		if err != nil {
			panic(err)
		}
		os.Exit(fake.AgentMain(context.Background(), os.Args[1:], os.Environ(), dir, os.Stdin, os.Stdout, os.Stderr))
	}
	os.Exit(m.Run())
}

func brief() propose.Brief {
	return propose.Brief{
		Version: propose.Version, N: 1, Ask: propose.Edit, Limits: propose.LimitsOf(), Cells: []propose.Cell{}, Failures: []propose.Tally{}, Tools: []propose.Tally{},
		Practice: []propose.Practice{}, Rejected: []propose.Rejected{}, Tried: []string{},
		Wording: []propose.File{
			{Path: "hooks/note.md", Text: "[a] Look here. Then there.\n", Note: true},
			{Path: "skills/find/SKILL.md", Text: "---\nname: find\ndescription: Finds it.\n---\nFind it.\n"},
		},
	}
}

const good = `{"candidates":[{"rationale":"shorter","edits":[{"path":"hooks/note.md","old":" Then there.","new":""}]}]}`

// wantRefusal wants an error to be a refusal of a kind that repeats nothing.
func wantRefusal(t *testing.T, err error, want propose.Why) {
	t.Helper()
	r, ok := errors.AsType[*propose.Refusal](err)
	if !ok || r.Why != want {
		t.Errorf("got %v, want the refusal %s", err, want)
		return
	}
	if strings.Contains(err.Error(), "SECRET") {
		t.Errorf("the refusal repeats what was said: %v", err)
	}
}

func TestCommand(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		script string
		want   propose.Why // empty for a candidate
	}{
		"good":              {"cat >/dev/null; printf '%s' '" + good + "'", ""},
		"fenced":            {"printf '```json\\n%s\\n```\\n' '" + good + "'", ""},
		"unread":            {"exec <&-; printf '%s' '" + good + "'", ""},
		"silent":            {":", propose.Nothing},
		"prose":             {"echo SECRET words", propose.Garbage},
		"identical":         {`printf '{"candidates":[{"rationale":"","edits":[{"path":"hooks/note.md","old":"Look","new":"Look "}]}]}'`, propose.Identical},
		"fails":             {"printf '%s' '" + good + "'; echo SECRET >&2; exit 3", propose.Failed},
		"hangs":             {"printf '%s' '" + good + "'; sleep 977", propose.Hung},
		"leaves a child":    {"printf '%s' '" + good + "'; (setsid sleep 978 >/dev/null 2>&1 &)", ""},
		"never ends":        {"yes SECRET", propose.Failed},
		"over the bound":    {"head -c 1100000 /dev/zero", propose.Failed},
		"not UTF-8":         {`printf '{"candidates":\377}'`, propose.Garbage},
		"two megabytes":     {"head -c 2000000 /dev/zero | tr '\\0' x", propose.Failed},
		"child on the pipe": {"printf '%s' '" + good + "'; sleep 980 &", ""},
		"own group, pipe":   {"printf '%s' '" + good + "'; setsid sleep 981 &", ""},
		"fills its room":    {"mkdir -p a/b; echo x >a/b/c; ln -s / a/root; mkfifo a/pipe; printf '%s' '" + good + "'", ""},
		"without its room":  {"cd /; rm -rf \"$TMPDIR\"; printf '%s' '" + good + "'", ""},
		"ten thousand":      {`printf '{"candidates":['; i=0; while [ $i -lt 9999 ]; do printf '{"rationale":"","edits":[]},'; i=$((i+1)); done; printf '{"rationale":"","edits":[]}]}'`, propose.Garbage},
		"no edits":          {`printf '{"candidates":[{"rationale":"r","edits":[]}]}'`, propose.Garbage},
		"killed":            {"kill -9 $$", propose.Failed},
		"ignores TERM":      {"trap '' TERM; while :; do sleep 1; done", propose.Hung},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			limit := time.Minute
			if c.want == propose.Hung {
				limit = 300 * time.Millisecond
			}
			began := time.Now()
			got, err := ProposerCommand{Args: []string{"sh", "-c", c.script}, Limit: limit, Environ: os.Environ()}.Propose(t.Context(), brief())
			if took := time.Since(began); took > 40*time.Second {
				t.Errorf("took %v", took)
			}
			if c.want != "" {
				wantRefusal(t, err, c.want)
				return
			}
			if err != nil || len(got) != 1 || got[0].Source != candidates.Proposer {
				t.Errorf("got %v, %v, want one candidate", got, err)
			}
		})
	}
}

func TestCommandLeavesNoProcess(t *testing.T) {
	t.Parallel()
	pids := filepath.Join(t.TempDir(), "pids")
	script := "(setsid sh -c 'echo $$ >>" + pids + "; sleep 979' >/dev/null 2>&1 &) ; echo $$ >>" + pids + "; while [ $(wc -l <" + pids + ") -lt 2 ]; do :; done; sleep 979"
	_, err := ProposerCommand{Args: []string{"sh", "-c", script}, Limit: time.Second, Environ: os.Environ()}.Propose(t.Context(), brief())
	wantRefusal(t, err, propose.Hung)
	data, err := os.ReadFile(pids)
	if err != nil || len(strings.Fields(string(data))) != 2 {
		t.Fatalf("got %q, %v, want two processes", data, err)
	}
	for _, pid := range strings.Fields(string(data)) {
		if cmdline, err := os.ReadFile("/proc/" + pid + "/cmdline"); err == nil && len(cmdline) > 0 {
			t.Errorf("process %s is still there: %q", pid, cmdline)
		}
	}
}

// A command is told the brief and nothing else: no variable but those listed, an
// empty directory, its own arguments.
func TestCommandIsToldTheBriefAlone(t *testing.T) {
	t.Parallel()
	dump := t.TempDir()
	script := filepath.Join(dump, "propose.sh")
	text := "#!/bin/sh\ncat >" + dump + "/stdin\nenv >" + dump + "/env\nls -A >" + dump + "/dir\nprintf '%s\\n' \"$@\" >" + dump + "/args\npwd >" + dump + "/pwd\nprintf '%s' '" + good + "'\n"
	testenv.Must(t, os.WriteFile(script, []byte(text), 0o755))
	b := brief()
	env := append(os.Environ(), "ANTHROPIC_API_KEY=sk-planted", "CLAUDE_CODE_OAUTH_TOKEN=planted", "LOOPD_STATE=/planted", "SSH_AUTH_SOCK=/planted")
	if _, err := (ProposerCommand{Args: []string{script, "one", "two"}, Limit: time.Minute, Environ: env}).Propose(t.Context(), b); err != nil {
		t.Fatal(err)
	}
	read := func(name string) string {
		data, err := os.ReadFile(filepath.Join(dump, name))
		testenv.Must(t, err)
		return string(data)
	}
	var got propose.Brief
	if err := json.Unmarshal([]byte(read("stdin")), &got); err != nil || got.Wording[0].Text != b.Wording[0].Text {
		t.Errorf("standard input: got %v, %v", got, err)
	}
	if read("dir") != "" || read("args") != "one\ntwo\n" {
		t.Errorf("directory %q, arguments %q, want nothing and its own", read("dir"), read("args"))
	}
	for line := range strings.Lines(read("env")) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), "=")
		if !slices.Contains(append(passedOn(), "TMPDIR", "PWD", "SHLVL", "_", "OLDPWD"), name) || strings.Contains(value, "planted") {
			t.Errorf("the environment holds %s", line)
		}
	}
	if _, err := os.Stat(strings.TrimSpace(read("pwd"))); err == nil {
		t.Error("its directory is still there")
	}
}

func TestCommandThatIsNotThere(t *testing.T) {
	t.Parallel()
	for _, program := range []string{"no-such-proposer", "/no/such/proposer"} {
		_, err := ProposerCommand{Args: []string{program}, Limit: time.Minute, Environ: os.Environ()}.Propose(t.Context(), brief())
		wantRefusal(t, err, propose.Failed)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := (ProposerCommand{Args: []string{"sh", "-c", "sleep 1"}, Limit: time.Minute, Environ: os.Environ()}).Propose(ctx, brief()); !errors.Is(err, context.Canceled) {
		t.Errorf("called off: got %v", err)
	}
}

// rig is an agent with a simulated model behind a gateway.
type rig struct {
	options trial.Options
	mu      sync.Mutex
	system  []string
	prompts []string
}

func newRig(t *testing.T, binary agent.Binary, answer string) *rig {
	t.Helper()
	r := &rig{}
	model, err := fake.StartModel(t.Context(), fake.Wording{}, func(system, prompt string) (string, bool) {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.system, r.prompts = append(r.system, system), append(r.prompts, prompt)
		return answer, strings.Contains(system, ProposerMark)
	})
	testenv.Must(t, err)
	t.Cleanup(func() { model.Close() })
	r.through(t, binary, model.URL())
	return r
}

// through opens the gateway to an API.
func (r *rig) through(t *testing.T, binary agent.Binary, api string) {
	t.Helper()
	upstream, err := url.Parse(api)
	testenv.Must(t, err)
	gate, err := gateway.Start(t.Context(), upstream, gateway.Credential{Header: gateway.HeaderKey, Value: "sk-real-key"})
	testenv.Must(t, err)
	t.Cleanup(func() { gate.Close() })
	r.options = trial.Options{Agent: binary, Gateway: gate, Suite: harness.Suite{Launch: harness.Launch{Env: []string{
		"PATH", "HOME", "CLAUDE_CONFIG_DIR", "TMPDIR", "LANG", "ANTHROPIC_BASE_URL", "ANTHROPIC_API_KEY", "DISABLE_AUTOUPDATER", "DISABLE_TELEMETRY",
		"DISABLE_ERROR_REPORTING", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "CLAUDE_CODE_MAX_RETRIES",
	}, MaxRetries: 0}}}
	if os.Geteuid() == 0 {
		r.options.UID, r.options.GID = 65534, 65534
	}
}

func (r *rig) ask(t *testing.T, limit time.Duration) ([]candidates.Candidate, *ProposerAgent, error) {
	t.Helper()
	a, err := NewProposerAgent(t.Context(), r.options, "claude-sonnet-5-5", limit)
	testenv.Must(t, err)
	list, err := a.Propose(t.Context(), brief())
	return list, a, err
}

// standIn is this test's own program under the agent's name, where the user of
// sessions can run it.
func standIn(t *testing.T) agent.Binary {
	t.Helper()
	return agent.Binary{Path: testenv.StandIn(t, standInName), Version: fake.AgentVersion, SHA256: "standin"}
}

func agents(t *testing.T) map[string]agent.Binary {
	out := map[string]agent.Binary{"stand-in": standIn(t)}
	path := testenv.Claude(t)
	if path == "" {
		return out
	}
	cli, err := agent.Pin(t.Context(), path, filepath.Join(testenv.OpenDir(t), "agent"))
	testenv.Must(t, err)
	out["claude"] = cli
	return out
}

func TestAgent(t *testing.T) {
	for name, binary := range agents(t) {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, binary, good)
			list, a, err := r.ask(t, time.Minute)
			if err != nil || len(list) != 1 || list[0].Rationale != "shorter" {
				t.Fatalf("got %v, %v, want the candidate", list, err)
			}
			if tokens, usd := a.Spent(); tokens == 0 || usd == nil || *usd <= 0 {
				t.Errorf("spent: got %d, %v", tokens, usd)
			}
			var got propose.Brief
			last := r.prompts[len(r.prompts)-1]
			if err := json.Unmarshal([]byte(strings.TrimSpace(last)), &got); err != nil || len(got.Wording) != 2 {
				t.Errorf("the prompt is not the brief: %v: %.200s", err, last)
			}
			if !strings.Contains(r.system[len(r.system)-1], proposerSystem) {
				t.Error("the system prompt is not the one written down")
			}
		})
	}
}

func TestAgentThatBringsNothing(t *testing.T) {
	binary := standIn(t)
	for answer, want := range map[string]propose.Why{"SECRET prose": propose.Garbage, `{"candidates":[]}`: propose.Nothing, "": propose.Nothing} {
		_, _, err := newRig(t, binary, answer).ask(t, time.Minute)
		wantRefusal(t, err, want)
	}
	long := `{"candidates":[{"rationale":"` + strings.Repeat("x", propose.MaxAnswer) + `"}]}`
	_, _, err := newRig(t, binary, long).ask(t, time.Minute)
	wantRefusal(t, err, propose.Failed)
}

// api answers every request in one way.
func (r *rig) api(t *testing.T, binary agent.Binary, h http.HandlerFunc) {
	t.Helper()
	server := &http.Server{Handler: h}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	testenv.Must(t, err)
	var wait sync.WaitGroup
	wait.Go(func() { _ = server.Serve(l) })
	t.Cleanup(func() { server.Close(); wait.Wait() })
	r.through(t, binary, "http://"+l.Addr().String())
}

func TestAgentThatHangsFailsOrMeetsALimit(t *testing.T) {
	binary := standIn(t)
	hangs, fails, limit := &rig{}, &rig{}, &rig{}
	hangs.api(t, binary, func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	_, _, err := hangs.ask(t, 2*time.Second)
	wantRefusal(t, err, propose.Hung)
	fails.api(t, binary, func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusBadRequest)
		fmt.Fprint(w, `{"type":"error","error":{"type":"invalid_request_error","message":"SECRET"}}`)
	})
	_, _, err = fails.ask(t, time.Minute)
	wantRefusal(t, err, propose.Failed)
	limit.api(t, binary, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", "3600")
		w.WriteHeader(http.StatusTooManyRequests)
		fmt.Fprint(w, `{"type":"error","error":{"type":"rate_limit_error","message":"too many"}}`)
	})
	_, _, err = limit.ask(t, time.Minute)
	if hold, ok := errors.AsType[*loop.HoldError](err); !ok || hold.Paused.Class != harness.RateLimit || hold.Paused.Until.IsZero() {
		t.Errorf("a limit: got %v, want a hold until it lifts", err)
	}
}

// A session that proposes has a directory with the wording and nothing else, no
// tool, nothing of the brief among its arguments, and no key but a dummy.
func TestAgentSeesTheWordingAlone(t *testing.T) {
	dump := testenv.OpenDir(t)
	testenv.Must(t, os.Chmod(dump, 0o777))
	script := filepath.Join(dump, "claude")
	line := `{"type":"result","subtype":"success","is_error":false,"result":"","total_cost_usd":0.5,"usage":{"input_tokens":3,"output_tokens":4}}`
	text := "#!/bin/sh\nfind . -type f >" + dump + "/files\nenv >" + dump + "/env\nprintf '%s\\n' \"$@\" >" + dump + "/args\nprintf '%s\\n' '" + line + "'\n"
	testenv.Must(t, os.WriteFile(script, []byte(text), 0o755))
	t.Setenv("LOOPD_PLANTED", "planted")
	r := &rig{}
	r.through(t, agent.Binary{Path: script, Version: "0"}, "http://127.0.0.1:9")
	_, a, err := r.ask(t, time.Minute)
	wantRefusal(t, err, propose.Nothing)
	if tokens, usd := a.Spent(); tokens != 7 || usd == nil || *usd != .5 {
		t.Errorf("spent: got %d, %v, want 7 and 0.5", tokens, usd)
	}
	read := func(name string) string {
		data, err := os.ReadFile(filepath.Join(dump, name))
		testenv.Must(t, err)
		return string(data)
	}
	files := strings.Fields(read("files"))
	slices.Sort(files)
	if !slices.Equal(files, []string{"./hooks/note.md", "./skills/find/SKILL.md"}) {
		t.Errorf("its directory holds %v", files)
	}
	args := read("args")
	if !strings.Contains(args, "--tools=\n") || strings.Contains(args, "Look here") || strings.Contains(args, "improve the wording") {
		t.Errorf("arguments: %s", args)
	}
	if env := read("env"); strings.Contains(env, "planted") || strings.Contains(env, "sk-real-key") || strings.Contains(env, "LOOPD") {
		t.Errorf("environment: %s", env)
	}
}
