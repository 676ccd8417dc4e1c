package fake

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
)

// oneShot is a session without tools, plugin and hook: one request with a system
// prompt from a file, one line of output. It is how a judge and a proposer are
// asked.
func (s *session) oneShot(ctx context.Context, stderr io.Writer) int {
	if s.client.header == "" {
		return s.oneShotFails(&apiError{word: "authentication_failed"}, "Not logged in · Please run /login")
	}
	system, err := os.ReadFile(s.opt.systemFile)
	if err != nil {
		fmt.Fprintf(stderr, "Error: system prompt file not found: %s\n", s.opt.systemFile)
		return exitFailed
	}
	s.system = string(system)
	s.conversation = s.opening(nil)
	a, apiErr := s.askQuietly(ctx)
	switch {
	case ctx.Err() != nil:
		return exitTerminated
	case apiErr != nil:
		return s.oneShotFails(apiErr, apiErr.text())
	}
	s.spent.add(a)
	if len(a.calls()) > 0 { // there are no tools, so that every call is one turn too many
		s.out.line(s.result(a.stopReason, endMaxTurns(1)))
		return exitFailed
	}
	s.out.line(s.result(a.stopReason, ending{subtype: "success", reason: "completed", text: a.text()}))
	return exitOK
}

// askQuietly asks without a line for each retry: the output is the result alone.
func (s *session) askQuietly(ctx context.Context) (answer, *apiError) {
	out := s.out
	s.out = printer{w: io.Discard}
	defer func() { s.out = out }()
	return s.ask(ctx)
}

func (s *session) oneShotFails(e *apiError, text string) int {
	s.out.line(s.result("stop_sequence", ending{subtype: "success", reason: "api_error", text: text, api: e}))
	return exitFailed
}

// checkOneShot refuses a session that prints one line and is not of that kind.
func (o options) checkOneShot(seen map[string]string) error {
	tools, given := seen["--tools"]
	switch {
	case !given || tools != "":
		return errors.New("the stand-in prints --output-format json only without tools: give --tools=")
	case o.systemFile == "":
		return errors.New("the stand-in prints --output-format json only with --system-prompt-file")
	case o.pluginDir != "":
		return errors.New("the stand-in prints --output-format json only without --plugin-dir")
	case o.model == "":
		return errors.New("the stand-in needs --model")
	}
	return nil
}
