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
	"loopd doctor": "--judge", "loopd rehearse night": "",
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
