package frozen

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"loopd/internal/testenv"
)

// rings waits for the alarm, for so long that a loaded machine is no reason.
func rings(t *testing.T, w *Watch) bool {
	t.Helper()
	select {
	case <-w.Changed():
		return true
	case <-time.After(20 * time.Second):
		return false
	}
}

func TestWatchRings(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(dir string) error{
		"content":      func(dir string) error { return os.WriteFile(filepath.Join(dir, "sub", "b"), []byte("x"), 0o644) },
		"mode":         func(dir string) error { return os.Chmod(filepath.Join(dir, "a"), 0o600) },
		"time":         func(dir string) error { return os.Chtimes(filepath.Join(dir, "a"), time.Unix(1, 0), time.Unix(1, 0)) },
		"added":        func(dir string) error { return os.WriteFile(filepath.Join(dir, "sub", "c"), nil, 0o644) },
		"added folder": func(dir string) error { return os.Mkdir(filepath.Join(dir, "sub", "d"), 0o755) },
		"removed":      func(dir string) error { return os.Remove(filepath.Join(dir, "sub", "b")) },
		"renamed":      func(dir string) error { return os.Rename(filepath.Join(dir, "a"), filepath.Join(dir, "sub", "a")) },
		"root swapped": func(dir string) error { return os.Rename(dir, dir+"-old") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join(t.TempDir(), "suite")
			testenv.Must(t, os.MkdirAll(filepath.Join(dir, "sub"), 0o755))
			for _, f := range []string{"a", "sub/b"} {
				testenv.Must(t, os.WriteFile(filepath.Join(dir, f), []byte("old"), 0o644))
			}
			w, err := NewWatch(dir)
			testenv.Must(t, err)
			// A neighbour of the sealed directory is nobody's alarm; the change after
			// it is, and one value stands for all there were.
			testenv.Must(t, os.WriteFile(filepath.Join(filepath.Dir(dir), "neighbour"), nil, 0o644))
			select {
			case <-w.Changed():
				t.Error("a neighbour rang the alarm")
			default:
			}
			testenv.Must(t, change(dir))
			if !rings(t, w) {
				t.Error("nothing rang")
			}
			if err := w.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestWatchOfNothing(t *testing.T) {
	t.Parallel()
	if w, err := NewWatch(filepath.Join(t.TempDir(), "none")); err == nil {
		t.Error("got a watch of a directory that is not there", w.Close())
	}
}
