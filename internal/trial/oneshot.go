package trial

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"loopd/harness"
	"loopd/internal/agent"
	"loopd/internal/gateway"
	"loopd/internal/isolate"
)

// OneShot puts one prompt to the agent CLI, in a session without tools, hooks,
// settings or plugins: each in a process of its own, in a directory that holds
// the files it is given and nothing else, through the gateway and isolated as
// sessions are.
type OneShot struct {
	executor *Executor
	model    string
	limit    time.Duration
	git      *isolate.GitTemplate
	project  harness.Tree // of the box; the session is not started in it
	what     string       // what is being done, for errors
	dir      string       // name of the directory it is started in
}

// Reply is what a session without tools came to.
type Reply struct {
	Text    string   // its last word
	Tokens  int      // of all kinds
	CostUSD *float64 // at list price, nil where the CLI named none
}

// ErrNoAnswer says that a session did not come to an answer in its time.
var ErrNoAnswer = errors.New("no answer within the time")

// LimitedError says that a limit of the account kept a session without tools from
// answering. Asking again soon is no use.
type LimitedError struct {
	Until time.Time // when the limit is over, zero where nobody said
	Err   error     // what came instead of an answer
}

// Error says what came instead of an answer.
func (e *LimitedError) Error() string { return "a limit of the account: " + e.Err.Error() }

// Unwrap returns what came instead of an answer.
func (e *LimitedError) Unwrap() error { return e.Err }

// NewOneShot makes a OneShot of a model, by its pinned id. Of the options it needs
// what launches a session, as NewCLIJudge does.
func NewOneShot(ctx context.Context, o Options, model string, limit time.Duration) (*OneShot, error) {
	if model == "" || o.Gateway == nil || limit <= 0 {
		return nil, errors.New("ask the agent: no model, no gateway or no limit")
	}
	a := &OneShot{executor: &Executor{o: o.timed()}, model: model, limit: limit, what: "ask the agent", dir: "wording"}
	a.project = harness.Tree{"README.md": harness.File{Mode: 0o644, Data: []byte("Notes\n")}}
	var err error
	if a.git, err = isolate.NewGitTemplate(ctx, a.project); err != nil {
		return nil, fmt.Errorf("ask the agent: %w", err)
	}
	return a, nil
}

// Ask runs the CLI once. system is its system prompt, prompt arrives on standard
// input, files lie in its directory, most is how many bytes it may print. The
// error is a *LimitedError where a limit of the account kept it from answering,
// ErrNoAnswer and ErrTooLong where it did not come to an end.
func (a *OneShot) Ask(ctx context.Context, system, prompt string, files harness.Tree, most int) (Reply, error) {
	var out Reply
	_, err := a.ask(ctx, request{system, prompt, files, most}, func(r Reply) error { out = r; return nil })
	return out, err
}

// request is what is asked once, as the arguments of Ask.
type request struct {
	system, prompt string
	files          harness.Tree
	most           int
}

// printed is what the CLI printed, and the sha256 of the system prompt it was
// given, hex; empty when it was not.
type printed struct{ line, system string }

// ask runs the CLI once and has its reply read.
func (a *OneShot) ask(ctx context.Context, q request, read func(Reply) error) (p printed, err error) {
	o := a.executor.o
	defer func() {
		if err != nil {
			err = fmt.Errorf("%s: %w", a.what, err)
		}
	}()
	box, err := isolate.New(ctx, isolate.Options{
		Base: o.Sandboxes, Fixture: a.project, Plugin: q.files, PluginName: a.dir, Git: a.git, UID: o.UID, GID: o.GID,
	})
	if err != nil {
		return p, err
	}
	defer func() { err = errors.Join(err, box.Remove()) }()
	system := filepath.Join(box.Tmp, "system.txt")
	if p.system, err = o.writeSystem(system, q.system); err != nil {
		return p, err
	}
	proxy := o.Gateway.Open(gateway.Session{Prices: o.Suite.Launch.Prices(), Limits: o.OneShotLimits})
	defer proxy.Close()
	defer func() {
		if limited := proxy.Report().Limited; err != nil && ctx.Err() == nil && limited != nil {
			until, _ := gateway.Lifts(limited, o.Now())
			err = &LimitedError{until, err}
		}
	}()
	out := &answerWriter{most: q.most}
	exit, err := a.launch(ctx, box, proxy, out, q.prompt, system)
	p.line = string(out.data)
	switch {
	case ctx.Err() != nil:
		return p, ctx.Err()
	case out.full:
		return p, fmt.Errorf("%w: more than %d KiB", ErrTooLong, q.most>>10)
	case err != nil:
		return p, err
	case exit.Cause != "" || exit.LimitTime:
		return p, ErrNoAnswer
	case exit.Survivors > 0:
		return p, fmt.Errorf("%d processes of it could not be ended", exit.Survivors)
	}
	reply, err := readReply(p.line)
	if err != nil {
		return p, err
	}
	return p, read(reply)
}

