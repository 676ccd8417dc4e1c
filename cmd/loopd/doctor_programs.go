package main

import (
	"context"
	"fmt"
	"maps"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"loopd/harness"
	"loopd/internal/app"
	"loopd/internal/campaign"
	"loopd/internal/config"
	"loopd/internal/hint"
	"loopd/internal/setup"
	"loopd/internal/trial"
)

// rungRows say of each rung that was tried whether it stands, and why not.
func rungRows(g app.Isolation) []setup.Row {
	var out []setup.Row
	for _, t := range g.Tried {
		row := setup.Row{Name: "rung " + string(t.Backend), Health: setup.HealthOK, Detail: "stands"}
		if t.Err != nil {
			row.Health, row.Detail, row.Fix = setup.HealthWarning, t.Err.Error(), hint.Of(t.Err)
		}
		out = append(out, row)
	}
	return out
}

// programRows run the plugin's hook in a fresh copy of each fixture and each of
// its programs, as a session would have them, and name what they lack. Where
// suite or plugin cannot be read, other rows say so.
func programRows(ctx context.Context, e env, cfg config.Config, g app.Isolation) []setup.Row {
	home, err := app.HomeOf(e.Env, cfg)
	if err != nil {
		return nil
	}
	sealed, err := openSuite(ctx, home, cfg)
	if err != nil {
		return nil
	}
	_, wording, err := campaign.PluginAt(cfg.Plugin, sealed, ownSuite)
	if err != nil {
		return nil
	}
	t := tryout{
		env: e, cfg: cfg, plugin: wording.Plugin,
		outfit: trial.CommandEnv{
			Plugin: wording.Plugin, PluginName: sealed.Suite.Checker.Plugin, Path: e.Getenv("PATH"), Isolation: g.Sandbox, Read: cfg.Read,
			Hidden: app.HiddenFrom(home, cfg), UID: g.UID, GID: g.UID,
		},
	}
	return t.rows(ctx, sealed.Suite)
}

// tryout runs commands of a plugin.
type tryout struct {
	env    env
	cfg    config.Config
	plugin harness.Tree
	outfit trial.CommandEnv
}

func (t tryout) rows(ctx context.Context, s harness.Suite) []setup.Row {
	if err := app.CheckRead(t.env.Env, t.cfg); err != nil {
		return []setup.Row{{Name: "readable", Health: setup.HealthBad, Detail: err.Error(), Fix: "loopd config"}}
	}
	hooks, err := trial.HookCommands(t.plugin)
	if err != nil {
		return []setup.Row{{Name: "hook", Health: setup.HealthBad, Detail: err.Error(), Fix: "loopd doctor"}}
	}
	var out []setup.Row
	for _, fixture := range slices.Sorted(maps.Keys(s.Fixtures)) {
		t.outfit.Project = s.Fixtures[fixture]
		for _, command := range hooks {
			out = append(out, t.row(ctx, "hook in "+fixture, command, setup.HealthBad))
		}
	}
	for _, name := range trial.Programs(t.plugin) {
		out = append(out, t.row(ctx, "program "+name, name+" --help", setup.HealthWarning))
	}
	return out
}

// row runs one command. A command that lacks something is bad: every session
// would lack it. One that merely does not end with 0 is as bad as that says.
func (t tryout) row(ctx context.Context, name, command string, failed setup.Health) setup.Row {
	got, err := trial.RunCommand(ctx, t.outfit, command)
	if err != nil {
		return setup.Row{Name: name, Health: setup.HealthBad, Detail: err.Error(), Fix: "loopd doctor"}
	}
	if got.Cause != "" {
		return setup.Row{Name: name, Health: setup.HealthBad, Detail: "did not end: " + string(got.Cause), Fix: command}
	}
	if got.Code == 0 {
		return setup.Row{Name: name, Health: setup.HealthOK, Detail: "exit code 0"}
	}
	row := setup.Row{Name: name, Health: failed, Detail: fmt.Sprintf("exit code %d%s", got.Code, saidLast(got.Stderr)), Fix: command}
	if lack := t.lack(got); lack != "" {
		row.Health, row.Detail, row.Fix = setup.HealthBad, fmt.Sprintf("exit code %d: %s is not to be found in a session", got.Code, lack), t.remedy(lack)
	}
	return row
}

// lack names what is missing. Of a script whose interpreter is missing the shell
// says that the script is.
func (t tryout) lack(got trial.CommandResult) string {
	name := setup.MissingProgram(got.Code, got.Stderr)
	for _, dir := range []string{"bin", "hooks"} {
		if f, own := t.plugin[dir+"/"+filepath.Base(name)]; own {
			if by := trial.Interpreter(f.Data); by != "" {
				return by
			}
		}
	}
	return name
}

// remedy is the line that lets sessions have a program of the user's, or where
// there is none what to install.
func (t tryout) remedy(name string) string {
	found, err := lookPath(t.env, name)
	if err != nil {
		return "install " + filepath.Base(name) + " where every user can run it, such as below /usr/local"
	}
	real, err := filepath.EvalSymlinks(found)
	if err != nil {
		real = found
	}
	if dirs := setup.ReadFor(found, real, t.env.Getenv("HOME")); len(dirs) > 0 {
		return setup.ReadLine(t.cfg.Read, dirs)
	}
	return "ls -l " + found
}

// lookPath finds a program on the PATH that sessions are given.
func lookPath(e env, name string) (string, error) {
	if filepath.IsAbs(name) {
		return exec.LookPath(name)
	}
	for _, dir := range filepath.SplitList(e.Getenv("PATH")) {
		if filepath.IsAbs(dir) {
			if found, err := exec.LookPath(filepath.Join(dir, name)); err == nil {
				return found, nil
			}
		}
	}
	return "", exec.ErrNotFound
}

func saidLast(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	if last := lines[len(lines)-1]; last != "" {
		return ": " + last
	}
	return ""
}
