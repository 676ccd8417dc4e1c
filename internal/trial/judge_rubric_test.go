package trial_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"loopd/internal/agent"
	"loopd/internal/isolate"
	"loopd/internal/testenv"
)

// looksForRubric is a judge that says YES when it finds the rubric in a file
// that only its own user can read, and in no command line; else NO.
const looksForRubric = `#!/bin/sh
cat > /dev/null
file= before=
for a in "$@"; do
	[ "$before" = --system-prompt-file ] && file=$a
	before=$a
done
answer=YES
[ -O "$file" ] && [ "$(stat -c %a "$file")" = 600 ] && [ "$(head -n 1 "$file")" = 'You are a strict judge.' ] || answer=NO
grep -qsF -f "$file" /proc/[0-9]*/cmdline /proc/[0-9]*/environ && answer=NO
printf '{"type":"result","subtype":"success","is_error":false,"result":"%s"}\n' "$answer"
`

// TestCLIJudge_RubricIsNoArgument holds for a judge with walls and without.
func TestCLIJudge_RubricIsNoArgument(t *testing.T) {
	t.Parallel()
	path := filepath.Join(testenv.OpenDir(t), "claude")
	testenv.Must(t, os.WriteFile(path, []byte(looksForRubric), 0o755))
	for _, rung := range []isolate.Backend{isolate.None, isolate.Landlock, isolate.Bwrap} {
		t.Run(string(rung), func(t *testing.T) {
			t.Parallel()
			j, o := cliJudge(t, &oneAnswer{}, agent.Binary{Path: path}, rungWalls(t, rung, nobody()))
			r, err := j.Judge(t.Context(), question())
			wantAnswer(t, r.Yes, err, "YES")
			if want := sha([]byte(o.Suite.Rubric)); r.Rubric != want || !strings.Contains(r.Text, `"result":"YES"`) { // case F4
				t.Errorf("got rubric %s and reply %q, want %s", r.Rubric, r.Text, want)
			}
		})
	}
}
