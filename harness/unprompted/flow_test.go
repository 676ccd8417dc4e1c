package unprompted

import (
	"slices"
	"testing"

	"loopd/internal/testenv"
)

func TestWhatCertainlyDidNotRunIsNotRead(t *testing.T) {
	t.Parallel()
	for _, row := range testenv.Table(t, "testdata/flow.txt") {
		command, read := row[1], row[0] == "runs"
		got := slices.Contains(readShell(command, "/p", "/p").paths, "docs/adr/x") || slices.Contains(readShell(command, "/p", "/p").paths, "docs/adr")
		if got != read {
			t.Errorf("%s: read %v, want %v", command, got, read)
		}
	}
}
