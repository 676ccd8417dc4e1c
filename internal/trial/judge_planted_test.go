package trial

import (
	"os"
	"path/filepath"
	"testing"

	"loopd/harness"
	"loopd/internal/testenv"
)

// TestWriteSystem_PlantedFile puts something where the rubric goes, as
// a session of the same user could where there are no walls. It must neither be
// followed nor written to: the judge is not asked.
func TestWriteSystem_PlantedFile(t *testing.T) {
	t.Parallel()
	const before = "nothing yet\n"
	o := Options{Suite: harness.Suite{Rubric: "Say YES or NO."}}
	for name, plant := range map[string]func(target, at string) error{
		"link":          os.Symlink,
		"hard link":     os.Link,
		"dangling link": func(target, at string) error { return os.Symlink(target+".new", at) },
		"file":          func(_, at string) error { return os.WriteFile(at, []byte(before), 0o644) },
	} {
		dir := t.TempDir()
		target, at := filepath.Join(dir, "target"), filepath.Join(dir, "system.txt")
		testenv.Must(t, os.WriteFile(target, []byte(before), 0o644))
		if got, err := o.writeSystem(at, o.Suite.Rubric); err != nil || got != hexDigest([]byte(o.Suite.Rubric)) {
			t.Fatalf("with nothing planted: got %q, %v, want %s", got, err, at)
		}
		testenv.Must(t, os.Remove(at))
		testenv.Must(t, plant(target, at))
		if got, err := o.writeSystem(at, o.Suite.Rubric); err == nil {
			t.Errorf("%s: got %q, want an error", name, got)
		}
		if text, err := os.ReadFile(target); err != nil || string(text) != before {
			t.Errorf("%s: the target holds %q, %v, want it as it was", name, text, err)
		}
		if _, err := os.Lstat(target + ".new"); err == nil {
			t.Errorf("%s: the rubric went through the link", name)
		}
	}
}
