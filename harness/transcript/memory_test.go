package transcript

import (
	"io"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"strings"
	"testing"

	"loopd/harness"
	"loopd/internal/testenv"
)

// mostMemory is what reading a stream may need at any time, in bytes, however
// long the stream and its lines are.
const mostMemory = 100 << 20

// endless is a stream that is made while it is read: parts one after the
// other, each repeated until it has given its bytes. It looks at the heap
// whenever it is read from.
type endless struct {
	parts []part
	rest  string // of the text being given
	given int64
	peak  uint64
}

type part struct {
	text  string
	bytes int64
}

// Read gives the next bytes.
func (e *endless) Read(p []byte) (int, error) {
	sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	metrics.Read(sample)
	e.peak = max(e.peak, sample[0].Value.Uint64())
	n := 0
	for n < len(p) && len(e.parts) > 0 {
		if e.rest == "" {
			if e.parts[0].bytes <= 0 {
				e.parts = e.parts[1:]
				continue
			}
			e.rest = e.parts[0].text
			e.parts[0].bytes -= int64(len(e.rest))
		}
		k := copy(p[n:], e.rest)
		n, e.rest = n+k, e.rest[k:]
	}
	e.given += int64(n)
	if n == 0 {
		return 0, io.EOF
	}
	return n, nil
}

// A session that prints without end costs a bounded amount of memory, and what
// was not read is never taken for what was not there. In a nightly run
// the streams have 900 MB and more, and their one long line 100 MB.
func TestMemoryOfAnEndlessStream(t *testing.T) {
	total, long := int64(100<<20), int64(40<<20)
	if testenv.Nightly() {
		total, long = 900<<20, 100<<20
	}
	short, whole := strings.Repeat("x", 2000), part{strings.Repeat("y", 1<<20), 16 << 20}
	other := part{`{"type":"stream_event","event":"` + short + "\"}\n", total}
	said := part{`{"type":"assistant","message":{"id":"m","content":"` + short + "\"}}\n", total}
	line := []part{{`{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"a","content":"`, 1}, {short, long}, {"\"}]}}\n", 1}}
	unended := part{short, total}
	for name, parts := range map[string][]part{
		"long line at the end":       append([]part{other}, line...),
		"long line at the beginning": append(append([]part{}, line...), other),
		"long line among texts":      append(append([]part{said}, line...), said),
		"a long line that is whole":  {{said.text, 3 << 20}, {`{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"a","content":"`, 1}, whole, {"\"}]}}\n", 1}, other},
		"one line and no end":        {unended},
		"one object and no end":      {{"{", 1}, unended},
		"noise":                      append([]part{{short + "\n", total}}, line...),
		"types by the million":       append([]part{{`{"type":"` + short + "\"}\n", total}}, line...),
	} {
		t.Run(name, func(t *testing.T) {
			// Not parallel, and on an empty heap: the peak is to be this stream's.
			runtime.GC()
			debug.FreeOSMemory()
			e := &endless{parts: parts}
			tr, err := Parse(e, Limits{})
			testenv.Must(t, err)
			want := harness.Oversize
			if name == "a long line that is whole" {
				want = harness.NoInit // read to the end, and no session
			}
			if j := Validity(tr, Want{}, External{}); j.Class != want {
				t.Errorf("got %s (%s) after %d MB, want %s", j.Class, j.Why, e.given>>20, want)
			}
			if e.peak > mostMemory {
				t.Errorf("the heap had %d MB, want at most %d", e.peak>>20, mostMemory>>20)
			}
			t.Logf("%d MB read, heap at most %d MB", e.given>>20, e.peak>>20)
		})
	}
}
