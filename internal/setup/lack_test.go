package setup

import (
	"slices"
	"testing"
)

func TestLack(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		code         int
		stderr, want string
	}{
		{0, "sh: 1: ruby: not found\n", ""},
		{127, "/bin/sh: 1: ruby: not found\n", "ruby"},
		{127, "claude: line 1: ruby: command not found\n", "ruby"},
		{127, "/usr/bin/env: 'node': No such file or directory\n", "node"},
		{127, "/usr/bin/env: ‘node’: No such file or directory\n", "node"},
		{127, "env: node: No such file or directory\n", "node"},
		{126, "/usr/bin/env: 'node': Permission denied\n", "node"},
		{126, "sh: line 1: /b/adr: /home/u/.rbenv/ruby: bad interpreter: No such file or directory\n", "/home/u/.rbenv/ruby"},
		{127, "/opt/x/tool: error while loading shared libraries: libyaml-0.so.2: cannot open shared object file: No such file or directory\n", "libyaml-0.so.2"},
		{126, "sh: 1: adr-find: Permission denied\n", "adr-find"},
		{127, "sh: line 1: adr-find: cannot execute: required file not found\n", "adr-find"},
		{1, "usage: adr-find TEXT\n", ""},
		{2, "no record not found here: see docs\n", ""},
	} {
		if got := MissingProgram(tt.code, tt.stderr); got != tt.want {
			t.Errorf("%d %q: got %q, want %q", tt.code, tt.stderr, got, tt.want)
		}
	}
}

func TestReadFor(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		path, real string
		want       []string
	}{
		{"/home/u/.rbenv/shims/ruby", "/home/u/.rbenv/shims/ruby", []string{"/home/u/.rbenv"}},
		{"/home/u/.nvm/versions/node/v22/bin/node", "/data/node/bin/node", []string{"/home/u/.nvm", "/data/node"}},
		{"/home/u/.local/bin/uv", "/home/u/.local/bin/uv", []string{"/home/u/.local/bin"}},
		{"/home/u/bin/tool", "/home/u/bin/tool", []string{"/home/u/bin"}},
		{"/home/u/go/bin/tool", "/home/u/go/bin/tool", []string{"/home/u/go"}},
		{"/opt/ruby/bin/ruby", "/opt/ruby/bin/ruby", []string{"/opt/ruby"}},
		{"/opt/tool", "/opt/tool", []string{"/opt"}},
		{"/usr/bin/ruby", "/usr/bin/ruby3.1", nil},
		{"ruby", "ruby", nil},
	} {
		if got := ReadFor(tt.path, tt.real, "/home/u"); !slices.Equal(got, tt.want) {
			t.Errorf("%s: got %q, want %q", tt.path, got, tt.want)
		}
	}
	if got, want := ReadLine([]string{"/opt/b", "/opt/a"}, []string{"/opt/c", "/opt/a"}), "in loopd.yaml: isolation: {read: [/opt/a, /opt/b, /opt/c]}"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