// launch starts the CLI in the box's plugin directory, which stands for the
// project, and waits for its end.
func (a *OneShot) launch(ctx context.Context, box *isolate.Box, proxy *gateway.Proxy, out *answerWriter, prompt, system string) (agent.Exit, error) {
	o := a.executor.o
	env, err := agent.Environ(o.Suite.Launch, a.executor.values(box, proxy.Key(), o.Gateway.URL().String()))
	if err != nil {
		return agent.Exit{}, err
	}
	inside := *box
	inside.Work = box.Plugin
	l, release, err := a.executor.isolated(agent.Launch{
		Path: o.Agent.Path, Argv0: "claude", Args: oneShotArgs(a.model, system), Env: env, Dir: inside.Work,
		Stdin: []byte(prompt), Stdout: out, Stderr: &answerWriter{}, Clocks: harness.Clocks{Total: a.limit, Grace: 10 * time.Second},
		Activity: proxy.LastActivity, UID: o.UID, GID: o.GID, Marker: box.Root,
	}, &inside, proxy)
	if err != nil {
		return agent.Exit{}, err
	}
	exit, err := agent.Run(ctx, l)
	return exit, errors.Join(err, release())
}

// oneShotArgs are the arguments of the CLI, without the program's name: nothing of
// the system prompt, which is read from its file. Options that take several values
// are written with "=".
func oneShotArgs(model, system string) []string {
	return []string{
		"-p", "--output-format", "json", "--setting-sources=", "--tools=", "--disable-slash-commands", "--strict-mcp-config",
		"--no-session-persistence", "--max-turns", "1", "--model", model, "--system-prompt-file", system,
	}
}

// writeSystem writes a system prompt where only the session's user can read it,
// and returns its sha256. As an argument every user of the machine would see it.
// The file must be a new one: without isolation, a session of that user could have
// put a link there.
func (o Options) writeSystem(name, text string) (digest string, err error) {
	f, err := os.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return "", fmt.Errorf("write the system prompt: %w", err)
	}
	_, err = f.WriteString(text)
	if err == nil && os.Geteuid() == 0 && o.UID != 0 {
		err = f.Chown(o.UID, o.GID)
	}
	if err := errors.Join(err, f.Close()); err != nil {
		return "", fmt.Errorf("write the system prompt: %w", err)
	}
	return hexDigest([]byte(text)), nil
}

// readReply reads the one line the CLI prints. What it says of an error is prose
// of the API and stays out of ours.
func readReply(line string) (Reply, error) {
	var r struct {
		Type    string   `json:"type"`
		Subtype string   `json:"subtype"`
		IsError *bool    `json:"is_error"`
		Status  int      `json:"api_error_status"`
		Result  string   `json:"result"`
		Cost    *float64 `json:"total_cost_usd"`
		Usage   struct {
			Input      int `json:"input_tokens"`
			Output     int `json:"output_tokens"`
			CacheRead  int `json:"cache_read_input_tokens"`
			CacheWrite int `json:"cache_creation_input_tokens"`
		} `json:"usage"`
	}
	if err := json.Unmarshal([]byte(line), &r); err != nil || r.Type != "result" || r.IsError == nil {
		return Reply{}, fmt.Errorf("its output is not one result line (%d bytes)", len(line))
	}
	if *r.IsError || r.Subtype != "success" {
		return Reply{}, fmt.Errorf("the session ended with an error (%s, status %d)", r.Subtype, r.Status)
	}
	return Reply{r.Result, r.Usage.Input + r.Usage.Output + r.Usage.CacheRead + r.Usage.CacheWrite, r.Cost}, nil
}
