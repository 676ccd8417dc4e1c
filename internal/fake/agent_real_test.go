package fake_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"

	"loopd/internal/fake"
	"loopd/internal/testenv"
)

// realCLI returns an agent that runs the real CLI, or skips: the binary is
// named by LOOPD_CLAUDE, and LOOPD_REQUIRE=claude turns a skip into a failure.
// The binary is linked into the sandbox because the user it runs as may not be
// able to reach it where it is.
func realCLI(t *testing.T) agent {
	t.Helper()
	binary, err := filepath.EvalSymlinks(testenv.NeedClaude(t))
	testenv.Must(t, err)
	return func(r *rig) outcome {
		r.t.Helper()
		exe := r.path("claude")
		testenv.Must(r.t, linkOrCopy(binary, exe))
		cmd := exec.Command(exe, r.args()...)
		if os.Geteuid() == 0 {
			cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: unprivileged, Gid: unprivileged}}
		}
		return r.execute(cmd, r.environ())
	}
}

func linkOrCopy(from, to string) error {
	if err := os.Link(from, to); err == nil || errors.Is(err, os.ErrExist) {
		return nil
	}
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_WRONLY, 0o755)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}

// TestRealCLI plays the simulated model to the real CLI: tool calls are
// executed, the final text arrives, and the lines are those on record. Every
// situation is measured with -update, the most telling ones always.
func TestRealCLI(t *testing.T) {
	t.Parallel()
	run := realCLI(t)
	always := []string{"oracle", "oracle-4x", "nop", "overloaded", "rate-limit"}
	for _, name := range slices.Sorted(maps.Keys(situations())) {
		if !testenv.Updating() && !slices.Contains(always, name) {
			continue
		}
		t.Run(name, func(t *testing.T) {
			r := newRig(t, goodHook)
			situations()[name](r)
			o := run(r)
			if o.code != exitCodes()[name] {
				t.Errorf("exit: got %d, want %d; stderr %s", o.code, exitCodes()[name], o.stderr)
			}
			if strings.HasPrefix(name, "oracle") {
				checkOracle(t, r, o)
			}
			if name == "nop" && r.file("work/relay.rb") != "LIMIT = 9\n" {
				t.Errorf("relay.rb: got %q", r.file("work/relay.rb"))
			}
			compareRecord(t, name, r, o)
		})
	}
}

// TestRealCLIDies shows what the killing faults do to the real CLI.
func TestRealCLIDies(t *testing.T) {
	t.Parallel()
	run := realCLI(t)
	for fault, want := range map[fake.Fault]int{fake.FaultCrash: 137, fake.FaultTerminate: 143} {
		t.Run(string(fault), func(t *testing.T) {
			r := newRig(t, goodHook)
			r.session.Fault = fault
			checkNoResult(t, run(r), want)
		})
	}
}

// TestRealLimits: the turn limit counts the same.
func TestRealLimits(t *testing.T) {
	t.Parallel()
	run := realCLI(t)
	r := newRig(t, goodHook)
	r.more = []string{"--max-turns", "2"}
	checkMaxTurns(t, run(r))
}

// TestRealHookVariants repeats the measurement behind hookVariants: all of it
// with -update, the most telling part always.
func TestRealHookVariants(t *testing.T) {
	t.Parallel()
	run := realCLI(t)
	always := []string{"one document", "plain text", "two documents", "wrong event", "json and exit 1"}
	for name, v := range hookVariants() {
		if !testenv.Updating() && !slices.Contains(always, name) {
			continue
		}
		t.Run(name, func(t *testing.T) {
			r := newRig(t, v.body)
			r.session.Scenario.Oracle = r.session.Scenario.Oracle[5:]
			checkHook(t, v, r, run(r))
		})
	}
}

// compareRecord compares kinds and keys of a real session with the record, or
// rewrites the record.
func compareRecord(t *testing.T, name string, r *rig, o outcome) {
	t.Helper()
	file := filepath.Join("testdata", "real", name+".jsonl")
	if testenv.Updating() {
		testenv.Must(t, os.WriteFile(file, neutral(t, r, o), 0o644))
		return
	}
	data, err := os.ReadFile(file)
	testenv.Must(t, err)
	recorded := parseLines(t, data)
	testenv.Same(t, "keys", keySets(recorded), keySets(o.lines))
	testenv.Same(t, "facts", facts(recorded), facts(o.lines))
}

// neutral makes a record of a stream: paths, ids, times and ports replaced, the
// CLI's own lists and texts left out.
func neutral(t *testing.T, r *rig, o outcome) []byte {
	t.Helper()
	var out bytes.Buffer
	for _, l := range o.lines {
		if l["subtype"] == "init" {
			for _, k := range []string{"tools", "slash_commands", "terminal_slash_commands", "agents", "skills", "capabilities"} {
				l[k] = []string{}
			}
		}
		data, err := json.Marshal(l)
		testenv.Must(t, err)
		out.Write(append(data, '\n'))
	}
	text := strings.ReplaceAll(out.String(), r.root, "/sandbox")
	for _, p := range [][2]string{
		{`[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}`, "00000000-0000-4000-8000-000000000000"},
		{`"\d{4}-\d\d-\d\dT[\d:.]+Z"`, `"2026-01-01T00:00:00.000Z"`},
		{`cc-socks/\d+`, "cc-socks/1"},
		{`"(\w+_ms)":\d+`, `"$1":1`},
	} {
		text = regexp.MustCompile(p[0]).ReplaceAllString(text, p[1])
	}
	return []byte(text)
}
