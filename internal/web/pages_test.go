package web

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"loopd/harness"
	"loopd/internal/campaign"
	"loopd/internal/daemon"
	"loopd/internal/testenv"
	"loopd/internal/trial"
	"loopd/loop"
)

func TestEveryPageIsThere(t *testing.T) {
	t.Parallel()
	dir := privateDir(t)
	n := fabricate(t, dir, plan{candidates: 20, budget: 1500, rich: 60})
	if len(n.state.Trials) < 1000 || len(n.state.Progress) != 20 {
		t.Fatalf("%d trials and %d candidates", len(n.state.Trials), len(n.state.Progress))
	}
	s := openSite(t, optionsFor(t, dir))
	pages := s.crawl(map[string]int{"trial": 80, "raw": 12, "pair": 20})
	seen := make(map[string]int)
	for path, body := range pages {
		kind := strings.Split(path, "/")[1]
		if strings.Contains(path, "/candidate/") {
			kind = "candidate"
		}
		seen[kind]++
		if text := plainText(body); strings.Contains(text, "%!") || strings.Contains(text, "<nil>") || strings.Contains(text, "0xc0") {
			t.Errorf("%s shows a value as programs see it:\n%s", path, text)
		}
	}
	for kind, least := range map[string]int{"": 1, "campaign": 1, "candidate": 20, "trial": 80, "pair": 20, "frozen": 1, "queue": 1, "settings": 1} {
		if seen[kind] < least {
			t.Errorf("%d pages of %q, want %d", seen[kind], kind, least)
		}
	}
	if code, body := s.get("/trial/no-such"); code != http.StatusNotFound || !strings.Contains(plainText(body), "there is no trial no-such") {
		t.Errorf("a trial that is not there: %d %s", code, plainText(body))
	}
	for _, path := range []string{"/healthz", "/metrics"} {
		s.want(path)
	}
	if body := s.want("/metrics"); !strings.Contains(body, fmt.Sprintf("loopd_sessions_used %d\n", len(n.state.Trials))) || strings.Contains(body, candidateID(1)) {
		t.Errorf("metrics:\n%s", body)
	}
}

func TestTheSealIsShown(t *testing.T) {
	t.Parallel()
	dir := privateDir(t)
	o := sealed(t, optionsFor(t, dir))
	s := openSite(t, o)
	if text := plainText(s.want("/frozen")); !strings.Contains(text, "The seal holds") || !strings.Contains(text, "scenarios/W1.md") {
		t.Errorf("a seal that holds:\n%s", text)
	}
	file := filepath.Join(o.SealedDir, "scenarios", "W1.md")
	data, err := os.ReadFile(file)
	testenv.Must(t, err)
	testenv.Must(t, os.WriteFile(file, append(data, '\n'), 0o644))
	if text := plainText(s.want("/frozen")); !strings.Contains(text, "The seal does not match") || !strings.Contains(text, "loopd freeze --reason") || strings.Contains(text, "The seal holds") {
		t.Errorf("a seal that does not:\n%s", text)
	}
}

// sealed lays out and seals the bundled suite in a state directory.
func sealed(t *testing.T, o Options) Options {
	t.Helper()
	suite, err := campaign.Home{Dir: o.Dir}.OpenBundled(t.Context())
	testenv.Must(t, err)
	o.SealedDir = suite.Dir
	return o
}

