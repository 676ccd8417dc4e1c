package web

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"loopd/harness"
	"loopd/internal/campaign"
	"loopd/internal/testenv"
	"loopd/report"
)

// evalJSON is a report of an evaluator with these results.
func evalJSON(tb testing.TB, cases string, results ...harness.Evaluated) []byte {
	tb.Helper()
	e := report.Eval{Schema: report.EvalSchema, Harness: results[0].Kind, Instrument: "i1", Parts: map[string]string{"rules": "r1"}, Cases: cases}
	var tally report.Tally
	for _, r := range results {
		tally.Add(r)
	}
	e.Summary = tally.Summary()
	var b bytes.Buffer
	err := e.WriteJSON(&b, func(yield func(harness.Evaluated, error) bool) {
		for _, r := range results {
			if !yield(r, nil) {
				return
			}
		}
	})
	testenv.Must(tb, err)
	return b.Bytes()
}

// diagnosed is the result of a trace; what is not "" failed its only check so.
func diagnosed(id, failed string) harness.Evaluated {
	r := harness.Evaluated{Result: harness.Result{Kind: harness.Trace, Case: id}, Trace: id + ".json", Verdict: "PASS"}
	r.Checks = []harness.Check{{Name: "raw_marker", Outcome: harness.Pass}}
	if failed != "" {
		r.Checks[0] = harness.Check{Name: "raw_marker", Outcome: harness.Fail, Reason: "leaked", Findings: []string{failed}}
	}
	r.Metrics = map[string]float64{harness.ToolCalls: 3}
	r.Settle()
	return r
}

// keep puts a report into a state directory and returns its id.
func keep(tb testing.TB, dir string, data []byte) string {
	tb.Helper()
	id, err := campaign.Home{Dir: dir}.KeepEval(harness.Trace, func(w io.Writer) error {
		_, err := w.Write(data)
		return err
	})
	testenv.Must(tb, err)
	return id
}

// evaluations are a good report of an evaluator, and one of a worse day.
func evaluations(t *testing.T) (before, after []byte) {
	t.Helper()
	var days [2][]harness.Evaluated
	for i, name := range []string{"cache-stampede", "double-charge", "lost-stock", "queue-backlog", "slow-checkout", "stale-search", "timeout-loop"} {
		r := diagnosed(name, "")
		days[0] = append(days[0], r)
		switch i {
		case 3:
			r = diagnosed(name, "turn 4: the raw log line stands in the answer")
		case 5:
			r.Verdict = "REVISE"
		}
		days[1] = append(days[1], r)
	}
	return evalJSON(t, "cases.yaml", days[0]...), evalJSON(t, "cases.yaml", append(days[1], diagnosed("wrong-tax", ""))...)
}

// inMemory is a report that was opened by name.
func inMemory(name string, data []byte) Opened {
	return Opened{Name: name, Open: func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(data)), nil }}
}

// wantIn wants texts on a page, in this order.
func wantIn(t *testing.T, page string, texts ...string) {
	t.Helper()
	rest := plainText(page)
	for _, text := range texts {
		_, after, there := strings.Cut(rest, text)
		if !there {
			t.Errorf("no %q after the others on\n%s", text, plainText(page))
			return
		}
		rest = after
	}
}

