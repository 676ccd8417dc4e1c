package app

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"loopd/internal/config"
	"loopd/internal/hint"
	"loopd/internal/isolate"
)

// Isolation is what sessions stand on: the walls around them, the user they run as
// when loopd is root, and the rungs that were tried on the way.
type Isolation struct {
	Sandbox isolate.Sandbox
	UID     int
	Tried   []Tried
}

// Tried is one rung and why it does not stand; nil when it does.
type Tried struct {
	Backend isolate.Backend
	Err     error
}

// ProbeIsolation finds the best rung on which sessions can be shut in here, by
// doing it; one that is named is the only one tried.
func ProbeIsolation(ctx context.Context, e Env, rung string) (Isolation, error) {
	g := Isolation{UID: sessionUser()}
	var errs []error
	for _, r := range backendsOf(rung) {
		walls, uid, err := probeBackend(ctx, e, r)
		g.Tried = append(g.Tried, Tried{r, err})
		if err == nil {
			g.Sandbox, g.UID = walls, uid
			return g, nil
		}
		errs = append(errs, err)
	}
	if len(errs) == 0 {
		errs = append(errs, fmt.Errorf("probe isolation: there is none for %s", runtime.GOOS))
	}
	return g, oneLine(errs)
}

// backendsOf are the rungs to try, the better first.
func backendsOf(named string) []isolate.Backend {
	if named != "" && named != "auto" {
		return []isolate.Backend{isolate.Backend(named)}
	}
	return isolate.Backends(runtime.GOOS)
}

// probeBackend tries as nobody first where loopd is root, so that a session which
// broke out would be nobody. Only in namespaces of its own may it be root.
func probeBackend(ctx context.Context, e Env, backend isolate.Backend) (isolate.Sandbox, int, error) {
	uid := sessionUser()
	o := isolate.ProbeOptions{Backend: backend, Path: e.Getenv("PATH"), UID: uid, GID: uid}
	walls, err := isolate.Probe(ctx, o)
	if err == nil || uid == 0 || backend != isolate.Bwrap {
		return walls, uid, err
	}
	o.UID, o.GID = 0, 0
	if asRoot, rootErr := isolate.Probe(ctx, o); rootErr == nil {
		return asRoot, 0, nil
	}
	return isolate.Sandbox{}, uid, err
}

// oneLine joins errors into one whose hint is the first's.
func oneLine(errs []error) error {
	err := errs[0]
	for _, next := range errs[1:] {
		err = fmt.Errorf("%w; %w", err, next)
	}
	return err
}

// IsolationOrNone goes on without walls where there are none and says so. Only a
// rehearsal may: its model is a program of ours.
func IsolationOrNone(ctx context.Context, e Env, rung string) Isolation {
	g, err := ProbeIsolation(ctx, e, rung)
	if err != nil {
		e.warnf("sessions are not isolated: %v", err)
		if command := hint.Of(err); command != "" {
			e.warnf("hint: %s", command)
		}
	}
	return g
}

// RequireIsolation shuts real sessions in, or refuses where that cannot be done and
// the user has not accepted it.
func RequireIsolation(ctx context.Context, e Env, cfg config.Config, accepted bool) (Isolation, error) {
	if err := CheckRead(e, cfg); err != nil {
		return Isolation{}, err
	}
	g, err := ProbeIsolation(ctx, e, cfg.Rung)
	if err == nil {
		return g, nil
	}
	if !accepted {
		return g, hint.New(hint.Usage, fmt.Errorf("start sessions: they have every permission and would not be isolated: %w", err), wallHint(err))
	}
	if err := refuseManaged(ManagedFiles()...); err != nil {
		return g, err // within walls nobody sees them
	}
	e.warnf("sessions are not isolated: %v", err)
	return g, nil
}

// wallHint is what helps when sessions cannot be shut in.
func wallHint(err error) string {
	if command := hint.Of(err); command != "" {
		return command
	}
	return "loopd run --sessions 400 --i-accept-no-isolation"
}

// LimitsOf are the limits of one session.
func LimitsOf(cfg config.Config) isolate.Limits {
	return isolate.Limits{Memory: int64(cfg.Memory), Disk: int64(cfg.Disk), Processes: cfg.Processes}
}

// Parts are the parts of the Instrument that say what sessions run within:
// each changes what a session can do.
func (g Isolation) Parts(cfg config.Config) map[string]string {
	out := map[string]string{
		"isolation":         g.Sandbox.String(),
		"limits of session": fmt.Sprintf("memory %s, disk %s, processes %d", cfg.Memory, cfg.Disk, cfg.Processes),
	}
	if len(cfg.Read) > 0 {
		sum := sha256.Sum256([]byte(strings.Join(slices.Sorted(slices.Values(cfg.Read)), "\x00")))
		out["readable to sessions"] = hex.EncodeToString(sum[:])
	}
	return out
}

// CheckRead refuses to show sessions what decides about them or is the user's
// alone, and what is not there.
func CheckRead(e Env, cfg config.Config) error {
	if len(cfg.Read) == 0 {
		return nil
	}
	closed, err := closedPaths(e, cfg)
	if err != nil {
		return err
	}
	for _, p := range cfg.Read {
		real, err := filepath.EvalSymlinks(p)
		if err != nil {
			return hint.Usagef("loopd config", "isolation.read: %w", err)
		}
		for what, path := range closed {
			for _, c := range []string{path, resolvedOr(path)} {
				if within(c, real) || within(c, p) || within(real, c) {
					return hint.Usagef("loopd config", "isolation.read: %s would show sessions %s, %s", p, what, path)
				}
			}
		}
	}
	return nil
}

// closedPaths are what no setting may show, by what they are.
func closedPaths(e Env, cfg config.Config) (map[string]string, error) {
	home, err := HomeOf(e, cfg)
	if err != nil {
		return nil, err
	}
	out := map[string]string{"the state directory": home.Dir, "the plugin's repository": cfg.Plugin}
	if cfg.Suite != config.Bundled {
		out["the suite"] = cfg.Suite
	}
	if file, err := config.CredentialFile(e.Getenv); err == nil {
		out["the credential"] = file
	}
	if user := e.Getenv("HOME"); user != "" {
		out["your keys"], out["the agent's settings"] = filepath.Join(user, ".ssh"), filepath.Join(user, ".claude")
	}
	return out, nil
}

// within says whether path is dir or below it.
func within(path, dir string) bool {
	rel, err := filepath.Rel(dir, path)
	return err == nil && filepath.IsLocal(rel)
}

func resolvedOr(path string) string {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real
	}
	return path
}

// managedDir is where an administrator's settings, servers and instructions for
// the agent lie.
const managedDir = "/etc/claude-code"

// ManagedFiles are those of an administrator that a session would read.
func ManagedFiles() []string {
	var out []string
	for _, name := range []string{"managed-settings.json", "managed-settings.d", "managed-mcp.json", "CLAUDE.md"} {
		out = append(out, filepath.Join(managedDir, name))
	}
	return out
}

// refuseManaged refuses to start sessions where an administrator's settings would
// reach into them.
func refuseManaged(files ...string) error {
	for _, path := range files {
		if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
			return hint.Usagef("mv "+path+" "+path+".off", "start sessions: %s would be read by every one", path)
		}
	}
	return nil
}
