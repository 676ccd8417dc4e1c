package agent

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"time"

	"loopd/internal/atomicfile"
)

// Binary is the agent program every session of a campaign runs.
type Binary struct {
	Path    string `json:"path"`    // of the copy
	Version string `json:"version"` // as the copy itself says
	SHA256  string `json:"sha256"`  // of the copy, hex
}

// pinned remembers a finished copy, so that hundreds of megabytes are hashed
// once. It is a cache: losing or damaging it costs a copy and nothing else.
type pinned struct {
	Binary Binary    `json:"binary"`
	Source fileState `json:"source"`
	Copy   fileState `json:"copy"`
}

// fileState changes when a file is written or replaced.
type fileState struct {
	Path     string    `json:"path"`
	Inode    uint64    `json:"inode"`
	Size     int64     `json:"size"`
	Modified time.Time `json:"modified"`
}

// Pin copies the agent program at path (or on PATH, for a bare name) to
// cacheDir/VERSION-SHA8/claude and describes the copy. An update of the
// original makes another copy and leaves this one.
//
// The copy and the directories made for it may be read by every user, as a
// session may run as another; Reachable tells whether the directories above let
// it. Starting the copy from an inherited descriptor would work in a closed
// directory too, but the agent's shell runs grep and find through the program's
// path where it can and through other programs where it cannot, so a session
// would differ from a user's. The same makes the path visible to a session:
// where nothing hides it, choose a cacheDir that says nothing.
func Pin(ctx context.Context, path, cacheDir string) (Binary, error) {
	source, err := resolve(path)
	if err != nil {
		return Binary{}, fmt.Errorf("pin agent %s: %w", path, err)
	}
	note := filepath.Join(cacheDir, "pinned.json")
	if p, ok := recall(note, source); ok {
		return p.Binary, nil
	}
	b, err := copyAgent(ctx, source.Path, cacheDir)
	if err != nil {
		return Binary{}, fmt.Errorf("pin agent %s: %w", path, err)
	}
	if err := remember(note, source, b); err != nil {
		return Binary{}, fmt.Errorf("pin agent %s: %w", path, err)
	}
	return b, nil
}

// Pinned returns the copy of that sha256 in cacheDir, hashed again. A campaign
// goes on with the copy it began with, whatever the original became since. The
// error says that there is none, or that it is not what it was.
func Pinned(cacheDir, sha256 string) (Binary, error) {
	if len(sha256) < 8 {
		return Binary{}, fmt.Errorf("find pinned agent: %q is no sha256", sha256)
	}
	found, err := filepath.Glob(filepath.Join(cacheDir, "*-"+sha256[:8], "claude"))
	if err != nil {
		return Binary{}, fmt.Errorf("find pinned agent: %w", err)
	}
	for _, path := range found {
		sum, err := hashFile(path)
		if err != nil {
			return Binary{}, fmt.Errorf("find pinned agent: %w", err)
		}
		if sum == sha256 {
			version := strings.TrimSuffix(filepath.Base(filepath.Dir(path)), "-"+sha256[:8])
			return Binary{Path: path, Version: version, SHA256: sum}, nil
		}
	}
	return Binary{}, fmt.Errorf("find pinned agent: no copy of %s in %s", sha256[:8], cacheDir)
}

func resolve(path string) (fileState, error) {
	found, err := exec.LookPath(path)
	if err != nil {
		return fileState{}, err
	}
	if found, err = filepath.EvalSymlinks(found); err != nil {
		return fileState{}, err
	}
	if found, err = filepath.Abs(found); err != nil {
		return fileState{}, err
	}
	return stateOf(found)
}

func stateOf(path string) (fileState, error) {
	info, err := os.Stat(path)
	if err != nil {
		return fileState{}, err
	}
	s := fileState{Path: path, Size: info.Size(), Modified: info.ModTime().UTC()}
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		s.Inode = st.Ino
	}
	return s, nil
}

func recall(note string, source fileState) (pinned, bool) {
	data, err := os.ReadFile(note)
	if err != nil {
		return pinned{}, false
	}
	var p pinned
	if json.Unmarshal(data, &p) != nil || p.Source != source {
		return pinned{}, false
	}
	now, err := stateOf(p.Binary.Path)
	return p, err == nil && now == p.Copy
}

