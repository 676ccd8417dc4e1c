package setup

import (
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// missing are the ways a program says what it could not find. The first group
// is the name.
func missing() []*regexp.Regexp {
	return []*regexp.Regexp{
		regexp.MustCompile(`error while loading shared libraries: ([^\s:]+):`),
		regexp.MustCompile(`(?m): ([^\s:]+): bad interpreter: `),
		regexp.MustCompile(`(?m)env: [‘'"]?([^’'":\n]+)[’'"]?: (?:No such file or directory|Permission denied)`),
		regexp.MustCompile(`(?m)([^\s:]+): (?:command not found|not found)\s*$`),
		regexp.MustCompile(`(?m): ([^\s:]+): (?:cannot execute: required file not found|Permission denied)\s*$`),
	}
}

// MissingProgram is the name of what a command that ended with that code could not find:
// a command, an interpreter or a library; empty where it does not say.
func MissingProgram(code int, stderr string) string {
	if code == 0 {
		return ""
	}
	for _, p := range missing() {
		if m := p.FindStringSubmatch(stderr); m != nil {
			return m[1]
		}
	}
	return ""
}

// ReadFor lists the directories that sessions must be let read so that they can
// run a program which lies at that path, and at real behind its links. A
// version manager in a home directory is shown whole; elsewhere it is what
// holds the program's bin directory.
func ReadFor(path, real, home string) []string {
	var out []string
	for _, p := range []string{path, real} {
		if dir := toolchain(p, home); dir != "" && !slices.Contains(out, dir) {
			out = append(out, dir)
		}
	}
	return out
}

// shared are directories of a home that hold far more than a toolchain.
func shared() []string { return []string{".local", ".config", ".cache", ".ssh", ".claude"} }

func toolchain(path, home string) string {
	if !filepath.IsAbs(path) || slices.ContainsFunc([]string{"/usr/", "/bin/", "/sbin/", "/lib"}, func(top string) bool { return strings.HasPrefix(path, top) }) {
		return ""
	}
	if rest, inHome := strings.CutPrefix(path, strings.TrimSuffix(home, "/")+"/"); inHome && home != "" {
		first, _, deeper := strings.Cut(rest, "/")
		if deeper && strings.HasPrefix(first, ".") && !slices.Contains(shared(), first) {
			return filepath.Join(home, first)
		}
	}
	dir := filepath.Dir(path)
	if up := filepath.Dir(dir); filepath.Base(dir) == "bin" && up != "/" && up != filepath.Clean(home) && !slices.Contains(shared(), filepath.Base(up)) {
		return up
	}
	return dir
}

// ReadLine is the line of loopd.yaml that lets sessions read those directories
// too, beside what they may read already.
func ReadLine(already, more []string) string {
	all := slices.Concat(already, more)
	slices.Sort(all)
	return "in loopd.yaml: isolation: {read: [" + strings.Join(slices.Compact(all), ", ") + "]}"
}
