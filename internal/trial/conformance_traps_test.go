package trial

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"loopd/harness"
	"loopd/internal/testenv"
)

// traps: a session leaves what would run code, never end or lead out when its
// project is read back, and a perfect answer beside it. The state is read, none
// of it is run, and the session is scored as if it had left nothing else.
func (f fixture) traps(t *testing.T, l launched) error {
	box, err := l.box(t)
	if err != nil {
		return err
	}
	sprung := filepath.Join(t.TempDir(), "sprung")
	script := filepath.Join(box.Work, "trap.sh")
	put := func(name, text string, mode os.FileMode) {
		testenv.Must(t, os.WriteFile(filepath.Join(box.Work, name), []byte(text), mode))
	}
	put("trap.sh", "#!/bin/sh\ntouch '"+sprung+"'\n", 0o755)
	put(".git/config", "[core]\n\tfsmonitor = "+script+"\n\thooksPath = "+box.Work+"\n[diff]\n\texternal = "+script+
		"\n[filter \"x\"]\n\tsmudge = "+script+"\n\tclean = "+script+"\n", 0o644)
	put(".gitattributes", "* filter=x diff=x\n", 0o644)
	for _, name := range []string{"pipe", "docs/adr/0005-pipe.md"} {
		testenv.Must(t, syscall.Mkfifo(filepath.Join(box.Work, name), 0o644))
	}
	for i := range 300 {
		link := filepath.Join(box.Work, fmt.Sprintf("link%d", i))
		testenv.Must(t, os.Symlink([]string{"/", "..", ".", "link0", "/dev/zero", "/etc/passwd"}[i%6], link))
	}
	end, err := box.Snapshot(t.Context())
	if err != nil {
		return err
	}
	if _, err := os.Lstat(sprung); err == nil {
		t.Error("reading the project ran a program of the session's")
	}
	wantTrapped(t, end)
	return nil
}

func wantTrapped(t *testing.T, end harness.Tree) {
	t.Helper()
	for name, file := range end {
		if !file.Mode.IsRegular() && len(file.Data) > len("/etc/passwd") {
			t.Errorf("%s: %d bytes of something that is no file", name, len(file.Data))
		}
	}
	if string(end["link5"].Data) != "/etc/passwd" || end["pipe"].Mode&os.ModeNamedPipe == 0 || len(end) < 300 {
		t.Errorf("the traps are not seen for what they are: %v %v", end["link5"], end["pipe"])
	}
}

// manyFiles: a session leaves more files than are read back. That is told, and
// the sandbox goes all the same.
func (f fixture) manyFiles(t *testing.T, l launched) error {
	box, err := l.box(t)
	if err != nil {
		return err
	}
	testenv.Must(t, os.Mkdir(filepath.Join(box.Work, "many"), 0o755))
	first := filepath.Join(box.Work, "many", "0")
	testenv.Must(t, os.WriteFile(first, nil, 0o644))
	for i := range 50_000 {
		testenv.Must(t, os.Symlink("0", filepath.Join(box.Work, "many", fmt.Sprint(i+1))))
	}
	_, err = box.Snapshot(t.Context())
	if removed := box.Remove(); removed != nil {
		t.Error(removed)
	}
	return err
}