func TestACheckLeadsToItsLine(t *testing.T) {
	t.Parallel()
	dir := privateDir(t)
	n := fabricate(t, dir, plan{candidates: 1, budget: 200, rich: 1})
	id := n.state.Trials[0].ID
	s := openSite(t, optionsFor(t, dir))
	body := s.want("/trial/" + id)
	for _, want := range []string{`href="#L4"`, `id="L4"`, `href="#L8"`, `id="L8"`, `id="L5"`, "near miss"} {
		if !strings.Contains(body, want) {
			t.Errorf("no %s on\n%s", want, body)
		}
	}
	lines := make([]any, 0, 900)
	for i := range 900 {
		lines = append(lines, assistant("text", "text", fmt.Sprintf("thought %d", i+1)))
	}
	testenv.Write(t, filepath.Join(dir, "trials", id, trial.TranscriptFile), string(jsonLines(t, lines)))
	if body = s.want("/trial/" + id); !strings.Contains(body, "Part 1 of 5") || strings.Contains(body, `id="L700"`) {
		t.Errorf("the first part of five:\n%s", plainText(body))
	}
	if body = s.want("/trial/" + id + "?line=700"); !strings.Contains(body, `id="L700"`) || !strings.Contains(body, "Part 4 of 5") || !strings.Contains(body, `href="?line=4#L4"`) {
		t.Errorf("the part with line 700:\n%s", plainText(body))
	}
	for _, odd := range []string{"?page=99", "?page=-1", "?page=x", "?line=123456"} {
		s.want("/trial/" + id + odd)
	}
}

// Task text is what measures: it is on no page, in no file and in no export unless
// the server was told to reveal it.
func TestTasksAreMasked(t *testing.T) {
	t.Parallel()
	suite, err := campaign.ReadBundled(campaign.BundledSuite)
	testenv.Must(t, err)
	var tasks []harness.HeldOut
	for _, sc := range suite.Scenarios {
		if sc.Role != harness.Practice {
			tasks = append(tasks, sc.Task)
		}
	}
	sc, _ := suite.Scenario("W1")
	leak := sc.Task.Reveal()
	dir := privateDir(t)
	fabricate(t, dir, plan{candidates: 3, budget: 300, rich: 20, words: func(int) string { return "it was told: " + leak + "\n\tand so on" }})
	testenv.Write(t, filepath.Join(dir, "spool", "ab12.yaml"), fmt.Sprintf("rationale: %q\nfiles:\n  skills/find/SKILL.md: text\n", leak))
	runs := harness.NewRuns(tasks, maskWords)
	bounds := func() map[string]int { return map[string]int{"trial": 30, "raw": 30, "pair": 10} }
	found := 0
	s := openSite(t, optionsFor(t, dir))
	for path, body := range s.crawl(bounds()) {
		// As it is and with escapes undone: neither may show a task.
		for _, text := range []string{body, plainText(body), strings.NewReplacer(`\n`, " ", `\"`, `"`, `\t`, " ").Replace(body)} {
			if runs.In(text) {
				t.Errorf("%s shows a task", path)
				break
			}
		}
		if strings.Contains(body, heldOut) {
			found++
		}
	}
	if found < 20 {
		t.Errorf("%d pages show that something was masked", found)
	}
	page, err := File(t.Context(), optionsFor(t, dir), "")
	if err != nil || runs.In(string(page)) || runs.In(plainText(string(page))) {
		t.Errorf("the file shows a task (%v)", err)
	}
	open := optionsFor(t, dir)
	open.Reveal = true
	shown := 0
	for _, body := range openSite(t, open).crawl(bounds()) {
		if runs.In(plainText(body)) {
			shown++
		}
	}
	if shown < 20 {
		t.Errorf("%d pages show a task that was to be revealed", shown)
	}
	blind := optionsFor(t, dir)
	blind.Suite = func() (harness.Suite, error) { return harness.Suite{}, os.ErrNotExist }
	for path, body := range openSite(t, blind).crawl(bounds()) {
		if runs.In(plainText(body)) {
			t.Errorf("without a suite %s shows a task", path)
		}
	}
}

// oddCampaign is a state directory that is not as usual, and what is said of it.
type oddCampaign struct {
	name string
	plan *plan // nil for no ledger
	then func(t *testing.T, dir string, n *night)
	path string
	want []string
	not  []string
}

