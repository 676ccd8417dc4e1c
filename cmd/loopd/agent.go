package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"

	"loopd/harness"
	"loopd/internal/agent"
	"loopd/internal/hint"
	"loopd/internal/standin"
	"loopd/loop"
)

// nobody is the user sessions run as when loopd is root: the real agent refuses
// to run without permissions as root, and a session has no business being it.
const nobody = 65534

// sessionUser is who sessions run as, 0 for loopd's own user.
func sessionUser() int {
	if os.Geteuid() == 0 {
		return nobody
	}
	return 0
}

// cacheDir is where copies of the agent are kept. Root's own cache is closed to
// the user sessions run as, so root keeps them in the system's.
func cacheDir(e env) (string, error) {
	if x := e.getenv("XDG_CACHE_HOME"); x != "" {
		return filepath.Join(x, "loopd", "claude"), nil
	}
	if os.Geteuid() == 0 {
		return "/var/cache/loopd/claude", nil
	}
	home := e.getenv("HOME")
	if home == "" {
		return "", errors.New("find cache directory: neither XDG_CACHE_HOME nor HOME is set")
	}
	return filepath.Join(home, ".cache", "loopd", "claude"), nil
}

// standInBinary is this program under the agent's name.
func standInBinary() (agent.Binary, error) {
	path := "/proc/self/exe"
	if runtime.GOOS != "linux" {
		self, err := os.Executable()
		if err != nil {
			return agent.Binary{}, err
		}
		path = self
	}
	return agent.Binary{Path: path, Version: standin.CLIVersion, SHA256: "standin"}, nil
}

// developmentAgent is where "make test" puts the pinned agent in a checkout.
const developmentAgent = ".tools/agent-cli/node_modules/@anthropic-ai/claude-code-*/claude"

// findClaude returns the agent to use: the one named, LOOPD_CLAUDE, the
// checkout's own, or claude on the PATH.
func findClaude(e env, named string) string {
	if named != "" {
		return named
	}
	if c := e.getenv("LOOPD_CLAUDE"); c != "" {
		return c
	}
	if local, err := filepath.Glob(filepath.Join(e.dir, developmentAgent)); err == nil && len(local) > 0 {
		return local[0]
	}
	return "claude"
}

// agentPart is the name under which a campaign's start lists the sha256 of its
// agent.
const agentPart = "agent"

// keepPinned is the agent a campaign under way goes on with: the copy it began
// with. What is installed now is named where it is another, and not followed.
// Without the copy the campaign refuses to go on and names both.
func keepPinned(e env, s *loop.State, installed agent.Binary) (agent.Binary, error) {
	began := s.Started.Parts[agentPart]
	if began == "" || began == installed.SHA256 {
		return installed, nil
	}
	dir, err := cacheDir(e)
	if err != nil {
		return installed, err
	}
	kept, err := agent.Pinned(dir, began)
	if err != nil {
		return installed, nil
	}
	fmt.Fprintf(e.stderr, "loopd: the agent CLI installed is %s now; the campaign under way keeps its copy of %s\n", installed.Version, kept.Version)
	return kept, nil
}

// accepted refuses an agent of another version than the one a suite is for.
func accepted(l harness.Launch, b agent.Binary) error {
	if l.CLIVersion == "" || l.CLIVersion == b.Version {
		return nil
	}
	return hint.Usagef("npm install -g @anthropic-ai/claude-code@"+l.CLIVersion, "start sessions: the suite's cli_version is %s, the agent CLI is %s", l.CLIVersion, b.Version)
}

// pinClaude copies the agent into the cache and returns the copy.
func pinClaude(ctx context.Context, e env, path string) (agent.Binary, error) {
	dir, err := cacheDir(e)
	if err != nil {
		return agent.Binary{}, err
	}
	b, err := agent.Pin(ctx, path, dir)
	if err != nil {
		return agent.Binary{}, hint.New(hint.Usage, err, "npm install -g @anthropic-ai/claude-code")
	}
	if uid := sessionUser(); uid != 0 {
		if err := agent.Reachable(b.Path, uid, uid); err != nil {
			return agent.Binary{}, err
		}
	}
	return b, nil
}
