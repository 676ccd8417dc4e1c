package trial_test

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"loopd/harness"
	"loopd/internal/agent"
	"loopd/internal/gateway"
	"loopd/internal/isolate"
	"loopd/internal/store"
	"loopd/internal/testenv"
	"loopd/internal/trial"
)

// spent is the time a stretch took: loopd's own processor time, that of all
// processes it has waited for, and by the clock.
type spent struct{ own, sessions, wall time.Duration }

// now reads the three clocks. What ran within walls is in sessions too: the
// kernel adds up what a process waited for, the first process inside waits for
// all others there, and it is waited for by loopd when its parent has ended.
func now(t testing.TB) spent {
	t.Helper()
	used := func(who int) time.Duration {
		var u syscall.Rusage
		testenv.Must(t, syscall.Getrusage(who, &u))
		return time.Duration(u.Utime.Nano() + u.Stime.Nano())
	}
	return spent{used(syscall.RUSAGE_SELF), used(syscall.RUSAGE_CHILDREN), time.Duration(time.Now().UnixNano())}
}

func (s spent) since(was spent) spent {
	return spent{s.own - was.own, s.sessions - was.sessions, s.wall - was.wall}
}

// median is the middle of each clock by itself.
func median(all []spent) spent {
	middle := func(clock func(spent) time.Duration) time.Duration {
		var values []time.Duration
		for _, s := range all {
			values = append(values, clock(s))
		}
		slices.Sort(values)
		return values[len(values)/2]
	}
	return spent{
		middle(func(s spent) time.Duration { return s.own }),
		middle(func(s spent) time.Duration { return s.sessions }),
		middle(func(s spent) time.Duration { return s.wall }),
	}
}

// costs is a bench whose model is a process of its own, so that what this
// process uses is what loopd uses.
type costs struct {
	*bench
	model    *apart
	executor *trial.Executor
	ledger   *store.Ledger
	real     bool // the agent is the real CLI
	long     bool // the sessions to come print over 5 MB

	mu   sync.Mutex
	next int
}

// newCosts prepares to measure trials with that agent, within walls where they
// stand.
func newCosts(t *testing.T, cli agent.Binary, w isolate.Sandbox) *costs {
	t.Helper()
	c := &costs{bench: newBench(t)}
	c.model = startApart(t, c.dir)
	upstream, err := url.Parse(c.model.url)
	testenv.Must(t, err)
	gate, err := gateway.Start(t.Context(), upstream, gateway.Credential{Header: gateway.HeaderKey})
	testenv.Must(t, err)
	t.Cleanup(func() { gate.Close() })
	c.o.Gateway, c.o.Faults, c.o.Isolation = gate, c, w
	if c.real = cli.Path != ""; c.real {
		c.o.Agent = cli
	}
	c.o.UID, c.o.GID, c.o.Sandboxes = nobody(), nobody(), testenv.OpenDir(t)
	c.o.Suite.Scenarios = slices.DeleteFunc(slices.Clone(c.o.Suite.Scenarios), func(sc harness.Scenario) bool { return sc.ID != costScenario })
	if c.executor, err = trial.New(t.Context(), c.o); err != nil {
		t.Fatal(err)
	}
	state := filepath.Join(t.TempDir(), "state")
	testenv.Must(t, os.Mkdir(state, 0o700))
	if c.ledger, err = store.Open(state); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.ledger.Close() })
	return c
}

// Register names the session to the model next door.
func (c *costs) Register(_ harness.Spec, key string) (func(), error) {
	return func() {}, c.model.register(key, c.long)
}

// Lay does no damage.
func (c *costs) Lay(harness.Spec, *isolate.Box) error { return nil }

// trial runs one session the way a campaign does and records it.
func (c *costs) trial() error {
	c.mu.Lock()
	c.next++
	spec := harness.Spec{
		Campaign: "t", Attempt: 1,
		Slot: harness.Slot{Wording: wording, Cell: harness.Cell{Scenario: costScenario, Tier: costTier}, Rep: c.next},
	}
	c.mu.Unlock()
	got, err := c.executor.Run(c.t.Context(), spec)
	if err != nil {
		return err
	}
	if got.Class != harness.Valid || got.Result.Outcome != harness.Pass {
		return fmt.Errorf("trial %d: got %s (%s) %s, want valid and pass", spec.Slot.Rep, got.Class, got.Why, got.Result.Outcome)
	}
	if c.long {
		kept, err := os.Stat(filepath.Join(c.o.Store, got.ID, trial.TranscriptFile))
		if err != nil || kept.Size() < 5<<20 {
			return fmt.Errorf("trial %d: a transcript of %v, %v, want 5 MB", spec.Slot.Rep, kept, err)
		}
	}
	payload, err := json.Marshal(got)
	if err != nil {
		return err
	}
	return c.ledger.Append(c.t.Context(), store.Record{Time: time.Now(), Kind: "trial", Payload: payload})
}