func remember(note string, source fileState, b Binary) error {
	state, err := stateOf(b.Path)
	if err != nil {
		return err
	}
	data, err := json.MarshalIndent(pinned{Binary: b, Source: source, Copy: state}, "", "  ")
	if err != nil {
		return err
	}
	return atomicfile.WriteFile(note, append(data, '\n'), 0o644)
}

// copyAgent copies first and asks afterwards: the digest and the version are
// those of the bytes that will run, whatever happens to the original meanwhile.
func copyAgent(ctx context.Context, source, cacheDir string) (Binary, error) {
	if err := os.MkdirAll(cacheDir, 0o755); err != nil {
		return Binary{}, err
	}
	work, err := os.MkdirTemp(cacheDir, "new-")
	if err != nil {
		return Binary{}, err
	}
	defer os.RemoveAll(work)
	fresh := filepath.Join(work, "claude")
	if err := copyFile(source, fresh); err != nil {
		return Binary{}, err
	}
	sum, err := hashFile(fresh)
	if err != nil {
		return Binary{}, err
	}
	version, err := askVersion(ctx, fresh, work)
	if err != nil {
		return Binary{}, err
	}
	dir := filepath.Join(cacheDir, version+"-"+sum[:8])
	b := Binary{Path: filepath.Join(dir, "claude"), Version: version, SHA256: sum}
	if have, err := hashFile(b.Path); err == nil && have == sum {
		return b, nil // running sessions may hold it; leave it as it is
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return Binary{}, err
	}
	atomicfile.Failpoint("agent.pin.copied")
	err = errors.Join(os.Rename(fresh, b.Path), atomicfile.SyncDir(dir))
	atomicfile.Failpoint("agent.pin.renamed")
	return b, err
}

// copyFile lets the kernel copy, which shares the blocks where the file system
// can. It never links: writing to the original must not reach the copy.
func copyFile(from, to string) error {
	src, err := os.Open(from)
	if err != nil {
		return err
	}
	defer src.Close()
	dst, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o700)
	if err != nil {
		return err
	}
	_, err = io.Copy(dst, src)
	return errors.Join(err, dst.Chmod(0o555), dst.Sync(), dst.Close())
}

func hashFile(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// askVersion runs the copy. A copy that cannot run, such as a script that needs
// files beside it, is found here and not by the first session.
func askVersion(ctx context.Context, path, home string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	var out []byte
	for {
		cmd := exec.CommandContext(ctx, path, "--version")
		cmd.Dir, cmd.WaitDelay = home, time.Second
		cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + home, "CLAUDE_CONFIG_DIR=" + home, "TMPDIR=" + home, "DISABLE_AUTOUPDATER=1"}
		var err error
		if out, err = cmd.Output(); err == nil {
			break
		}
		// A child that loopd forked while the copy was being written still
		// holds it open for writing, until its own exec a moment later.
		if !errors.Is(err, syscall.ETXTBSY) {
			return "", fmt.Errorf("run the copy with --version: %w", err)
		}
	}
	version, _, _ := strings.Cut(strings.TrimSpace(string(out)), " ")
	if !regexp.MustCompile(`^[0-9A-Za-z][0-9A-Za-z.+-]{0,63}$`).MatchString(version) {
		return "", fmt.Errorf("--version says %q, which names no version", strings.TrimSpace(string(out)))
	}
	return version, nil
}

// Reachable reports whether a user may run the program at path: every
// directory above must let them through. The error names the first that does
// not. It looks at permission bits only.
func Reachable(path string, uid, gid int) error {
	need, what := os.FileMode(0o5), "read and run"
	for p := filepath.Clean(path); ; p = filepath.Dir(p) {
		info, err := os.Stat(p)
		if err != nil {
			return fmt.Errorf("reach %s: %w", path, err)
		}
		mode := info.Mode().Perm()
		if st, ok := info.Sys().(*syscall.Stat_t); ok {
			switch {
			case int(st.Uid) == uid:
				mode >>= 6
			case int(st.Gid) == gid:
				mode >>= 3
			}
		}
		if uid != 0 && mode&need != need {
			return fmt.Errorf("reach %s: user %d may not %s %s", path, uid, what, p)
		}
		if p == filepath.Dir(p) {
			return nil
		}
		need, what = 0o1, "pass through"
	}
}
