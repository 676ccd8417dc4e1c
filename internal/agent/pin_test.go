package agent

import (
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"loopd/internal/testenv"
)

func agentScript(version string) string {
	return fmt.Sprintf("#!/bin/sh\n[ \"$1\" = --version ] && echo '%s (Agent)'\n", version)
}

func writeAgent(t *testing.T, path, version string) {
	t.Helper()
	os.Remove(path)
	testenv.Must(t, os.WriteFile(path, []byte(agentScript(version)), 0o755))
}

func TestPin(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	source, cache := filepath.Join(dir, "agent"), filepath.Join(dir, "cache")
	writeAgent(t, source, "1.2.3")
	link := filepath.Join(dir, "link")
	testenv.Must(t, os.Symlink(source, link))
	first, err := Pin(t.Context(), link, cache)
	testenv.Must(t, err)
	sum := fmt.Sprintf("%x", sha256.Sum256([]byte(agentScript("1.2.3"))))
	want := Binary{Path: filepath.Join(cache, "1.2.3-"+sum[:8], "claude"), Version: "1.2.3", SHA256: sum}
	if first != want {
		t.Errorf("got %+v, want %+v", first, want)
	}
	if again, err := Pin(t.Context(), source, cache); err != nil || again != first {
		t.Errorf("again: got %+v, %v, want the same", again, err)
	}
	writeAgent(t, source, "1.2.4")
	second, err := Pin(t.Context(), source, cache)
	if err != nil || second.Version != "1.2.4" || second.Path == first.Path {
		t.Errorf("after an update: got %+v, %v, want another copy", second, err)
	}
	if data, err := os.ReadFile(first.Path); err != nil || string(data) != agentScript("1.2.3") {
		t.Errorf("first copy after the update: %q, %v", data, err)
	}
	if left, _ := filepath.Glob(filepath.Join(cache, "new-*")); len(left) != 0 {
		t.Errorf("left behind: %v", left)
	}
}

func TestPinRepairs(t *testing.T) {
	t.Parallel()
	for name, damage := range map[string]func(note, copied string) error{
		"copy edited":  func(_, c string) error { os.Remove(c); return os.WriteFile(c, []byte(agentScript("6.6.6")), 0o755) },
		"copy removed": func(_, c string) error { return os.RemoveAll(filepath.Dir(c)) },
		"note damaged": func(n, _ string) error { return os.WriteFile(n, []byte("{"), 0o644) },
		"note lost":    func(n, _ string) error { return os.Remove(n) },
	} {
		dir := t.TempDir()
		source, cache := filepath.Join(dir, "agent"), filepath.Join(dir, "cache")
		writeAgent(t, source, "1.2.3")
		first, err := Pin(t.Context(), source, cache)
		testenv.Must(t, err)
		testenv.Must(t, damage(filepath.Join(cache, "pinned.json"), first.Path))
		again, err := Pin(t.Context(), source, cache)
		if err != nil || again != first {
			t.Errorf("%s: got %+v, %v, want %+v", name, again, err, first)
		}
		if data, err := os.ReadFile(first.Path); err != nil || string(data) != agentScript("1.2.3") {
			t.Errorf("%s: the copy is %q, %v", name, data, err)
		}
	}
}

func TestPinRefuses(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"no-version": "#!/bin/sh\necho 'sorry: none'\n", "fails": "#!/bin/sh\nexit 3\n", "a-path": "#!/bin/sh\necho ../../up\n",
	} {
		source := filepath.Join(dir, name)
		testenv.Must(t, os.WriteFile(source, []byte(text), 0o755))
		if b, err := Pin(t.Context(), source, filepath.Join(dir, "cache")); err == nil || !strings.Contains(err.Error(), source) {
			t.Errorf("%s: got %+v, %v, want an error naming it", name, b, err)
		}
	}
	if b, err := Pin(t.Context(), filepath.Join(dir, "absent"), dir); err == nil {
		t.Errorf("absent: got %+v, want an error", b)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "cache", "*")); len(left) != 0 {
		t.Errorf("left behind: %v", left)
	}
}

func TestReachable(t *testing.T) {
	t.Parallel()
	dir, err := os.MkdirTemp("", "")
	testenv.Must(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	file := filepath.Join(dir, "sub", "agent")
	testenv.Must(t, os.Mkdir(filepath.Dir(file), 0o755))
	writeAgent(t, file, "1")
	const nobody = 65534
	if err := Reachable(file, nobody, nobody); err == nil || !strings.HasSuffix(err.Error(), "pass through "+dir) {
		t.Errorf("closed directory: got %v, want it named", err)
	}
	testenv.Must(t, os.Chmod(dir, 0o711))
	if err := Reachable(file, nobody, nobody); err != nil {
		t.Errorf("open directories: %v", err)
	}
	testenv.Must(t, os.Chmod(file, 0o750))
	if err := Reachable(file, nobody, nobody); err == nil {
		t.Error("closed file: got no error")
	}
	if err := Reachable(file, os.Getuid(), os.Getgid()); err != nil {
		t.Errorf("closed file, own user: %v", err)
	}
}

// TestPinnedOutlivesAnUpdate: the copy a campaign began with is found again by its
// sha256, and a copy that is not what it was is not.
func TestPinnedOutlivesAnUpdate(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	source, cache := filepath.Join(dir, "agent"), filepath.Join(dir, "cache")
	writeAgent(t, source, "1.2.3")
	first, err := Pin(t.Context(), source, cache)
	testenv.Must(t, err)
	writeAgent(t, source, "1.2.4")
	if _, err := Pin(t.Context(), source, cache); err != nil {
		t.Fatal(err)
	}
	if got, err := Pinned(cache, first.SHA256); err != nil || got != first {
		t.Errorf("got %+v, %v, want %+v", got, err, first)
	}
	for name, sum := range map[string]string{"another": strings.Repeat("ab", 32), "none": "", "same beginning": first.SHA256[:8] + strings.Repeat("ab", 28)} {
		if got, err := Pinned(cache, sum); err == nil {
			t.Errorf("%s: got %+v, want an error", name, got)
		}
	}
	os.Remove(first.Path)
	testenv.Must(t, os.WriteFile(first.Path, []byte(agentScript("6.6.6")), 0o755))
	if got, err := Pinned(cache, first.SHA256); err == nil {
		t.Errorf("edited copy: got %+v, want an error", got)
	}
}
