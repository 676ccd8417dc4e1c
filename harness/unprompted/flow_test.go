package unprompted

import (
	"slices"
	"testing"
)

func TestWhatCertainlyDidNotRunIsNotRead(t *testing.T) {
	t.Parallel()
	for command, read := range map[string]bool{
		"if false; then cat docs/adr/x; fi":                 false,
		"if true; then :; else cat docs/adr/x; fi":          false,
		"if [ -d lib ]; then cat docs/adr/x; fi":            true,
		"[ 1 = 2 ] && cat docs/adr/x":                       false,
		"exit 0; cat docs/adr/x":                            false,
		"(exit 0); cat docs/adr/x":                          true,
		"[ -d lib ] || exit 1; cat docs/adr/x":              true,
		"false && cat docs/adr/x":                           false,
		"false || cat docs/adr/x":                           true,
		"! true && cat docs/adr/x":                          false,
		"set -e; false; cat docs/adr/x":                     false,
		"set -e; false || true; cat docs/adr/x":             true,
		"false; cat docs/adr/x":                             true,
		"for f in; do cat docs/adr/x; done":                 false,
		"for f in a; do break; done; cat docs/adr/x":        true,
		"while true; do break; cat docs/adr/x; done":        false,
		"f() { return; cat docs/adr/x; }; f":                false,
		"f() { return; }; f; cat docs/adr/x":                true,
		"case a in b) cat docs/adr/x;; esac":                false,
		"case $(x) in b) cat docs/adr/x;; esac":             true,
		"exec true; cat docs/adr/x":                         false,
		"bash -n -c 'cat docs/adr/x'":                       false,
		"ls -I docs/adr":                                    false,
		"until cat docs/adr/x; do sleep 1; done":            true,
		"for f in $(x); do exit; done; cat docs/adr/x":      true,
		"true & exit & cat docs/adr/x":                      true,
		"echo x | while read -r l; do cat docs/adr/x; done": true,
	} {
		got := slices.Contains(readShell(command, "/p", "/p").paths, "docs/adr/x") || slices.Contains(readShell(command, "/p", "/p").paths, "docs/adr")
		if got != read {
			t.Errorf("%s: read %v, want %v", command, got, read)
		}
	}
}