func TestEvaluationsAreShown(t *testing.T) {
	t.Parallel()
	dir := privateDir(t)
	s := openSite(t, optionsFor(t, dir))
	wantIn(t, s.want("/eval"), "No report of an evaluator is kept", "--keep")
	odd := diagnosed("lift", "")
	odd.Checks[0].Outcome, odd.Verdict, odd.Metrics = harness.NotRun, "", nil
	odd.Settle()
	first := keep(t, dir, evalJSON(t, "cases.yaml", diagnosed("boiler", ""), diagnosed("door", "")))
	other := keep(t, dir, evalJSON(t, "others.yaml", diagnosed("pump", "")))
	second := keep(t, dir, evalJSON(t, "cases.yaml", diagnosed("boiler", ""), diagnosed("lamp", "the answer holds claim_id"), odd))
	testenv.Write(t, filepath.Join(dir, "eval", "00009-trace-000000000000.json"), `{"schema": "loopd:eval/1"`)

	list := s.want("/eval")
	wantIn(t, list, "4 reports", "00009", "cannot be read: read report", "it ends in the middle", second, "Diagnosis traces", "cases.yaml", "1 of 2 pass, 1 not run", second+" beside "+first, other, "the first", first, "2 of 2 pass", "the first")
	page := s.want("/eval/" + second)
	wantIn(t, page, "Diagnosis traces: 1 of 2 pass, 1 not run", "What changed since "+first, "verdicts", "PASS 2", "mean cost-equivalent tokens", "not reported",
		"fail 1", "not_run 1", "pass 1", "lamp", "lamp.json", "fail", "PASS", "none asked for", "3", "not reported", "raw marker (leaked): the answer holds claim_id", "lift", "not_run", "none", "boiler", "pass")
	wantIn(t, s.want("/eval/"+second+"?show=pass"), "boiler")
	if text := plainText(s.want("/eval/" + second + "?show=pass")); strings.Contains(text, "lamp") {
		t.Errorf("what failed is among what passed:\n%s", text)
	}
	wantIn(t, s.want("/eval/"+second+"?show=nonsense"), "lamp", "lift", "boiler")
	wantIn(t, s.want("/eval/"+second+"?show=invalid"), "None.")

	diff := s.want("/eval/" + second + "/beside/" + first)
	wantIn(t, diff, "2 regressions", "A is "+first, "B is "+second, "pass rate", "regression", "2/2", "1/2", "-0.5", "door: missing", "regression", "pass", "missing", "lamp: new", "change", "not there", "fail", "lift: new", "pass rate")
	wantIn(t, s.want("/eval/"+first+"/beside/"+first), "nothing regressed", "Nothing changed.")
	if code, body := s.get("/eval/00009-trace-000000000000"); code != http.StatusUnprocessableEntity || !strings.Contains(body, "it ends in the middle") {
		t.Errorf("a report that is cut: %d %s", code, plainText(body))
	}
	if got := s.crawl(map[string]int{"eval": 40}); len(got) < 10 {
		t.Errorf("%d pages are linked to", len(got))
	}
}

// Other rules are another instrument, and compared only on demand.
func TestAcrossInstruments(t *testing.T) {
	t.Parallel()
	dir := privateDir(t)
	s := openSite(t, optionsFor(t, dir))
	data := evalJSON(t, "c.yaml", diagnosed("boiler", ""))
	first := keep(t, dir, data)
	second := keep(t, dir, bytes.ReplaceAll(bytes.ReplaceAll(data, []byte(`"i1"`), []byte(`"i2"`)), []byte(`"r1"`), []byte(`"r2"`)))
	page := s.want("/eval/" + second + "/beside/" + first)
	wantIn(t, page, "not compared", "which differ in rules", "Compare all the same")
	wantIn(t, s.want("/eval/"+second+"/beside/"+first+"?across"), "nothing regressed", "Measured by different instruments")
}

// A page has a hundred rows, however many results there are: the worst first, and
// each on one page.
func TestManyResultsArePaged(t *testing.T) {
	t.Parallel()
	const n = 10_000
	var results []harness.Evaluated
	for i := range n {
		failed := ""
		if i%40 == 39 {
			failed = "leaked"
		}
		results = append(results, diagnosed(fmt.Sprintf("case-%05d", i), failed))
	}
	dir := privateDir(t)
	id := keep(t, dir, evalJSON(t, "c.yaml", results...))
	s := openSite(t, optionsFor(t, dir))
	for page, want := range map[int]string{-1: "case-00039", 3: "case-08039", 999: "case-09899"} {
		body := s.want(fmt.Sprintf("/eval/%s?page=%d", id, page))
		if rows := strings.Count(body, `<th scope="row">case-`); rows != pagedBy {
			t.Errorf("page %d has %d rows", page, rows)
		}
		wantIn(t, body, "Part", "of 100", want)
	}
	if body := s.want("/eval/" + id + "?show=fail&page=3"); strings.Count(body, `<th scope="row">case-`) != 50 || !strings.Contains(body, `href="?show=fail&amp;page=2"`) {
		t.Errorf("the last part of what failed:\n%.2000s", plainText(body))
	}
	// Nothing of it is held but the page.
	one, err := s.s.savedReport(id)
	testenv.Must(t, err)
	d, err := s.s.evalOf(one, "", 2, pagedBy)
	if err != nil || len(d.Rows) != pagedBy || cap(d.Rows) != pagedBy {
		t.Errorf("%d rows of %d are held, %v", len(d.Rows), cap(d.Rows), err)
	}
	// And all changes of the comparison with nothing in common come in parts too.
	empty := keep(t, dir, evalJSON(t, "c.yaml", diagnosed("other", "")))
	wantIn(t, s.want("/eval/"+empty+"/beside/"+id+"?page=2"), "10000 regressions", "Part 2 of 101")
}

