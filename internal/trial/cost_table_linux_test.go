package trial_test

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"loopd/internal/agent"
	"loopd/internal/gateway"
	"loopd/internal/testenv"
)

// What loopd may cost.
const (
	mostShare    = .05                  // of the bare session's processor time
	leastPace    = .9                   // of a bare loop's, four side by side
	mostDelay    = 2 * time.Millisecond // of the first byte by the gateway
	mostResident = 100                  // MB, four side by side with 5 MB each
)

// table prints one line a figure.
func table(t *testing.T, what, figure, bound string) {
	t.Helper()
	t.Logf("%-52s %12s   %s", what, figure, bound)
}

func ms(d time.Duration) string { return fmt.Sprintf("%.1f ms", d.Seconds()*1000) }

// TestRun_Cost runs the same session bare and as a trial in turn, and
// takes loopd's own part from the kernel's account of the two. It runs alone:
// nothing else of this process is to be in the account.
func TestRun_Cost(t *testing.T) {
	testenv.NightlyOnly(t, "a minute without anything beside it")
	pairs, cli := 25, agent.Binary{}
	if testenv.Claude(t) != "" {
		pairs, cli = 5, realAgent(t)
	}
	c := newCosts(t, cli, walls(t, nobody()))
	if err := c.trial(); err != nil { // what is done once is done
		t.Fatal(err)
	}
	var alone, within []spent
	for range pairs {
		alone = append(alone, c.bareLoop(1, 1))
		within = append(within, c.trialLoop(1, 1))
	}
	bare, walled := median(alone), median(within)
	share := walled.own.Seconds() / bare.sessions.Seconds()
	table(t, "agent", c.o.Agent.Version+map[bool]string{true: "", false: ", stand-in"}[c.real], "")
	table(t, "processor time of a bare session", ms(bare.sessions), "")
	table(t, "processor time of the same session within walls", ms(walled.sessions), "")
	table(t, "loopd's own processor time for it", ms(walled.own), "")
	table(t, "in parts of the bare session", fmt.Sprintf("%.1f %%", 100*share), "at most 5 %, of the real CLI")
	// 45 ms are 5 % of such a session where it takes .9 s.
	table(t, "where a bare session takes .9 s of the processor", ms(time.Duration(share*.9*float64(time.Second))), "at most 45.0 ms, of the real CLI")
	if c.real && share > mostShare {
		t.Error("loopd costs too much")
	}
	c.sideBySide()
}

// bareLoop runs n bare sessions, at most so many at once.
func (c *costs) bareLoop(n, wide int) spent {
	c.t.Helper()
	var all []*bare
	for range n {
		b, err := c.bare()
		testenv.Must(c.t, err)
		all = append(all, b)
	}
	took := c.loop(n, wide, func(i int) error { return all[i].run() })
	for _, b := range all {
		testenv.Must(c.t, b.remove())
	}
	return took
}

// trialLoop runs n trials, at most so many at once. Each must be valid and pass.
func (c *costs) trialLoop(n, wide int) spent {
	c.t.Helper()
	return c.loop(n, wide, func(int) error { return c.trial() })
}

func (c *costs) loop(n, wide int, one func(i int) error) spent {
	c.t.Helper()
	before := now(c.t)
	var all sync.WaitGroup
	turns, errs := make(chan struct{}, wide), make([]error, n)
	for i := range n {
		turns <- struct{}{}
		all.Go(func() {
			defer func() { <-turns }()
			errs[i] = one(i)
		})
	}
	all.Wait()
	testenv.Must(c.t, errors.Join(errs...))
	return now(c.t).since(before)
}

// sideBySide runs eight at once, none of which may be called anything but valid
// for it, and four at once beside a bare loop of four.
func (c *costs) sideBySide() {
	c.t.Helper()
	c.trialLoop(8, 8)
	table(c.t, "8 side by side: all valid", "8 of 8", "")
	var alone, within []spent
	for range 3 {
		alone = append(alone, c.bareLoop(4, 4))
		within = append(within, c.trialLoop(4, 4))
	}
	bare, walled := median(alone), median(within)
	pace := bare.wall.Seconds() / walled.wall.Seconds()
	table(c.t, "4 side by side: pace beside a bare loop", fmt.Sprintf("%.2f", pace), "at least 0.9, of the real CLI")
	table(c.t, "4 side by side: all processor time beside a bare loop", fmt.Sprintf("%.2f", (walled.own+walled.sessions).Seconds()/(bare.own+bare.sessions).Seconds()), "")
	if c.real && pace < leastPace {
		c.t.Error("loopd slows sessions down")
	}
}

