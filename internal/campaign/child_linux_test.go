package campaign

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"loopd/internal/store"
	"loopd/internal/testenv"
	"loopd/loop"
)

// childVariable makes this test binary a campaign of drawn sessions that can be
// killed, cut off from power or refused by its disk.
const childVariable = "LOOPD_CAMPAIGN_TEST"

// campaignChild is such a process: where it works, and what is queued first.
type campaignChild struct {
	State, Plugin string
	Sentences     []string
}

func TestMain(m *testing.M) {
	if described := os.Getenv(childVariable); described != "" {
		os.Exit(runChild(described))
	}
	os.Exit(m.Run())
}

// The exit codes of the child.
const (
	childFailed  = 1
	childSuspect = 7 // the ledger is suspect, and took nothing more
	childRetried = 8 // it took something more
)

// runChild runs or continues the campaign, and prints a line for every trial that
// is recorded, once it is.
func runChild(described string) int {
	var d campaignChild
	if err := json.Unmarshal([]byte(described), &d); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return childFailed
	}
	c, err := d.open()
	if err == nil {
		err = d.run(c)
	}
	if err == nil {
		fmt.Println("done")
		return 0
	}
	fmt.Fprintln(os.Stderr, err)
	if !errors.Is(err, store.ErrSuspect) {
		return childFailed
	}
	// Another try would be a second sync after one that failed.
	if again := c.Queue(context.Background(), c.Current().Progress[0].Candidate); !errors.Is(again, store.ErrSuspect) {
		return childRetried
	}
	return childSuspect
}

func (d campaignChild) open() (*Campaign, error) {
	h := Home{Dir: d.State}
	if err := h.Make(); err != nil {
		return nil, err
	}
	sealed, err := h.OpenBundled(context.Background())
	if err != nil {
		return nil, err
	}
	return Open(context.Background(), d.options(h, sealed))
}

func (d campaignChild) options(h Home, sealed Sealed) Options {
	return Options{
		Home: h, Plugin: d.Plugin, Sealed: sealed, AgentName: "agent 1", AgentSHA: "sha", Credential: "simulated", Simulated: true,
		Now: time.Now, Log: slog.New(slog.NewTextHandler(os.Stderr, nil)), RoomEvery: 20 * time.Millisecond,
	}
}

func (d campaignChild) run(c *Campaign) error {
	ctx := context.Background()
	if s := c.Current(); s != nil && s.Ended != nil {
		return c.Close()
	}
	set := settings()
	set.Seed = 7
	if err := c.Begin(ctx, set, drawnGrid()); err != nil {
		return err
	}
	for i, text := range d.Sentences {
		id := fmt.Sprintf("c%03d", i+1)
		if c.Current().Find(id) != nil {
			continue
		}
		cand, err := sentenceOf(text).Candidate()
		if err != nil {
			return err
		}
		cand.ID = id
		if err := c.Queue(ctx, cand); err != nil {
			return err
		}
	}
	said := func(_ *loop.State, e loop.Event) {
		if r, ok := e.Payload.(loop.Recorded); ok {
			fmt.Println("trial", r.Trial.ID)
		}
	}
	if err := c.Run(ctx, loop.Loop{Executor: drawn{c}, Parallel: 2, Observe: said}); err != nil {
		return err
	}
	return c.Close()
}

// sentences make a campaign with a kept candidate, one like any other, and one on
// top of the kept one.
func sentences() []string {
	return []string{"It is quick.", better, "It is short."}
}

// rigged is a child under a test's control.
type rigged struct {
	campaignChild
	t      *testing.T
	prefix []string   // a program to run it under
	mu     sync.Mutex // over acked
	acked  map[string]bool
}

// newRigged makes the user's repository below dir and the child that works on it,
// with its state below dir too.
func newRigged(t *testing.T, dir string) *rigged {
	t.Helper()
	n := newNight(t, "")
	plugin := filepath.Join(dir, "adr")
	testenv.Must(t, os.CopyFS(plugin, os.DirFS(n.root)))
	return &rigged{campaignChild: campaignChild{State: filepath.Join(dir, "state"), Plugin: plugin, Sentences: sentences()}, t: t, acked: make(map[string]bool)}
}

