package frozen

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"testing"

	"golang.org/x/sys/unix"

	"loopd/internal/testenv"
)

// asNobody runs f with the file permissions of an ordinary user. They belong to
// the thread, so the thread is thrown away with the goroutine.
func asNobody(t *testing.T, f func()) {
	t.Helper()
	var wg sync.WaitGroup
	wg.Go(func() {
		runtime.LockOSThread()
		if os.Getuid() == 0 {
			_, _ = unix.SetfsuidRetUid(65534)
		}
		f()
	})
	wg.Wait()
}

func TestUnreadableIsDriftAndNamed(t *testing.T) {
	t.Parallel()
	dir := suite(t)
	// The ordinary user must reach the suite itself.
	for parent := dir; parent != os.TempDir() && parent != "/"; parent = filepath.Dir(parent) {
		testenv.Must(t, os.Chmod(parent, 0o755))
	}
	testenv.Must(t, os.Chmod(filepath.Join(dir, "fixtures/tide-table-old/notes"), 0o644))
	sealed := seal(t, dir)
	testenv.Must(t, os.Chmod(filepath.Join(dir, scenario), 0))
	testenv.Must(t, os.Chmod(filepath.Join(dir, "fixtures"), 0o311))
	asNobody(t, func() {
		drift, err := Verify(t.Context(), dir, sealed)
		if err != nil || drift == nil {
			t.Errorf("got %v, %v, want a drift", drift, err)
			return
		}
		var got []string
		for _, d := range drift.Deltas {
			got = append(got, string(d.Kind)+" "+d.Path+" "+d.New)
		}
		want := []string{"unreadable fixtures permission denied", "unreadable " + scenario + " permission denied"}
		if !slices.Equal(got, want) {
			t.Errorf("got %q, want %q", got, want)
		}
		if _, err := Load(dir); err == nil {
			t.Error("loading an unreadable suite: got nil, want an error")
		} else if refused, ok := errors.AsType[*RefusedError](err); !ok || refused.Path != "fixtures" {
			t.Errorf("got %v, want a refusal of fixtures", err)
		}
	})
}
