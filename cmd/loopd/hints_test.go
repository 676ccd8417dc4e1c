package main

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"loopd/internal/app"
	"loopd/internal/hint"
	"loopd/internal/testenv"
)

// instead of no argument at all these verbs are given something wrong: by
// themselves they would run for minutes, or succeed.
var instead = map[string]string{
	"loopd rehearse": "--agent robot", "loopd selftest": "--suite tides", "loopd plan": "--simulate --checks 99",
	"loopd doctor": "--judge",
}

// TestVerbs_HintsAndExits gives every verb an unknown flag, too many arguments and,
// in a directory without a plugin, nothing. The exit code and the hint of the last
// are in testdata/hints.txt: none may get lost.
func TestVerbs_HintsAndExits(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	call := func(args ...string) (code int, hinted, said string) {
		var out, talk bytes.Buffer
		e := env{
			Env:   app.Env{Dir: dir, Environ: []string{"HOME=" + dir, "XDG_STATE_HOME=" + dir + "/state", "PATH=/nowhere"}, Warn: &talk},
			stdin: strings.NewReader(""), stdout: &out, stderr: &talk,
		}
		code = run(t.Context(), e, args)
		for line := range strings.Lines(talk.String()) {
			if rest, ok := strings.CutPrefix(line, "loopd: hint: "); ok {
				hinted = strings.TrimSpace(rest)
			}
		}
		return code, hinted, talk.String()
	}
	var golden strings.Builder
	var look func(*cobra.Command)
	look = func(cmd *cobra.Command) {
		path := strings.Fields(cmd.CommandPath())[1:]
		name := cmd.CommandPath()
		for _, c := range cmd.Commands() {
			look(c)
		}
		if code, hinted, said := call(append(path, "--no-such-flag")...); !cmd.DisableFlagParsing && (code != hint.Usage || hinted != name+" --help") {
			t.Errorf("%s --no-such-flag: got exit %d and hint %q: %s", name, code, hinted, said)
		}
		if code, hinted, said := call(append(path, "a", "b", "c", "d", "e")...); code != hint.Usage || !strings.HasPrefix(hinted, "loopd ") {
			t.Errorf("%s with five arguments: got exit %d and hint %q: %s", name, code, hinted, said)
		}
		if !cmd.Runnable() || name == "loopd" || name == "loopd man" {
			return
		}
		code, hinted, said := call(append(path, strings.Fields(instead[name])...)...)
		if code != hint.Done && said == "" {
			t.Errorf("%s: exit %d without a word", name, code)
		}
		fmt.Fprintf(&golden, "%-28s %d %s\n", strings.TrimSpace(name+" "+instead[name]), code, hinted)
	}
	look(newRoot(env{Env: app.Env{Dir: dir}}))
	testenv.Golden(t, "testdata/hints.txt", []byte(strings.ReplaceAll(golden.String(), dir, "DIR")))
}

// TestMovedTo_Arguments keeps the arguments of an old verb, unless one of them is a flag
// that is no longer there.
func TestMovedTo_Arguments(t *testing.T) {
	t.Parallel()
	for old, want := range map[string]string{
		"graph check g.json --json":          "loopd freeze graph check g.json --json",
		"graph check g.json --from a --to b": "loopd freeze graph check --help",
		"simulate --checks 3 --seed 2":       "loopd plan --simulate --checks 3 --seed 2",
		"simulate --tables":                  "loopd plan --help",
		"rescore --campaign x":               "loopd verify rescore --help",
		"capture . --out a b.json":           "loopd eval capture . --out a b.json",
		"cell --help":                        "loopd scenario run --help",
	} {
		root := newRoot(env{Env: app.Env{Dir: t.TempDir()}, stdout: &bytes.Buffer{}, stderr: &bytes.Buffer{}})
		root.SetArgs(strings.Fields(old))
		err := root.ExecuteContext(t.Context())
		if got := hint.Of(err); got != want || hint.ExitOf(err) != hint.Usage {
			t.Errorf("loopd %s: got exit %d and hint %q, want %q", old, hint.ExitOf(err), got, want)
		}
	}
}
