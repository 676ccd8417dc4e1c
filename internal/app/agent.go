package app

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"

	"loopd/harness"
	"loopd/internal/agent"
	"loopd/internal/fake"
	"loopd/internal/hint"
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

// CacheDir is where copies of the agent are kept. Root's own cache is closed to
// the user sessions run as, so root keeps them in the system's.
func CacheDir(e Env) (string, error) {
	if x := e.Getenv("XDG_CACHE_HOME"); x != "" {
		return filepath.Join(x, "loopd", "claude"), nil
	}
	if os.Geteuid() == 0 {
		return "/var/cache/loopd/claude", nil
	}
	home := e.Getenv("HOME")
	if home == "" {
		return "", errors.New("find cache directory: neither XDG_CACHE_HOME nor HOME is set")
	}
	return filepath.Join(home, ".cache", "loopd", "claude"), nil
}

// StandIn is this program under the agent's name.
func StandIn() (agent.Binary, error) {
	path := "/proc/self/exe"
	if runtime.GOOS != "linux" {
		self, err := os.Executable()
		if err != nil {
			return agent.Binary{}, err
		}
		path = self
	}
	return agent.Binary{Path: path, Version: fake.AgentVersion, SHA256: "standin"}, nil
}

// developmentAgent is where "make test" puts the pinned agent in a checkout.
const developmentAgent = ".tools/agent-cli/node_modules/@anthropic-ai/claude-code-*/claude"

// FindAgent returns the agent to use: the one named, LOOPD_CLAUDE, the
// checkout's own, or claude on the PATH.
func FindAgent(e Env, named string) string {
	if named != "" {
		return named
	}
	if c := e.Getenv("LOOPD_CLAUDE"); c != "" {
		return c
	}
	if local, err := filepath.Glob(filepath.Join(e.Dir, developmentAgent)); err == nil && len(local) > 0 {
		return local[0]
	}
	return "claude"
}

// AgentPart is the name under which a campaign's start lists the sha256 of its
// agent.
const AgentPart = "agent"

// KeepAgent is the agent a campaign under way goes on with: the copy it began
// with. What is installed now is named where it is another, and not followed.
// Without the copy the campaign refuses to go on and names both.
func KeepAgent(e Env, s *loop.State, installed agent.Binary) (agent.Binary, error) {
	began := s.Started.Parts[AgentPart]
	if began == "" || began == installed.SHA256 {
		return installed, nil
	}
	dir, err := CacheDir(e)
	if err != nil {
		return installed, err
	}
	kept, err := agent.Pinned(dir, began)
	if err != nil {
		return installed, nil
	}
	e.warnf("the agent CLI installed is %s now; the campaign under way keeps its copy of %s", installed.Version, kept.Version)
	return kept, nil
}

// CheckVersion refuses an agent of another version than the one a suite is for.
func CheckVersion(l harness.Launch, b agent.Binary) error {
	if l.CLIVersion == "" || l.CLIVersion == b.Version {
		return nil
	}
	return hint.Usagef("npm install -g @anthropic-ai/claude-code@"+l.CLIVersion, "start sessions: the suite's cli_version is %s, the agent CLI is %s", l.CLIVersion, b.Version)
}

// PinAgent copies the agent into the cache and returns the copy.
func PinAgent(ctx context.Context, e Env, path string) (agent.Binary, error) {
	dir, err := CacheDir(e)
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