func oddCampaigns() []oddCampaign {
	long, odd := strings.Repeat("x", 300), "שלום עולם \u202e 👩\u200d🔬 \u200fمرحبا"
	return []oddCampaign{
		{name: "no ledger", path: "/", want: []string{"No campaign yet", "Not running"}},
		{name: "started and nothing more", plan: &plan{budget: 200, stop: 1}, path: "/", want: []string{"0 of 200 sessions", "No candidate yet", "Nothing measured yet", "not run"}},
		{name: "halted before the first trial", plan: &plan{budget: 200, stop: 1}, path: "/", then: func(t *testing.T, dir string, n *night) {
			n.plan.stop = 0
			n.must(t, n.apply(loop.Halted{Reason: "auth: the API refused the key", Class: harness.Auth}))
			n.events = n.events[1:]
			n.write(t, dir)
		}, want: []string{"alted", "the API refused the key", "0 of 200 sessions", "no gate has been run", "no session was invalid"}, not: []string{"2nd"}},
		{name: "all invalid", plan: &plan{candidates: 2, budget: 200, class: func(harness.Spec) harness.Class { return harness.NoResult }}, path: "/", want: []string{"no_result", "not run", "Kept nothing", "no evidence: 252 no_result; scenarios not run: R4; warnings: 1"}, not: []string{"0/0", "NaN"}},
		{name: "no transcript", plan: &plan{candidates: 1, budget: 200, rich: 1}, path: "trial", then: func(t *testing.T, dir string, n *night) {
			testenv.Must(t, os.Remove(filepath.Join(dir, "trials", n.state.Trials[0].ID, trial.TranscriptFile)))
		}, want: []string{"the transcript is gone", "axis a", "line 4"}},
		{name: "no files of the session", plan: &plan{candidates: 1, budget: 200}, path: "trial", want: []string{"nothing is kept of this session's folder"}},
		{name: "a transcript that was cut", plan: &plan{candidates: 1, budget: 200, rich: 1}, path: "trial", then: func(t *testing.T, dir string, n *night) {
			testenv.Write(t, filepath.Join(dir, "trials", n.state.Trials[0].ID, trial.TranscriptFile), `{"type":"system"}`+"\n"+`{"type":"assis`)
		}, want: []string{"It is not whole: line 2"}},
		{name: "no price reported", plan: &plan{candidates: 2, budget: 300, unpriced: true}, path: "/", want: []string{"sessions; cost not reported; profile"}, not: []string{"0.00 USD"}},
		{name: "a session without a price", plan: &plan{candidates: 1, budget: 200, unpriced: true}, path: "trial", want: []string{"List price not reported"}, not: []string{"0.00"}},
		{name: "a loopd that stopped", plan: &plan{candidates: 1, budget: 200}, path: "/", want: []string{"Not running since 2026-01-0"}},
		{name: "words from right to left, and pictures", plan: &plan{candidates: 2, budget: 300, words: func(int) string { return odd }}, path: "/", want: []string{odd}},
		{name: "very long words", plan: &plan{candidates: 2, budget: 300, words: func(int) string { return long }}, path: "/", want: []string{long}},
	}
}

// open lays it out and serves it; path is that of its page.
func (o oddCampaign) open(t *testing.T) (s site, path string) {
	t.Helper()
	dir := privateDir(t)
	path = o.path
	if o.plan != nil {
		n := fabricate(t, dir, *o.plan)
		if o.then != nil {
			o.then(t, dir, n)
		}
		if path == "trial" {
			path = "/trial/" + n.state.Trials[0].ID
		}
	}
	return openSite(t, optionsFor(t, dir)), path
}

func TestOddCampaigns(t *testing.T) {
	t.Parallel()
	for _, tt := range oddCampaigns() {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s, path := tt.open(t)
			text := plainText(s.want(path))
			for _, want := range tt.want {
				if !strings.Contains(text, want) {
					t.Errorf("no %q in:\n%s", want, text)
				}
			}
			for _, not := range tt.not {
				if strings.Contains(text, not) {
					t.Errorf("%q in:\n%s", not, text)
				}
			}
		})
	}
}

func TestAPortInUseNamesAFreeOne(t *testing.T) {
	t.Parallel()
	o := optionsFor(t, privateDir(t))
	first := openSite(t, o)
	var port int
	fmt.Sscan(first.s.port, &port)
	_, err := Serve(port, o)
	busy, ok := errors.AsType[*BusyError](err)
	if !ok {
		t.Fatalf("error %v, want *BusyError", err)
	}
	next, err := Serve(busy.Free, o)
	testenv.Must(t, err)
	if err := next.Close(); err != nil {
		t.Error(err)
	}
}

