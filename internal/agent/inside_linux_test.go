package agent

import (
	"bufio"
	"io"
	"testing"
	"time"

	"loopd/internal/testenv"
)

// A walled session is held by its first process from its first output on, and
// ended through it: the process table is not searched for it, and what it left
// running is gone.
func TestWalledSessionIsHeld(t *testing.T) {
	t.Parallel()
	w := newWalled(t)
	l := w.script(t, `setsid sleep 611 & echo started; cat >/dev/null; sleep 612`)
	r, out := io.Pipe()
	l.Stdout, l.Stderr = out, io.Discard
	s, err := defaults().start(l)
	testenv.Must(t, err)
	if line, err := bufio.NewReader(r).ReadString('\n'); err != nil || line != "started\n" {
		t.Fatalf("got %q, %v", line, err)
	}
	s.tree.look()
	if s.tree.held == nil || s.tree.inner != s.tree.held.pid || !firstOfItsOwn(s.tree.inner) || firstOfItsOwn(s.cmd.Process.Pid) {
		t.Fatalf("got %+v, want the first process inside", s.tree)
	}
	if owned, err := ownedChildren(); err != nil || !owned[s.tree.inner] {
		t.Errorf("other sessions may take process %d for an orphan: %v", s.tree.inner, err)
	}
	s.signal(9)
	s.note(<-s.gone)
	inner := s.tree.inner
	if left, err := s.tree.sweep(s.kill); left != 0 || err != nil {
		t.Errorf("%d left, %v, want 0", left, err)
	}
	if p, err := readProcess(inner); err == nil {
		t.Errorf("process %+v is still there", p)
	}
	if s.tree.cpu <= 0 {
		t.Error("what it used is not known")
	}
	r.Close()
	s.drain()
	s.all.Wait()
}

// Who holds nothing searches: a child outside walls is not the first of a process
// table of its own, and ending it would not end the others.
func TestNothingToHold(t *testing.T) {
	t.Parallel()
	l := script(t.TempDir(), `sleep 613 & echo started; wait`)
	r, out := io.Pipe()
	l.Stdout, l.Stderr = out, io.Discard
	s, err := defaults().start(l)
	testenv.Must(t, err)
	if line, err := bufio.NewReader(r).ReadString('\n'); err != nil || line != "started\n" {
		t.Fatalf("got %q, %v", line, err)
	}
	if _, ok := onlyChild(s.cmd.Process.Pid); !ok {
		t.Fatal("the one child is not found")
	}
	if s.tree.look(); s.tree.held != nil {
		t.Error("a session outside walls is held")
	}
	if _, _, ok := meetInside(s.cmd.Process.Pid); ok {
		t.Error("a child that is not the first of its own process table was taken for one")
	}
	s.signal(9)
	s.note(<-s.gone)
	if left, err := s.tree.sweep(10 * time.Second); left != 0 || err != nil {
		t.Errorf("%d left, %v, want 0", left, err)
	}
	r.Close()
	s.drain()
	s.all.Wait()
}
