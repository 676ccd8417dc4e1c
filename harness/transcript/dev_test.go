package transcript

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestDev(t *testing.T) {
	files, _ := filepath.Glob("/work/shared/samples/claude-cli-2.1.332/*/transcript.jsonl")
	more, _ := filepath.Glob("/work/shared/samples/corpus/transcripts/*.jsonl")
	for _, f := range append(files, more...) {
		r, err := os.Open(f)
		if err != nil {
			t.Fatal(err)
		}
		tr, err := Parse(r, Limits{})
		if err != nil {
			t.Fatal(err)
		}
		var ext External
		b, _ := os.ReadFile(filepath.Join(filepath.Dir(f), "exit.json"))
		fmt.Sscanf(string(b), `{"exit_code":%d`, &ext.ExitCode)
		ext.Killed = ext.ExitCode > 128
		j := Validity(tr, Want{}, ext)
		name := filepath.Base(filepath.Dir(f))
		if strings.Contains(f, "corpus") {
			name = filepath.Base(f)
		}
		fmt.Printf("%-42s exit %3d  %-20s %s  unknown=%v noise=%d calls=%d\n", name, ext.ExitCode, j.Class, j.Why, tr.Unknown, tr.Noise, len(tr.ToolUses()))
	}
}
