package trial

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
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
// the files it is given and nothing else, through the gateway and within the
// walls sessions have.
type OneShot struct {
	executor *Executor
	model    string
	limit    time.Duration
	git      *isolate.GitTemplate
	project  harness.Tree // of the box; the session is not started in it
}

// Reply is what a session without tools came to.
type Reply struct {
	Text    string   // its last word
	Tokens  int      // of all kinds
	CostUSD *float64 // at list price, nil where the CLI named none
}

// The ways in which a session without tools gives no answer.
var (
	ErrNoAnswer = errors.New("no answer within the time")
	ErrTooLong  = errors.New("more output than an answer can have")
)

// NewOneShot makes an Asker of a model, by its pinned id. Of the options it needs
// what launches a session, as NewCLIJudge does.
func NewOneShot(ctx context.Context, o Options, model string, limit time.Duration) (*OneShot, error) {
	if model == "" || o.Gateway == nil || limit <= 0 {
		return nil, errors.New("ask the agent: no model, no gateway or no limit")
	}
	a := &OneShot{executor: &Executor{o: o.timed()}, model: model, limit: limit}
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
// ErrNoAnswer and ErrTooMuchSaid where it did not come to an end.
func (a *OneShot) Ask(ctx context.Context, system, prompt string, files harness.Tree, most int) (said Reply, err error) {
	o := a.executor.o
	box, err := isolate.New(ctx, isolate.Options{
		Base: o.Sandboxes, Fixture: a.project, Plugin: files, PluginName: "wording", Git: a.git, UID: o.UID, GID: o.GID,
	})
	if err != nil {
		return said, fmt.Errorf("ask the agent: %w", err)
	}
	defer func() { err = errors.Join(err, box.Remove()) }()
	laid, err := o.laySystem(box, system)
	if err != nil {
		return said, fmt.Errorf("ask the agent: %w", err)
	}
	tap := o.Gateway.Open(gateway.Session{Prices: o.Suite.Launch.Prices(), Limits: o.OneShotLimits})
	defer tap.Close()
	defer func() { err = limited(ctx, tap.Report(), o.Now(), err) }()
	out := &answerWriter{most: most}
	exit, err := a.executor.once(ctx, box, tap, out, launchedPrompt{a.limit, judgeArgs(a.model, laid.file), prompt})
	switch {
	case ctx.Err() != nil:
		return said, fmt.Errorf("ask the agent: %w", ctx.Err())
	case out.full:
		return said, fmt.Errorf("ask the agent: %w", ErrTooLong)
	case err != nil:
		return said, fmt.Errorf("ask the agent: %w", err)
	case exit.Cause != "" || exit.LimitTime:
		return said, fmt.Errorf("ask the agent: %w", ErrNoAnswer)
	case exit.Survivors > 0:
		return said, fmt.Errorf("ask the agent: %d processes of it could not be ended", exit.Survivors)
	}
	if said, err = readSaid(out.text()); err != nil {
		return said, fmt.Errorf("ask the agent: %w", err)
	}
	return said, nil
}

// launchedPrompt is one prompt to the CLI in a session without tools.
type launchedPrompt struct {
	limit  time.Duration
	args   []string
	prompt string
}

// once starts the CLI in the box's plugin directory, which stands for the
// project, and waits for its end.
func (e *Executor) once(ctx context.Context, box *isolate.Box, tap *gateway.Proxy, out *answerWriter, q launchedPrompt) (agent.Exit, error) {
	o := e.o
	env, err := agent.Environ(o.Suite.Launch, e.values(box, tap))
	if err != nil {
		return agent.Exit{}, err
	}
	room := &isolate.Box{Root: box.Root, Work: box.Plugin, Plugin: box.Plugin, Home: box.Home, Config: box.Config, Tmp: box.Tmp}
	l := agent.Launch{
		Path: o.Agent.Path, Argv0: "claude", Args: q.args, Env: env, Dir: room.Work,
		Stdin: []byte(q.prompt), Stdout: out, Stderr: &answerWriter{}, Clocks: harness.Clocks{Total: q.limit, Grace: 10 * time.Second},
		Activity: tap.LastActivity, UID: o.UID, GID: o.GID, Marker: box.Root,
	}
	if o.Isolation.Backend() == isolate.None {
		return agent.Run(ctx, l)
	}
	walled, release, err := e.walled(l, room, tap)
	if err != nil {
		return agent.Exit{}, err
	}
	exit, err := agent.Run(ctx, walled)
	return exit, errors.Join(err, release())
}

// laySystem writes a system prompt where only the session's user can read it. As
// an argument every user of the machine would see it. The file must be a new
// one: where there are no walls, a session of that user could have put a link
// there.
func (o Options) laySystem(box *isolate.Box, text string) (laidRubric, error) {
	name, sum := filepath.Join(box.Tmp, "system.txt"), sha256.New()
	f, err := os.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return laidRubric{}, fmt.Errorf("lay rubric: %w", err)
	}
	_, err = io.WriteString(io.MultiWriter(f, sum), text)
	if err == nil && os.Geteuid() == 0 && o.UID != 0 {
		err = f.Chown(o.UID, o.GID)
	}
	if err := errors.Join(err, f.Close()); err != nil {
		return laidRubric{}, fmt.Errorf("lay rubric: %w", err)
	}
	return laidRubric{name, hex.EncodeToString(sum.Sum(nil))}, nil
}

// readSaid reads the one line the CLI prints. What it says of an error is prose
// of the API and stays out of ours.
func readSaid(line string) (Reply, error) {
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
