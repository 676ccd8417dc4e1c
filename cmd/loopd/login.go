package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"loopd/internal/config"
	"loopd/internal/hint"
)

func newLogin(e env) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "login", Short: "store the credential that sessions are paid with", Args: noArgs,
		Long: "  claude setup-token | loopd login\n  loopd login < key.txt\n\nReads an API key or a token of \"claude setup-token\" from standard input and\nstores it for this user alone, because cron, systemd and launchd do not see a\nshell's environment. ANTHROPIC_API_KEY and CLAUDE_CODE_OAUTH_TOKEN come first.",
		RunE: func(*cobra.Command, []string) error { return runLogin(e, asJSON) },
	}
	flagJSON(cmd, &asJSON)
	return cmd
}

// stored is the JSON of the verb.
type stored struct {
	Kind config.CredentialKind `json:"kind"`
	File string                `json:"file"`
}

func runLogin(e env, asJSON bool) error {
	line, err := readSecret(e)
	if err != nil {
		return hint.New(hint.Usage, fmt.Errorf("read credential: %w", err), "loopd login < FILE")
	}
	c, err := config.NewCredential(line, "standard input")
	if err != nil {
		return hint.New(hint.Usage, err, "loopd login < FILE")
	}
	if !looksSecret(c.Value()) {
		return hint.Usagef("loopd login < FILE", "read credential: that is no key or token")
	}
	path, err := config.CredentialFile(e.Getenv)
	if err != nil {
		return hint.New(hint.Usage, err, "")
	}
	if err := config.SaveCredential(path, c); err != nil {
		return err
	}
	if asJSON {
		return printJSON(e.stdout, stored{c.Kind, path})
	}
	_, err = fmt.Fprintf(e.stdout, "stored the %s in %s\n\nNext: loopd doctor\n", c.Kind, path)
	return err
}

// shortestSecret is below any key or token. Less would also be blacked out of
// ordinary text wherever it stands.
const shortestSecret = 16

// looksSecret says whether a word can be sent in a header and is long enough to
// be a secret.
func looksSecret(s string) bool {
	return len(s) >= shortestSecret && !strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r > '~' })
}

// readSecret reads one line, without echo where it is typed.
func readSecret(e env) (string, error) {
	if f, ok := e.stdin.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		fmt.Fprint(e.stderr, "loopd: key or token (not shown): ")
		data, err := term.ReadPassword(int(f.Fd()))
		fmt.Fprintln(e.stderr)
		return string(data), err
	}
	line, err := bufio.NewReader(io.LimitReader(e.stdin, 1<<16)).ReadString('\n')
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return line, err
}
