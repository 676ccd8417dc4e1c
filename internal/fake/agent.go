package fake

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/google/uuid"
)

// AgentVersion is the version of the real CLI whose behaviour is imitated.
const AgentVersion = "2.1.332"

// Exit codes, as the real CLI uses them.
const (
	exitOK         = 0
	exitFailed     = 1
	exitTerminated = 143
)

// AgentMain runs the stand-in with args (without the program's name) in dir and
// returns its exit code. A cancelled ctx means SIGTERM: the caller turns the
// signal into the context, nothing here knows of signals.
func AgentMain(ctx context.Context, args, environ []string, dir string, stdin io.Reader, stdout, stderr io.Writer) int {
	o, err := parseFlags(args)
	if err != nil {
		fmt.Fprintf(stderr, "error: %v\n", err)
		return exitFailed
	}
	if o.version {
		fmt.Fprintf(stdout, "%s (Claude Code stand-in)\n", AgentVersion)
		return exitOK
	}
	env := environment(environ)
	if env.value("ANTHROPIC_BASE_URL") == "" {
		fmt.Fprintln(stderr, "error: the stand-in needs ANTHROPIC_BASE_URL")
		return exitFailed
	}
	fault := readFault(env)
	if code, over := fault.beforeStart(ctx, stdin, stdout, stderr); over {
		return code
	}
	prompt, err := io.ReadAll(stdin)
	if err != nil {
		fmt.Fprintf(stderr, "error: read prompt: %v\n", err)
		return exitFailed
	}
	if strings.TrimSpace(string(prompt)) == "" {
		fmt.Fprintln(stderr, "Error: Input must be provided on standard input when using --print")
		return exitFailed
	}
	s := &session{
		opt: o, env: env, dir: dir, prompt: string(prompt), id: uuid.NewString(), started: time.Now(),
		plugin: loadPlugin(dir, o.pluginDir), client: newClient(env),
		files: make(map[string]time.Time), shellDir: dir, fault: fault,
	}
	if fault == AgentFaultSameSession {
		s.id = sameID
	}
	defer s.client.http.CloseIdleConnections()
	s.out = printer{w: stdout}
	if o.oneLine {
		return s.oneShot(ctx, stderr)
	}
	return s.run(ctx)
}

// environment is the environment of the session, in order.
type environment []string

// value returns the last setting of a name, empty when there is none.
func (e environment) value(name string) string {
	for i := len(e) - 1; i >= 0; i-- {
		if v, ok := strings.CutPrefix(e[i], name+"="); ok {
			return v
		}
	}
	return ""
}

// with returns a copy with more settings, which win over earlier ones.
func (e environment) with(settings ...string) environment {
	out := make(environment, 0, len(e)+len(settings))
	return append(append(out, e...), settings...)
}