// command is the child, not started.
func (r *rigged) command(ctx context.Context) *exec.Cmd {
	r.t.Helper()
	described, err := json.Marshal(r.campaignChild)
	testenv.Must(r.t, err)
	args := append(append([]string{}, r.prefix...), os.Args[0])
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Env = append(os.Environ(), childVariable+"="+string(described))
	cmd.Stderr = &strings.Builder{}
	return cmd
}

// until starts the child and calls stop once it has acknowledged so many trials.
// It returns when the child has ended; true if it came to its own end.
func (r *rigged) until(cmd *exec.Cmd, trials int, stop func(*os.Process)) bool {
	r.t.Helper()
	out, err := cmd.StdoutPipe()
	testenv.Must(r.t, err)
	testenv.Must(r.t, cmd.Start())
	if trials == 0 {
		stop(cmd.Process)
	}
	done, seen := false, 0
	for lines := bufio.NewScanner(out); lines.Scan(); {
		id, ok := strings.CutPrefix(lines.Text(), "trial ")
		done = done || lines.Text() == "done"
		if ok {
			r.mu.Lock()
			r.acked[id] = true
			r.mu.Unlock()
			if seen++; seen == trials {
				stop(cmd.Process)
			}
		}
	}
	_ = cmd.Wait() // how it ended is what the caller asks
	return done
}

// sound opens what the child left, as a new start does, and wants every trial it
// acknowledged, no row twice, and a deep check that finds nothing. It returns how
// long the state took to be ready.
func (r *rigged) sound(what string) (*loop.State, time.Duration) {
	r.t.Helper()
	began := time.Now()
	c, err := r.open()
	if err != nil {
		r.t.Fatalf("%s: open again: %v", what, err)
	}
	ready := time.Since(began)
	s := c.Current()
	o := c.Options
	testenv.Must(r.t, c.Close())
	have := make(map[string]bool)
	if s != nil {
		for _, t := range s.Trials {
			if have[t.ID] {
				r.t.Errorf("%s: trial %s is there twice", what, t.ID)
			}
			have[t.ID] = true
		}
	}
	for id := range r.acked {
		if !have[id] {
			r.t.Errorf("%s: trial %s was acknowledged and is lost", what, id)
		}
	}
	found, err := Check(r.t.Context(), o, true)
	if err != nil || len(found.Mended) > 0 || len(found.Lost) > 0 {
		r.t.Errorf("%s: check: %v, mended %q, lost %q", what, err, found.Mended, found.Lost)
	}
	for _, a := range found.Audits {
		if len(a.Wrong) > 0 {
			r.t.Errorf("%s: %q", what, a.Wrong)
		}
	}
	r.wholeFiles(what)
	return s, ready
}

// wholeFiles wants no empty file in the state directory but the lock and the
// empty objects git makes, and results.tsv of whole rows.
func (r *rigged) wholeFiles(what string) {
	r.t.Helper()
	data, err := os.ReadFile(Home{Dir: r.State}.Results())
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		r.t.Fatal(err)
	}
	for i, line := range strings.Split(strings.TrimSuffix(string(data), "\n"), "\n") {
		if n := strings.Count(line, "\t"); len(data) > 0 && n != strings.Count(strings.SplitN(string(data), "\n", 2)[0], "\t") {
			r.t.Errorf("%s: row %d of results.tsv has %d cells", what, i, n+1)
		}
	}
	for _, pattern := range []string{"repo.git/refs/heads/loopd/*/*", "*.tsv", "reports/*/*"} {
		files, err := filepath.Glob(filepath.Join(r.State, pattern))
		testenv.Must(r.t, err)
		if len(files) == 0 && r.ackedSoFar() > 20 {
			r.t.Errorf("%s: nothing at %s", what, pattern)
		}
		for _, f := range files {
			if info, err := os.Stat(f); err != nil || info.Size() == 0 {
				r.t.Errorf("%s: %s is empty: %v", what, f, err)
			}
		}
	}
}

func (r *rigged) ackedSoFar() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.acked)
}

// finish runs the child to its end and returns its verdicts.
func (r *rigged) finish() []string {
	r.t.Helper()
	if cmd := r.command(r.t.Context()); !r.until(cmd, -1, nil) {
		r.t.Fatalf("the campaign did not come to its end: %v", cmd.Stderr)
	}
	s, _ := r.sound("at the end")
	return verdictsWithE(s)
}
