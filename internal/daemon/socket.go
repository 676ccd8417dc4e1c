package daemon

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"loopd/internal/atomicfile"
)

// socketName is the socket in the state directory. A socket's path is short by
// the kernel's rules: where the state directory's is too long, this is a file
// that says where the socket is.
const (
	socketName  = "control.sock"
	pointerName = "control.path"
	longestPath = 100
)

// listen makes the socket. Whoever holds the state directory's lock may take the
// place of a socket that was left behind.
func listen(dir string) (net.Listener, error) {
	path := filepath.Join(dir, socketName)
	if len(path) > longestPath {
		var err error
		if path, err = shortPath(dir); err != nil {
			return nil, err
		}
		if err := atomicfile.WriteFile(filepath.Join(dir, pointerName), []byte(path+"\n"), 0o600); err != nil {
			return nil, fmt.Errorf("open control socket: %w", err)
		}
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("open control socket: %w", err)
	}
	l, err := net.Listen("unix", path)
	if err != nil {
		return nil, fmt.Errorf("open control socket: %w", err)
	}
	// The directory lets nobody else in; the mode says so once more.
	if err := os.Chmod(path, 0o600); err != nil {
		return nil, errors.Join(fmt.Errorf("open control socket: %w", err), l.Close())
	}
	return l, nil
}

// shortPath is a place for the socket of a state directory whose own path is too
// long, in a directory that nobody else can enter.
func shortPath(dir string) (string, error) {
	base := filepath.Join(os.TempDir(), fmt.Sprintf("loopd-%d", os.Getuid()))
	if err := os.Mkdir(base, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return "", fmt.Errorf("open control socket: %w", err)
	}
	if err := ours(base); err != nil {
		return "", err
	}
	sum := sha256.Sum256([]byte(dir))
	return filepath.Join(base, hex.EncodeToString(sum[:8])+".sock"), nil
}

// ours refuses a directory that someone else made or can enter.
func ours(path string) error {
	info, err := os.Lstat(path)
	if err != nil {
		return fmt.Errorf("open control socket: %w", err)
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok || !info.IsDir() || int(stat.Uid) != os.Getuid() || info.Mode().Perm() != 0o700 {
		return fmt.Errorf("open control socket: %s is not a directory of this user alone", path)
	}
	return nil
}

// find is where the socket of a state directory is, or would be.
func find(dir string) (string, error) {
	path := filepath.Join(dir, socketName)
	if len(path) <= longestPath {
		return path, nil
	}
	text, err := os.ReadFile(filepath.Join(dir, pointerName))
	if errors.Is(err, fs.ErrNotExist) {
		return "", &NotRunningError{Dir: dir}
	}
	if err != nil {
		return "", fmt.Errorf("find control socket: %w", err)
	}
	path = strings.TrimSpace(string(text))
	err = ours(filepath.Dir(path))
	if errors.Is(err, fs.ErrNotExist) { // such as after a restart of the machine
		err = &NotRunningError{Dir: dir}
	}
	return path, err
}
