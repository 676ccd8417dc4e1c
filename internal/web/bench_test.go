package web

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"loopd/internal/campaign"
	"loopd/internal/testenv"
	"loopd/internal/trial"
)

// firstBar is how many bytes the first page may be, with all it is drawn with. The
// other bars are of time and so looked at by a person: a page within 100 ms nineteen
// times in twenty, the page of a session of 20 MB within 500 ms and 100 MB.
const firstBar = 150 << 10

// BenchmarkPages asks for every kind of page of a large state directory and says
// how long the slowest of them takes nineteen times in twenty.
func BenchmarkPages(b *testing.B) {
	dir := b.TempDir()
	n := fabricate(b, dir, plan{candidates: 200, budget: 36_000, pool: 850, rich: 300})
	if got := len(n.state.Trials); got < 20_000 || len(n.state.Progress) < 200 {
		b.Fatalf("%d trials, %d candidates", got, len(n.state.Progress))
	}
	s := openSite(b, optionsFor(b, dir))
	began := time.Now()
	s.want("/")
	b.Logf("read from the ledger at the first look: %v", time.Since(began).Round(time.Millisecond))
	candidate := candidatePath(n.state.Started.Campaign, n.state.Kept[0])
	pages := []struct{ name, path string }{
		{"campaign", "/"}, {"candidate", candidate}, {"campaign-anew", "/"}, {"candidate-anew", candidate}, {"session", "/trial/" + n.state.Trials[5].ID},
		{"queue", "/queue"}, {"frozen", "/frozen"}, {"settings", "/settings"}, {"now", "/now"}, {"metrics", "/metrics"}, {"confirm", "/confirm/halt"},
	}
	if m := regexp.MustCompile(`"(/pair/[^"]*)"`).FindStringSubmatch(s.want(candidate)); m != nil {
		pages = append(pages, struct{ name, path string }{"pair", m[1]})
	} else {
		b.Error("the candidate's page names no pair")
	}
	for _, p := range pages {
		b.Run(p.name, func(b *testing.B) {
			var took []time.Duration
			size := 0
			for b.Loop() {
				if strings.HasSuffix(p.name, "-anew") {
					clear(s.s.store.built) // as after an event
				}
				at := time.Now()
				size = len(s.want(p.path))
				took = append(took, time.Since(at))
			}
			slices.Sort(took)
			b.ReportMetric(float64(took[len(took)*95/100].Microseconds())/1000, "p95-ms")
			b.ReportMetric(float64(size), "B/page")
		})
	}
	b.Logf("the first load is %d bytes", firstLoad(b, s))
}

// firstLoad is how many bytes a browser gets for the first page.
func firstLoad(tb testing.TB, s site) int {
	tb.Helper()
	r := s.request(http.MethodGet, "/", "")
	r.Header.Set("Accept-Encoding", "gzip")
	code, body := s.ask(r)
	if code != http.StatusOK || strings.Contains(body, "<html") {
		tb.Fatalf("%d, and not packed", code)
	}
	return len(body) + drawnWith(tb)
}

// drawnWith is the size of what every page loads.
func drawnWith(tb testing.TB) int {
	tb.Helper()
	sum := 0
	for _, name := range []string{"loopd.css", "htmx.min.js", "hx-sse.min.js", "icon.svg"} {
		info, err := os.Stat(filepath.Join("static", name))
		testenv.Must(tb, err)
		sum += int(info.Size())
	}
	return sum
}

// BenchmarkLargeTranscript asks for the first page of a session of 20 MB.
func BenchmarkLargeTranscript(b *testing.B) {
	dir := b.TempDir()
	n := fabricate(b, dir, plan{candidates: 1, budget: 200, rich: 1})
	id := n.state.Trials[0].ID
	largeTranscript(b, filepath.Join(campaign.Home{Dir: dir}.Trials(), id, trial.TranscriptFile))
	s := openSite(b, optionsFor(b, dir))
	s.want("/")
	var peak uint64
	for b.Loop() {
		stop := make(chan struct{})
		found := make(chan uint64)
		go func() { found <- peakHeap(stop) }()
		s.want("/trial/" + id)
		close(stop)
		peak = max(peak, <-found)
	}
	b.ReportMetric(float64(peak)/(1<<20), "MB-heap")
	b.ReportMetric(float64(len(s.want("/trial/"+id))), "B/page")
}

// largeTranscript writes a session of 20 MB, of lines as sessions have them.
func largeTranscript(tb testing.TB, path string) {
	tb.Helper()
	lines := []any{map[string]any{"type": "system", "subtype": "init", "cwd": "/tmp/abcdefgh/project", "session_id": "s", "model": "m"}}
	word := make([]byte, 2000)
	for i := range word {
		word[i] = "abcdefghij klmn\n"[i%16]
	}
	for i := range 4700 {
		id := fmt.Sprintf("toolu_%05d", i)
		lines = append(lines, assistant("tool_use", "id", id, "name", "Bash", "input", map[string]string{"command": "cat " + string(word)}), result(id, string(word), i%7 == 0))
	}
	data := jsonLines(tb, lines)
	if len(data) < 20<<20 {
		tb.Fatalf("%d bytes", len(data))
	}
	testenv.Write(tb, path, string(data))
}

// peakHeap is the most bytes of the heap that were in use until stop is closed.
func peakHeap(stop <-chan struct{}) uint64 {
	var most uint64
	var m runtime.MemStats
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		runtime.ReadMemStats(&m)
		most = max(most, m.HeapInuse)
		select {
		case <-stop:
			return most
		case <-tick.C:
		}
	}
}

func TestFirstLoadIsSmall(t *testing.T) {
	t.Parallel()
	dir := privateDir(t)
	fabricate(t, dir, plan{candidates: 60, budget: 2500})
	if got := firstLoad(t, openSite(t, optionsFor(t, dir))); got > firstBar {
		t.Errorf("the first load is %d bytes, at most %d", got, firstBar)
	}
}