// TestRun_GatewayLatency asks the same once directly and once through the
// gateway, in turn, with a request of the usual size.
func TestRun_GatewayLatency(t *testing.T) {
	tries := testenv.Count(5, 200)
	c := newCosts(t, agent.Binary{}, walls(t, nobody()))
	tap := c.o.Gateway.Open(gateway.Session{Note: shortNote})
	defer tap.Close()
	testenv.Must(t, c.model.register(tap.Key(), false))
	body := `{"model":"m","stream":true,"tools":[{"name":"Bash"}],"system":"` + strings.Repeat("You are careful. ", 9000) + `","messages":[{"role":"user","content":"` + shortNote + `"}]}`
	var direct, through []time.Duration
	for range tries {
		direct = append(direct, firstByte(t, c.model.url, tap.Key(), body))
		through = append(through, firstByte(t, c.o.Gateway.URL().String(), tap.Key(), body))
	}
	if seen := tap.Report(); !seen.Exposed || seen.Requests != tries {
		t.Errorf("the gateway saw %d requests, exposed %t, want %d that are", seen.Requests, seen.Exposed, tries)
	}
	slices.Sort(direct)
	slices.Sort(through)
	added := through[tries/2] - direct[tries/2]
	table(t, "the first byte of an answer comes later by", ms(added), "at most "+ms(mostDelay))
	if testenv.Nightly() && added > mostDelay {
		t.Error("the gateway adds too much")
	}
}

// shortNote is what that request must be seen to hold.
const shortNote = "Look at the records first."

// firstByte is how long the first byte of an answer takes.
func firstByte(t *testing.T, base, key, body string) time.Duration {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, base+"/v1/messages", strings.NewReader(body))
	testenv.Must(t, err)
	req.Header.Set("X-Api-Key", key)
	began := time.Now()
	resp, err := http.DefaultClient.Do(req)
	testenv.Must(t, err)
	defer resp.Body.Close()
	r := bufio.NewReader(resp.Body)
	if _, err := r.ReadByte(); err != nil || resp.StatusCode != http.StatusOK {
		t.Fatal(resp.Status, err)
	}
	took := time.Since(began)
	if _, err := io.Copy(io.Discard, r); err != nil {
		t.Fatal(err)
	}
	return took
}

// memoryEnv makes this test binary the process whose memory is measured.
const memoryEnv = "LOOPD_COST_MEMORY"

var residentLine = regexp.MustCompile(`(?m)^resident ([0-9.]+) MB$`)

// TestRun_MemoryOfFour runs four sessions of 5 MB at once in a process of
// their own and reads how large that has ever been.
func TestRun_MemoryOfFour(t *testing.T) {
	if os.Getenv(memoryEnv) != "" {
		c := newCosts(t, agent.Binary{}, walls(t, nobody()))
		c.long = true
		c.trialLoop(4, 4)
		fmt.Printf("resident %.1f MB\n", resident(t))
		return
	}
	walls(t, nobody()) // or a skip
	if testenv.Raced() {
		t.Skip("the race detector takes several times the memory")
	}
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run", "^"+t.Name()+"$")
	cmd.Env = append(os.Environ(), memoryEnv+"=1")
	out, err := cmd.CombinedOutput()
	found := residentLine.FindSubmatch(out)
	if err != nil || found == nil {
		t.Fatalf("%v\n%s", err, out)
	}
	mb, err := strconv.ParseFloat(string(found[1]), 64)
	testenv.Must(t, err)
	table(t, "resident memory, 4 side by side of 5 MB each", fmt.Sprintf("%.0f MB", mb), fmt.Sprintf("at most %d MB", mostResident))
	if mb > mostResident {
		t.Error("loopd takes too much memory")
	}
}

// resident is the largest size this process has had, in MB.
func resident(t *testing.T) float64 {
	t.Helper()
	data, err := os.ReadFile("/proc/self/status")
	testenv.Must(t, err)
	_, rest, _ := bytes.Cut(data, []byte("VmHWM:"))
	kb, err := strconv.Atoi(string(bytes.Fields(rest)[0]))
	testenv.Must(t, err)
	return float64(kb) / 1024
}
