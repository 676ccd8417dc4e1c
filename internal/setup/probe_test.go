package setup

import (
	"context"
	"io/fs"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"loopd/fixtures"
	"loopd/harness"
	"loopd/internal/agent"
	"loopd/internal/campaign"
	"loopd/internal/fake"
	"loopd/internal/isolate"
	"loopd/internal/testenv"
)

// TestMain lets the test binary be the agent under the name claude, and the helper
// within walls.
func TestMain(m *testing.M) {
	if isolate.IsHelper(os.Args) {
		syscall.Exit(isolate.HelperMain(os.Args, os.Environ()))
	}
	if filepath.Base(os.Args[0]) != "claude" {
		os.Exit(m.Run())
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	dir, err := os.Getwd()
	if err != nil {
		panic(err)
	}
	syscall.Exit(fake.AgentMain(ctx, os.Args[1:], os.Environ(), dir, os.Stdin, os.Stdout, os.Stderr))
}

// bundledProbe is a probe of the bundled plugin through the stand-in, in the open.
func bundledProbe(t *testing.T) ProbeOptions {
	t.Helper()
	suite, err := campaign.ReadBundled(campaign.BundledSuite)
	testenv.Must(t, err)
	sub, err := fs.Sub(fixtures.Plugins(), campaign.BundledSuite)
	testenv.Must(t, err)
	tree, err := harness.ReadTree(sub)
	testenv.Must(t, err)
	for name, f := range tree {
		f.Mode = fixtures.PluginMode(name)
		tree[name] = f
	}
	wording, err := campaign.WordingOf(tree, suite.Launch.Note)
	testenv.Must(t, err)
	return ProbeOptions{
		Suite: suite, Wording: wording, Agent: agent.Binary{Path: isolate.SelfAgent, Version: fake.AgentVersion},
		Secrets: []string{"sk-ant-api03-the-users-own-key"},
	}
}

// realProbe is one through the real CLI, as the user sessions run as.
func realProbe(t *testing.T) ProbeOptions {
	t.Helper()
	path, o := testenv.NeedClaude(t), bundledProbe(t)
	var err error
	o.Agent, err = agent.Pin(t.Context(), path, filepath.Join(testenv.OpenDir(t), "agent"))
	testenv.Must(t, err)
	if os.Geteuid() == 0 {
		o.Isolation.UID = 65534
	}
	return o
}

// within walls the probe, or skips.
func within(t *testing.T, o ProbeOptions) ProbeOptions {
	t.Helper()
	walls, err := isolate.Probe(t.Context(), isolate.ProbeOptions{Path: os.Getenv("PATH"), UID: o.Isolation.UID, GID: o.Isolation.UID})
	testenv.Need(t, "bwrap", err)
	o.Isolation.Sandbox = walls
	return o
}

func probed(t *testing.T, o ProbeOptions) map[string]Row {
	t.Helper()
	before := os.Environ()
	rows, err := Probe(t.Context(), o)
	testenv.Must(t, err)
	slices.Sort(before)
	after := os.Environ()
	if slices.Sort(after); !slices.Equal(before, after) {
		t.Errorf("the environment of the process has changed")
	}
	out := make(map[string]Row)
	for _, r := range rows {
		out[strings.TrimPrefix(r.Name, "probe: ")] = r
		t.Logf("%s %s: %s", r.Health, r.Name, r.Detail)
		if (r.Health == HealthOK) != (r.Fix == "") || r.Detail == "" {
			t.Errorf("a row that is not ok has a fix, and no other: %+v", r)
		}
	}
	if len(out) != len(origins())+6 {
		t.Errorf("got %d rows, want %d", len(out), len(origins())+6)
	}
	return out
}

func wantBad(t *testing.T, rows map[string]Row, bad ...string) {
	t.Helper()
	for name, r := range rows {
		if (r.Health != HealthOK) != slices.Contains(bad, name) {
			t.Errorf("%s: got %s (%s), want it bad: %v", name, r.Health, r.Detail, slices.Contains(bad, name))
		}
	}
}

// The probes poison the environment of the process: no test here is parallel.

func TestProbeOfASoundSession(t *testing.T) {
	for name, o := range map[string]func(*testing.T) ProbeOptions{
		"stand-in":         bundledProbe,
		"stand-in, walled": func(t *testing.T) ProbeOptions { return within(t, bundledProbe(t)) },
		"real CLI":         realProbe,
		"real CLI, walled": func(t *testing.T) ProbeOptions { return within(t, realProbe(t)) },
	} {
		t.Run(name, func(t *testing.T) { wantBad(t, probed(t, o(t))) })
	}
}

// leakyHome copies the poisoned home into the session's own, as a CLI that did not
// keep to its home would.
func leakyHome(t *testing.T, uid int) func(*isolate.Box, *poison) error {
	return func(box *isolate.Box, p *poison) error {
		t.Helper()
		for from, to := range map[string]string{p.home(): box.Home, p.config(): box.Config} {
			if err := os.CopyFS(to, os.DirFS(from)); err != nil {
				return err
			}
			err := filepath.WalkDir(to, func(path string, _ fs.DirEntry, err error) error {
				if err != nil || uid == 0 {
					return err
				}
				return os.Lchown(path, uid, uid)
			})
			if err != nil {
				return err
			}
		}
		return nil
	}
}

// through runs the agent through a shell script that is written when the sandbox
// is there; the script gets the agent's command line as "$@".
func through(t *testing.T, o *ProbeOptions, program string, script func(*poison) string) {
	t.Helper()
	path := filepath.Join(testenv.OpenDir(t), "agent")
	o.Agent.Path = path
	before := o.damage
	o.damage = func(box *isolate.Box, p *poison) error {
		if before != nil {
			if err := before(box, p); err != nil {
				return err
			}
		}
		text := "#!/bin/bash\n" + script(p) + "\nexec -a claude '" + program + "' \"${args[@]}\"\n"
		return os.WriteFile(path, []byte(text), 0o755)
	}
}

// without makes a script that takes arguments away.
func without(args ...string) string {
	return "args=(); for a; do case \"$a\" in " + strings.Join(args, "|") + ") ;; *) args+=(\"$a\");; esac; done"
}

// Each defect is seen, and only where it is.
func TestProbeSeesEachDefect(t *testing.T) {
	self, err := os.Executable()
	testenv.Must(t, err)
	for name, tc := range map[string]struct {
		provoke func(*ProbeOptions)
		bad     []string
	}{
		"home let through": {
			func(o *ProbeOptions) { o.damage = leakyHome(t, 0) },
			[]string{"user's instructions", "user's hooks", "user's plugin", "user's MCP server", "user's commands", "user's git"},
		},
		"environment let through": {func(o *ProbeOptions) {
			through(t, o, self, func(p *poison) string { return "args=(\"$@\"); export CLAUDECODE=" + p.env["CLAUDECODE"] })
		}, []string{"environment"}},
		"git variable let through": {func(o *ProbeOptions) {
			through(t, o, self, func(p *poison) string { return "args=(\"$@\"); export GIT_AUTHOR_NAME=" + p.env["GIT_AUTHOR_NAME"] })
		}, []string{"user's git"}},
		"instructions above": {func(o *ProbeOptions) {
			o.damage = func(_ *isolate.Box, p *poison) error { return p.lay(p.above()) }
		}, []string{"directories above"}},
		"hook of the user's ran": {func(o *ProbeOptions) {
			o.damage = func(_ *isolate.Box, p *poison) error { return os.WriteFile(p.ran(fromHooks), nil, 0o644) }
		}, []string{"user's hooks"}},
		"server of the user's ran": {func(o *ProbeOptions) {
			o.damage = func(_ *isolate.Box, p *poison) error { return os.WriteFile(p.ran(fromServer), nil, 0o644) }
		}, []string{"user's MCP server"}},
		"note cut": {func(o *ProbeOptions) {
			o.damage = func(box *isolate.Box, _ *poison) error {
				return os.WriteFile(filepath.Join(box.Plugin, o.Suite.Launch.Note.File), []byte("Half a no"), 0o644)
			}
		}, []string{"session", "note"}},
		"description cut": {func(o *ProbeOptions) {
			o.Wording.Descriptions = append(slices.Clone(o.Wording.Descriptions), "What no skill of the plugin says.")
		}, []string{"session", "skill descriptions"}},
		"no hook": {func(o *ProbeOptions) {
			o.damage = func(box *isolate.Box, _ *poison) error {
				return os.WriteFile(filepath.Join(box.Plugin, "hooks", "hooks.json"), []byte(`{"hooks":{}}`), 0o644)
			}
		}, []string{"session", "note", "hook"}},
		"withheld tool": {func(o *ProbeOptions) {
			o.Suite.Launch.DisallowedTools = []string{"Skill"}
			through(t, o, self, func(*poison) string { return without("--disallowedTools=Skill") })
		}, []string{"tools"}},
		"key within reach": {func(o *ProbeOptions) {
			through(t, o, self, func(p *poison) string {
				return "args=(\"$@\"); export STOLEN=" + p.stem + "-key-" + strings.Repeat("A", 26)
			})
			o.Secrets = append(o.Secrets, "-key-"+strings.Repeat("A", 26))
		}, []string{"credential"}},
		"does not start": {func(o *ProbeOptions) {
			through(t, o, self, func(*poison) string { return "exit 3" })
		}, append([]string{"session", "note", "skill descriptions", "hook", "tools", "credential", "environment", "directories above"}, usersOwn()...)},
	} {
		t.Run(name, func(t *testing.T) {
			o := bundledProbe(t)
			tc.provoke(&o)
			wantBad(t, probed(t, o), tc.bad...)
		})
	}
}

func usersOwn() []string {
	return []string{"user's instructions", "user's hooks", "user's plugin", "user's MCP server", "user's commands", "user's git"}
}

// TestProbeSeesAKeyThatWasNotShown: a gateway that does not put the key in.
func TestProbeSeesAKeyThatWasNotShown(t *testing.T) {
	p := &probe{poison: newPoison(t.TempDir()), core: "core", witness: &witness{sent: []string{"a", "b"}, keyed: 1}}
	if r := p.credential(); r.Health != HealthBad || !strings.Contains(r.Detail, "1 of 2") {
		t.Errorf("got %+v", r)
	}
	p.witness.keyed = 2
	if r := p.credential(); r.Health != HealthOK {
		t.Errorf("shown: got %+v", r)
	}
	p.kept = map[string]string{"stderr.txt": "the core of it"}
	if r := p.credential(); r.Health != HealthBad {
		t.Errorf("in a file: got %+v", r)
	}
}

// The real CLI, told to use the user's home and settings, is seen to: the canaries
// are where it reads them.
func TestProbeSeesWhatTheRealCLITakesFromAHome(t *testing.T) {
	o := realProbe(t)
	program := o.Agent.Path
	o.damage = leakyHome(t, o.Isolation.UID)
	through(t, &o, program, func(*poison) string { return without("--setting-sources=", "--strict-mcp-config") })
	rows := probed(t, o)
	for _, name := range append(usersOwn(), "session") {
		if rows[name].Health != HealthBad {
			t.Errorf("%s: not seen: %s", name, rows[name].Detail)
		}
	}
	// What it puts before the model by itself, of the places that have such.
	for _, name := range []string{"user's instructions", "user's hooks", "user's commands"} {
		if d := rows[name].Detail; strings.Contains(d, " 0 of them before its first answer") {
			t.Errorf("%s: the CLI reads none of what is laid there: %s", name, d)
		}
	}
}