// bare is a session as a shell would start it: the same program with the same
// arguments in a directory of its own, straight to the model, its output to a
// file.
type bare struct {
	cmd *exec.Cmd
	out *os.File
	box *isolate.Box
}

// bare lays a session out, which is not measured.
func (c *costs) bare() (*bare, error) {
	sc := c.o.Suite.Scenarios[0]
	tree, err := trial.StartOf(c.o.Suite, sc, nil)
	if err != nil {
		return nil, err
	}
	git, err := isolate.NewGitTemplate(c.t.Context(), tree)
	if err != nil {
		return nil, err
	}
	box, err := isolate.New(c.t.Context(), isolate.Options{
		Base: c.o.Sandboxes, Fixture: tree, Plugin: c.plugin(), PluginName: c.o.Suite.Checker.Plugin, Git: git, UID: c.o.UID, GID: c.o.GID,
	})
	if err != nil {
		return nil, err
	}
	key := c.o.Gateway.DummyKey()
	if err := c.model.register(key, c.long); err != nil {
		return nil, err
	}
	model, _ := c.o.Suite.Launch.Model(costTier)
	path := c.o.Agent.Path
	cmd := exec.CommandContext(c.t.Context(), path, agent.Command(c.o.Suite.Launch, agent.CommandOptions{Model: model, PluginDir: box.Plugin})...)
	cmd.Args[0] = "claude"
	cmd.Dir, cmd.Stdin = box.Work, strings.NewReader(sc.Task.Reveal())
	cmd.Env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + box.Home, "CLAUDE_CONFIG_DIR=" + box.Config, "TMPDIR=" + box.Tmp, "LANG=C.UTF-8",
		"ANTHROPIC_BASE_URL=" + c.model.url, "ANTHROPIC_API_KEY=" + key, "DISABLE_AUTOUPDATER=1", "DISABLE_TELEMETRY=1",
		"DISABLE_ERROR_REPORTING=1", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1", "CLAUDE_CODE_DISABLE_AUTO_MEMORY=1",
		"CLAUDE_CODE_DISABLE_BACKGROUND_TASKS=1",
	}
	if c.o.UID != 0 && c.real { // the stand-in runs as anyone, and may lie where only root can reach it
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(c.o.UID), Gid: uint32(c.o.GID)}}
	}
	out, err := os.CreateTemp(c.o.Sandboxes, "")
	cmd.Stdout, cmd.Stderr = out, out
	return &bare{cmd, out, box}, err
}

// run is what is measured.
func (b *bare) run() error { return b.cmd.Run() }

// remove looks whether the session came to its end and clears it away.
func (b *bare) remove() error {
	data, err := os.ReadFile(b.out.Name())
	if err == nil && !strings.Contains(string(data), `"type":"result"`) {
		err = fmt.Errorf("the bare session has no result: %.2000s", data)
	}
	return cmp.Or(err, b.out.Close(), os.Remove(b.out.Name()), b.box.Remove())
}

func (c *costs) plugin() harness.Tree {
	w, err := c.o.Wording("")
	testenv.Must(c.t, err)
	return w.Plugin
}

// apart is a simulated model in a process of its own.
type apart struct {
	url string

	mu  sync.Mutex
	in  io.Writer
	out *bufio.Reader
}

// startApart starts the model on the suite in dir.
func startApart(t *testing.T, dir string) *apart {
	t.Helper()
	exe, err := os.Executable()
	testenv.Must(t, err)
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	cmd := exec.CommandContext(ctx, exe, dir)
	cmd.Args[0], cmd.Stderr = apartName, os.Stderr
	in, err := cmd.StdinPipe()
	testenv.Must(t, err)
	out, err := cmd.StdoutPipe()
	testenv.Must(t, err)
	testenv.Must(t, cmd.Start())
	t.Cleanup(func() {
		in.Close() // it ends with its input
		_ = cmd.Wait()
		stop()
	})
	a := &apart{in: in, out: bufio.NewReader(out)}
	if a.url, err = a.out.ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	a.url = strings.TrimSpace(a.url)
	return a
}

// register names a session to the model; a long one prints longSession's.
func (a *apart) register(key string, long bool) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if _, err := fmt.Fprintln(a.in, key, long); err != nil {
		return err
	}
	_, err := a.out.ReadString('\n')
	return err
}
