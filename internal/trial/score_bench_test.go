package trial

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"loopd/harness"
	"loopd/harness/transcript"
	"loopd/internal/testenv"
)

// longSession is a session of about 5 MB in the usual mixture: a few kilobytes
// of source printed by each call, short texts between, the records read late.
func longSession(tb testing.TB) []byte {
	tb.Helper()
	code := strings.Repeat("  def pause(tide, hour: \"night\")\n\treturn \"#{tide * 12} s\" if hour == \"night\"\n  end\n", 45)
	quoted, err := json.Marshal(code)
	testenv.Must(tb, err)
	var text strings.Builder
	text.WriteString("hook\ninit\n")
	for i := range 560 {
		fmt.Fprintf(&text, "text: Now I look at part %d of the gauge.\nbash: (cd lib && sed -n '%d,+40p' part%d.rb | grep -v '^#')\noutput: %s\n", i, i, i, quoted)
		// The real CLI says what a tool printed twice.
		fmt.Fprintf(&text, "{\"type\":\"system\",\"subtype\":\"status\",\"tool_use_result\":{\"stdout\":%s}}\n", quoted)
	}
	text.WriteString("bash: cat docs/adr/0003-*.md\ntext: The steady pause goes against ADR-0003, so I stopped.\nresult\n")
	lines, err := expand(usualProject, text.String())
	testenv.Must(tb, err)
	return lines
}

// scored reads and scores a stored session as loopd scenario score does.
func scored(ctx context.Context, dir string, suite harness.Suite, sc harness.Scenario, start harness.Tree) (harness.Class, harness.Outcome, error) {
	stored, err := ReadStored(ctx, dir, start)
	if err != nil {
		return "", "", err
	}
	if line := contaminated(SealedTexts(suite), stored.Transcript); line > 0 {
		return harness.Contaminated, "", nil
	}
	class, _, result := stored.Score(ctx, suite, sc, start, nil)
	return class, result.Outcome, nil
}

// BenchmarkScore is a session of 5 MB with the project it left: from disk to a
// result.
func BenchmarkScore(b *testing.B) {
	suite := conformanceSuite(b)
	sc, _ := suite.Scenario("cite")
	start, err := StartOf(suite, sc, nil)
	testenv.Must(b, err)
	for i := range 400 {
		start[fmt.Sprintf("lib/part%d.rb", i)] = harness.File{Mode: 0o644, Data: bytes.Repeat([]byte("# tide\n"), 500)}
	}
	dir, lines := b.TempDir(), longSession(b)
	for name, f := range start {
		at := filepath.Join(dir, name)
		testenv.Must(b, os.MkdirAll(filepath.Dir(at), 0o755))
		testenv.Must(b, os.WriteFile(at, f.Data, f.Mode))
	}
	testenv.Must(b, os.WriteFile(filepath.Join(dir, TranscriptFile), lines, 0o600))
	b.SetBytes(int64(len(lines)))
	b.ReportAllocs()
	for b.Loop() {
		class, outcome, err := scored(b.Context(), dir, suite, sc, start)
		if err != nil || class != harness.Valid || outcome != harness.Pass {
			b.Fatal(class, outcome, err)
		}
	}
}

// BenchmarkContaminated looks for sealed texts in all that a session was shown.
func BenchmarkContaminated(b *testing.B) {
	tr, err := transcript.Parse(bytes.NewReader(longSession(b)), transcript.Limits{})
	testenv.Must(b, err)
	sealed := SealedTexts(conformanceSuite(b))
	for b.Loop() {
		if contaminated(sealed, tr) > 0 {
			b.Fatal("contaminated")
		}
	}
}