// An address names one of the reports that are listed, and never a file.
func TestNoReportButThoseListed(t *testing.T) {
	t.Parallel()
	dir := privateDir(t)
	id := keep(t, dir, evalJSON(t, "c.yaml", diagnosed("boiler", "")))
	testenv.Write(t, filepath.Join(dir, "eval", "secret.json"), string(evalJSON(t, "secret.yaml", diagnosed("secret", ""))))
	testenv.Write(t, filepath.Join(dir, "secret.json"), string(evalJSON(t, "secret.yaml", diagnosed("secret", ""))))
	testenv.Must(t, os.Symlink(filepath.Join(dir, "secret.json"), filepath.Join(dir, "eval", "00007-trace-000000000000.json")))
	s := openSite(t, optionsFor(t, dir))
	s.want("/eval/" + id)
	for _, odd := range []string{
		"secret", "secret.json", "..%2fsecret", "%2e%2e%2fsecret", "..%2ftoken", "..%5csecret", id + ".json", id + "%00", "00007-trace-000000000000",
		".%2f" + id, "%2fetc%2fpasswd", "x%2f..%2f" + id, strings.ToUpper(id), "0", "-1",
	} {
		for _, path := range []string{"/eval/" + odd, "/eval/" + odd + "/beside/" + id, "/eval/" + id + "/beside/" + odd} {
			if code, body := s.get(path); code != http.StatusNotFound || strings.Contains(body, "secret.yaml") {
				t.Errorf("GET %s: %d", path, code)
			}
		}
	}
	r := s.request(http.MethodGet, "/eval/"+id, "")
	r.Header.Del("Cookie")
	if code, _ := s.ask(r); code != http.StatusForbidden {
		t.Errorf("without the token: %d", code)
	}
}

// What a report repeats of a task is masked as on every page.
func TestReportsAreMasked(t *testing.T) {
	t.Parallel()
	suite, err := campaign.ReadBundled(campaign.BundledSuite)
	testenv.Must(t, err)
	sc, _ := suite.Scenario("W1")
	leak := sc.Task.Reveal()
	dir := privateDir(t)
	bad := diagnosed("boiler", leak)
	bad.Trace, bad.Verdict = leak, leak
	first, second := keep(t, dir, evalJSON(t, leak, bad)), keep(t, dir, evalJSON(t, leak, diagnosed(leak, "")))
	s := openSite(t, optionsFor(t, dir))
	for _, path := range []string{"/eval", "/eval/" + first, "/eval/" + second, "/eval/" + second + "/beside/" + first} {
		text := plainText(s.want(path))
		if len(sc.Task.Overlap(text, maskWords)) > 0 || !strings.Contains(text, heldOut) {
			t.Errorf("%s shows the task, or lacks what is in its place", path)
		}
	}
}

// What was opened by name is shown alone, and the same as a file.
func TestOpenedReports(t *testing.T) {
	t.Parallel()
	a := inMemory("a.json", evalJSON(t, "c.yaml", diagnosed("boiler", ""), diagnosed("door", "")))
	b := inMemory("b.json", evalJSON(t, "c.yaml", diagnosed("boiler", "<b>leaked</b>"), diagnosed("lamp", "")))
	for _, c := range []struct {
		opened []Opened
		to     string
		shown  []string
	}{
		{[]Opened{b}, "/eval/1", []string{"Report b.json", "boiler", "<b>leaked</b>", "lamp"}},
		{[]Opened{a, b}, "/eval/2/beside/1", []string{"4 regressions", "A is a.json", "B is b.json", "door: missing", "lamp: new"}},
	} {
		o := Options{Dir: privateDir(t), Token: strings.Repeat("a", 64), Now: optionsFor(t, privateDir(t)).Now, Opened: c.opened}
		s := openSite(t, o)
		if code, _ := s.get("/"); code != http.StatusSeeOther {
			t.Errorf("GET /: %d", code)
		}
		wantIn(t, s.want(c.to), c.shown...)
		for _, path := range []string{"/queue", "/settings", "/eval", "/frozen", "/eval/3", "/campaign/x"} {
			if code, _ := s.get(path); code != http.StatusNotFound {
				t.Errorf("GET %s: %d", path, code)
			}
		}
		file, err := FileOfReport(o)
		testenv.Must(t, err)
		wantIn(t, string(file), c.shown...)
		for _, odd := range []string{"href=\"/", "href=\"?", "<script", "<link", "src=", "<b>"} {
			if strings.Contains(string(file), odd) {
				t.Errorf("the file holds %s", odd)
			}
		}
	}
	if _, err := FileOfReport(Options{Now: optionsFor(t, privateDir(t)).Now, Opened: []Opened{inMemory("x.json", []byte("{"))}}); err == nil || !strings.Contains(err.Error(), "x.json") {
		t.Errorf("got %v, want the file's name", err)
	}
}