// told is a loopd that runs and remembers what it was told.
type told struct {
	mu   sync.Mutex
	said []string
	live daemon.Live
}

func (s *told) Live() daemon.Live {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.live
}

func (s *told) Do(_ context.Context, w daemon.Command, reason string) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if w == daemon.Finish {
		return "", fmt.Errorf("nothing is searched for")
	}
	s.said = append(s.said, string(w)+" "+reason)
	return string(w) + " it is", nil
}

func TestWordsReachTheLoopdThatRuns(t *testing.T) {
	t.Parallel()
	dir := privateDir(t)
	runs := &told{live: daemon.Live{PID: 4711, Verb: "serve", Phase: daemon.Idle}}
	c, err := daemon.Serve(dir, runs)
	testenv.Must(t, err)
	defer c.Close()
	o := optionsFor(t, dir)
	o.Add = func(_ context.Context, patch, rationale string) (string, error) {
		runs.said = append(runs.said, "add "+patch+" "+rationale)
		return "queued ab12", nil
	}
	o.Drop = func(name string) error {
		runs.said = append(runs.said, "drop "+name)
		return nil
	}
	s := openSite(t, o)
	if text := plainText(s.want("/")); !strings.Contains(text, "loopd serve (process 4711): idle until the next window") {
		t.Errorf("now:\n%s", text)
	}
	for _, post := range []struct {
		path, body string
		want       int
	}{
		{"/do/pause", s.form("reason", "lunch"), http.StatusSeeOther},
		{"/do/finish", s.form(), http.StatusConflict},
		{"/queue", s.form("patch", "--- a", "rationale", "why"), http.StatusSeeOther},
		{"/do/drop", s.form("name", "ab12"), http.StatusSeeOther},
	} {
		if code, body := s.ask(s.request(http.MethodPost, post.path, post.body)); code != post.want {
			t.Errorf("POST %s: %d\n%s", post.path, code, plainText(body))
		}
	}
	if got := strings.Join(runs.said, "; "); got != "pause lunch; add --- a why; drop ab12" {
		t.Errorf("told %q", got)
	}
	if text := plainText(s.want("/queue?said=queued+ab12")); !strings.Contains(text, "queued ab12") {
		t.Errorf("what was done is not said:\n%s", text)
	}
}

var address = regexp.MustCompile(`(?i)(https?:)?//[a-z0-9]|url\(|<script|<link|<iframe|<img|\b(src|action|formaction)=`)

func TestAFileNeedsNothingElse(t *testing.T) {
	t.Parallel()
	dir := privateDir(t)
	fabricate(t, dir, plan{candidates: 8, budget: 600})
	page, err := File(t.Context(), optionsFor(t, dir), "")
	testenv.Must(t, err)
	text := strings.ReplaceAll(string(page), "http://www.w3.org/2000/svg", "")
	if at := address.FindStringIndex(text); at != nil {
		t.Errorf("it loads or calls something: %s", text[at[0]:min(at[1]+80, len(text))])
	}
	for _, href := range regexp.MustCompile(`href="([^"]*)"`).FindAllStringSubmatch(text, -1) {
		if !strings.HasPrefix(href[1], "#") {
			t.Errorf("it leads to %q, which a file does not have", href[1])
		}
		if !strings.Contains(text, `id="`+strings.TrimPrefix(href[1], "#")+`"`) {
			t.Errorf("it leads to %q, which is not in it", href[1])
		}
	}
	for _, want := range []string{"Made " + whenText(nightLooked), "not live", "c001", "c008", "<style>"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in it", want)
		}
	}
	again, err := File(t.Context(), optionsFor(t, dir), "0a1b2c3-1")
	if err != nil || string(again) != string(page) {
		t.Errorf("made again it is another (%v)", err)
	}
	if _, err := File(t.Context(), optionsFor(t, privateDir(t)), ""); err == nil || !strings.Contains(err.Error(), "there is no campaign") {
		t.Errorf("without a campaign: %v", err)
	}
}