// Two reports of campaigns are compared too.
func TestOpenedCampaigns(t *testing.T) {
	t.Parallel()
	n := fabricate(t, privateDir(t), plan{candidates: 1, budget: 200})
	data, err := json.Marshal(report.Build(n.state))
	testenv.Must(t, err)
	o := Options{Dir: privateDir(t), Token: strings.Repeat("a", 64), Now: optionsFor(t, privateDir(t)).Now, Opened: []Opened{inMemory("a.json", data), inMemory("b.json", data)}}
	wantIn(t, openSite(t, o).want("/eval/2/beside/1"), "nothing regressed", "A is a.json", "Differences are B minus A", "mean pass rate", "champion", "cell")
}

func TestEvaluationsInABrowser(t *testing.T) {
	b, rules := newBrowser(t), axe(t)
	dir := privateDir(t)
	var all []harness.Evaluated
	for i, a := range attacks {
		r := diagnosed(fmt.Sprintf("%02d %s", i, a), a)
		r.Trace, r.Verdict, r.Checks[0].Reason, r.Checks[0].Name = a, a, a, a
		r.Settle()
		all = append(all, r)
	}
	for i := range 5 {
		all = append(all, diagnosed(fmt.Sprint(i), ""))
	}
	first := keep(t, dir, evalJSON(t, attacks[0], all[25:]...))
	second := keep(t, dir, evalJSON(t, attacks[0], all...))
	s := openSite(t, optionsFor(t, dir))
	file, err := FileOfReport(Options{Now: s.s.o.Now, Opened: []Opened{inMemory(attacks[1], evalJSON(t, attacks[0], all...))}})
	testenv.Must(t, err)
	b.do(t, chromedp.Navigate(s.s.Link()))
	look := func(address string) (shown int) {
		for _, scheme := range []string{"light", "dark"}[:testenv.Count(1, 2)] {
			b.scheme(t, scheme)
			b.do(t, chromedp.Navigate(address), chromedp.Evaluate[chromedp.Void](rules))
			for _, v := range eval[[]string](t, b, violations) {
				t.Errorf("%.80s, %s: %s", address, scheme, v)
			}
		}
		if eval[bool](t, b, `window.pwned !== undefined || document.querySelector("main script, main img, main iframe, main svg, [onerror], [onload]") !== null`) {
			t.Errorf("%.80s took a text for markup", address)
		}
		if eval[bool](t, b, "document.documentElement.scrollWidth > document.documentElement.clientWidth") {
			t.Errorf("%.80s is wider than its window", address)
		}
		text := eval[string](t, b, "document.documentElement.textContent")
		return len(slices.DeleteFunc(slices.Clone(attacks), func(a string) bool { return !strings.Contains(text, a) }))
	}
	for path, least := range map[string]int{"/eval": 1, "/eval/" + second: len(attacks), "/eval/" + second + "/beside/" + first: 10} {
		if shown := look(b.address(s, path)); shown < least {
			t.Errorf("%s shows %d attacks as the texts they are, want %d", path, shown, least)
		}
	}
	b.do(t, chromedp.Navigate(b.address(s, "/eval/"+second)), chromedp.Click(chromedp.CSS(`.shows a[href="?show=pass#results"]`)))
	b.until(t, `location.search === "?show=pass" && document.querySelector(".results .fail") === null`)
	b.quiet(t, s)
	b.do(t, chromedp.Navigate("about:blank"))
	path := filepath.Join(t.TempDir(), "report.html")
	testenv.Must(t, os.WriteFile(path, file, 0o600))
	if shown := look("file://" + path); shown != len(attacks) {
		t.Errorf("the file shows %d attacks as the texts they are", shown)
	}
}

// Looking changes nothing.
func TestEvaluationsAreOnlyRead(t *testing.T) {
	t.Parallel()
	dir := privateDir(t)
	id := keep(t, dir, evalJSON(t, "c.yaml", diagnosed("boiler", "")))
	s := openSite(t, optionsFor(t, dir))
	before := tree(t, dir)
	for _, path := range []string{"/eval", "/eval/" + id, "/eval/" + id + "/beside/" + id} {
		s.want(path)
	}
	if after := tree(t, dir); !slices.Equal(before, after) {
		t.Errorf("before %q, after %q", before, after)
	}
}
