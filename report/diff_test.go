package report

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"loopd/harness"
	"loopd/internal/testenv"
	"loopd/loop"
	"loopd/stats"
)

// sample is a campaign report with one cell for each pair of counts.
func sample(id string, counts ...stats.Count) Campaign {
	c := Campaign{
		Schema: CampaignSchema, Harness: harness.Unprompted, ID: id, Phase: loop.Done, Outcome: loop.NoChange, Instrument: "i1",
		Parts: map[string]string{"suite": "s1", "agent": "a1"}, Start: startWording, Champion: keptWording, Sessions: 40,
		Cost: Cost{USD: 3, Unreported: 10, InputTokens: 80_000, OutputToken: 400, CostEquivalent: 82_000, Seconds: 100},
	}
	for i, n := range counts {
		name := fmt.Sprintf("F%d/small", i+1)
		c.Cells = append(c.Cells, Cell{Name: name, Champion: rate("start", n), Candidate: rate("champion", n), Target: true})
	}
	return c
}

func documentOf(t interface {
	Helper()
	Fatal(...any)
}, name string, c any) Document {
	data, err := json.Marshal(c)
	testenv.Must(t, err)
	return Document{name, data}
}

func compared(t *testing.T, a, b any, across bool) Diff {
	t.Helper()
	d, err := Compare(documentOf(t, "a.json", a), documentOf(t, "b.json", b), across)
	testenv.Must(t, err)
	return d
}

func TestCompare_Goldens(t *testing.T) {
	a := Build(fullStory(t))
	a.Parts = map[string]string{"agent": "a1", "suite": "s1"}
	b := a
	b.ID, b.Instrument, b.Parts = "abc1234-2", "fedcba9876543210fedc", map[string]string{"agent": "a2", "suite": "s1"}
	b.Cells = slices.Clone(a.Cells)
	b.Cells[0].Candidate = rate("champion", stats.Count{Pass: 1, N: 12})
	b.Cells[1].Candidate = rate("champion", stats.Count{Pass: 4, N: 5})
	b.Cells = append(b.Cells, Cell{Name: "R2/haiku", Champion: rate("start", stats.Count{N: 3}), Candidate: rate("champion", stats.Count{Pass: 3, N: 3})})
	b.Guards = []Rate{rate("N1/haiku", stats.Count{Pass: 5, N: 5})}
	b.Contrasts = []Contrast{{Pair: "R4", Control: "R4-nograph", Tier: "haiku", CLI: "2.1.332", Reading: NotNeeded}}
	b.Invalid = append(slices.Clone(a.Invalid), Invalid{Wording: "start", Class: harness.Hang, Count: 2, Of: 8})
	d := compared(t, a, b, true)
	testenv.Golden(t, "testdata/diff.txt", d.Text(0))
	testenv.Golden(t, "testdata/diff.md", d.Markdown())
	data, err := json.MarshalIndent(d.Document(), "", " ")
	testenv.Must(t, err)
	testenv.Golden(t, "testdata/diff.json", append(data, '\n'))
	for line := range strings.Lines(string(d.Text(0))) {
		if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > 80 {
			t.Errorf("a line of %d columns: %s", n, line)
		}
	}
}

// A report compared with itself changes nothing.
func TestCompare_OfTheSame(t *testing.T) {
	t.Parallel()
	a := Build(fullStory(t))
	d := compared(t, a, a, false)
	if len(d.Regressions) != 0 || len(d.Campaigns.Differs) != 0 || d.Campaigns.Metric.Difference != 0 || d.Headline() != "nothing regressed" {
		t.Errorf("got %+v", d)
	}
	for _, c := range slices.Concat(d.Campaigns.Cells, d.Campaigns.Guards) {
		if c.Trend != Same && c.Trend != Unseen {
			t.Errorf("%s: got %s", c.Name, c.Trend)
		}
	}
}

func TestCompare_Trends(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		a, b       stats.Count
		want       Trend
		regression string
	}{
		"fell":              {stats.Count{Pass: 9, N: 10}, stats.Count{Pass: 1, N: 10}, Fell, "F1/small fell: 1/10, was 9/10"},
		"fell, maybe":       {stats.Count{Pass: 3, N: 4}, stats.Count{Pass: 2, N: 4}, Same, ""},
		"rose":              {stats.Count{Pass: 1, N: 10}, stats.Count{Pass: 9, N: 10}, Rose, ""},
		"unchanged":         {stats.Count{Pass: 5, N: 10}, stats.Count{Pass: 5, N: 10}, Same, ""},
		"not measured now":  {stats.Count{Pass: 5, N: 10}, stats.Count{}, Missing, "F1/small is missing, was 5/10"},
		"measured only now": {stats.Count{}, stats.Count{Pass: 5, N: 10}, New, ""},
		"measured never":    {stats.Count{}, stats.Count{}, Unseen, ""},
	} {
		d := compared(t, sample("a", c.a), sample("b", c.b), false)
		has := slices.Contains(d.Regressions, c.regression)
		if d.Campaigns.Cells[0].Trend != c.want || has != (c.regression != "") || c.regression == "" && len(d.Regressions) > 0 {
			t.Errorf("%s: got %s and %q, want %s and %q", name, d.Campaigns.Cells[0].Trend, d.Regressions, c.want, c.regression)
		}
	}
}

func TestCompare_CellsThatComeAndGo(t *testing.T) {
	t.Parallel()
	n := stats.Count{Pass: 2, N: 4}
	d := compared(t, sample("a", n, n), sample("b", n), false)
	if len(d.Campaigns.Cells) != 2 || d.Campaigns.Cells[1].Trend != Missing || !slices.Equal(d.Regressions, []string{"F2/small is missing, was 2/4"}) || d.Campaigns.Metric.Cells != 1 {
		t.Errorf("a cell gone: got %+v", d)
	}
	d = compared(t, sample("a", n), sample("b", n, n), false)
	if d.Campaigns.Cells[1].Trend != New || len(d.Regressions) != 0 {
		t.Errorf("a cell more: got %+v", d)
	}
}

// Many cells that fall a little are a fall of the mean.
func TestCompare_MeanFalls(t *testing.T) {
	t.Parallel()
	high, low := slices.Repeat([]stats.Count{{Pass: 6, N: 8}}, 14), slices.Repeat([]stats.Count{{Pass: 3, N: 8}}, 14)
	d := compared(t, sample("a", high...), sample("b", low...), false)
	if len(d.Regressions) != 1 || !strings.HasPrefix(d.Regressions[0], "the mean pass rate fell from 0.750 to 0.375") {
		t.Errorf("got %q", d.Regressions)
	}
}

// More detours are worse, and a guard that falls is; a control that falls is not.
func TestCompare_GuardsAndControls(t *testing.T) {
	t.Parallel()
	side := func(detours, guard, control int) Campaign {
		c := sample("x", stats.Count{Pass: 1, N: 2})
		c.Guarded = []Guarded{{Tier: "small", Detours: []Rate{rate("start", stats.Count{}), rate(championName, stats.Count{Pass: detours, N: 20})}}}
		c.Guards = []Rate{rate("N1/small", stats.Count{Pass: guard, N: 20})}
		c.Controls = []Rate{rate("F1-bare/small", stats.Count{Pass: control, N: 20})}
		return c
	}
	d := compared(t, side(1, 19, 19), side(18, 3, 1), false)
	want := []string{"guard N1/small fell: 3/20, was 19/20", "detours on small rose: 18/20, was 1/20"}
	if !slices.Equal(d.Regressions, want) || d.Campaigns.Controls[0].Trend != Fell {
		t.Errorf("got %q, want %q", d.Regressions, want)
	}
	if d = compared(t, side(18, 3, 1), side(1, 19, 19), false); len(d.Regressions) != 0 {
		t.Errorf("the other way round: got %q", d.Regressions)
	}
}

func TestCompare_PerSession(t *testing.T) {
	t.Parallel()
	d := compared(t, sample("a", stats.Count{}), sample("b", stats.Count{}), false)
	var got []string
	for _, a := range d.Campaigns.PerSession {
		got = append(got, a.Name+" "+amount(a.A))
	}
	if want := []string{"cost 0.1", "tokens in 2000", "tokens out 10", "tokens, cost-equivalent 2050", "time 2.5"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q: a session that reported no cost is not a free one", got, want)
	}
	none := sample("n", stats.Count{})
	none.Sessions, none.Cost = 0, Cost{}
	if d := compared(t, none, none, false); amount(d.Campaigns.PerSession[0].A) != "-" {
		t.Errorf("got %+v for no session", d.Campaigns.PerSession)
	}
}

// Turning the two reports round negates every difference.
func TestCompare_TurnsRound(t *testing.T) {
	t.Parallel()
	opposite := map[Trend]Trend{Rose: Fell, Fell: Rose, Same: Same, Missing: New, New: Missing, Unseen: Unseen}
	rapid.Check(t, func(rt *rapid.T) {
		draw := func(name string) Campaign {
			var counts []stats.Count
			for i := range rapid.IntRange(1, 4).Draw(rt, name+" cells") {
				n := rapid.IntRange(0, 30).Draw(rt, fmt.Sprint(name, i, " n"))
				counts = append(counts, stats.Count{Pass: rapid.IntRange(0, n).Draw(rt, fmt.Sprint(name, i, " k")), N: n})
			}
			return sample(name, counts...)
		}
		a, b := documentOf(rt, "a", draw("a")), documentOf(rt, "b", draw("b"))
		there, err := Compare(a, b, false)
		back, err2 := Compare(b, a, false)
		if err != nil || err2 != nil {
			rt.Fatal(err, err2)
		}
		for _, c := range there.Campaigns.Cells {
			i := slices.IndexFunc(back.Campaigns.Cells, func(o Change) bool { return o.Name == c.Name })
			o := back.Campaigns.Cells[i]
			if unseen := c.A.N == 0 && c.B.N == 0; o.Trend != opposite[c.Trend] && !unseen {
				rt.Fatalf("%s: %s there, %s back", c.Name, c.Trend, o.Trend)
			}
			if c.Difference != nil && c.Difference.Difference != -o.Difference.Difference {
				rt.Fatalf("%s: %v there, %v back", c.Name, c.Difference, o.Difference)
			}
		}
		if there.Campaigns.Metric != nil && there.Campaigns.Metric.Difference+back.Campaigns.Metric.Difference > 1e-12 {
			rt.Fatalf("mean: %v there, %v back", there.Campaigns.Metric, back.Campaigns.Metric)
		}
	})
}

func TestCompare_Refuses(t *testing.T) { // req 39
	t.Parallel()
	good := string(documentOf(t, "", sample("a", stats.Count{Pass: 1, N: 2})).Data)
	with := func(old, new string) string {
		if !strings.Contains(good, old) {
			t.Fatalf("the sample has no %s", old)
		}
		return strings.Replace(good, old, new, 1)
	}
	candidate, err := json.Marshal(Candidate{Schema: CandidateSchema, Harness: harness.Unprompted, Campaign: "a"})
	testenv.Must(t, err)
	for name, c := range map[string]struct{ a, b, want string }{
		"another kind":       {good, `{"schema": "loopd:eval/1", "harness": "trace"}`, "a.json is of kind unprompted, b.json of kind trace: kinds are never mixed"},
		"another kind first": {`{"schema": "loopd:eval/1", "harness": "repostate"}`, good, "a.json is of kind repostate, b.json of kind unprompted"},
		"no evaluation":      {with(`"unprompted"`, `"trace"`), with(`"unprompted"`, `"trace"`), `a.json: its schema is "loopd:campaign/1", this program reads loopd:eval/1`},
		"unknown kind":       {with(`"unprompted"`, `"asked_for"`), good, `a.json: its harness is "asked_for", want one of unprompted, trace, repostate`},
		"no kind":            {good, with(`"harness":"unprompted",`, ""), `b.json: its harness is "", want one of`},
		"another version":    {good, with(`campaign/1`, `campaign/2`), `b.json: its schema is "loopd:campaign/2", this program reads loopd:campaign/1`},
		"no version":         {with(`"schema":"loopd:campaign/1",`, ""), good, `a.json: its schema is ""`},
		"simulated":          {good, with(`"simulated":false`, `"simulated":true`), "a.json is real, b.json is simulated: the two are never compared"},
		"empty":              {" \n", good, "a.json: it is empty"},
		"not JSON":           {"# a page", good, "a.json: not JSON: byte 1"},
		"cut off":            {good[:len(good)-9], good, "a.json: not JSON"},
		"two documents":      {good + good, good, "a.json: not JSON"},
		"a list":             {"[]", good, "a.json: the document is a array, which it cannot be"},
		"a wrong type":       {with(`"k":1`, `"k":"one"`), good, "a.json: cells.champion.k is a string"},
		"a huge number":      {with(`"k":1`, `"k":1e300`), good, "a.json: cells"},
		"more than all":      {with(`"k":1`, `"k":9`), good, "a.json: F1/small counts 9 of 2"},
		"less than nothing":  {with(`"k":1`, `"k":-1`), good, "a.json: F1/small counts -1 of 2"},
		"beyond belief":      {good, with(`"n":2`, `"n":2000000`), "b.json: F1/small counts 1 of 2000000"},
		"no name":            {with(`"F1/small"`, `""`), good, "a.json: a rate has no name"},
		"a cell twice":       {string(documentOf(t, "", twice()).Data), good, "a.json: F1/small is there twice"},
		"a candidate":        {good, string(candidate), `b.json: its schema is "loopd:candidate/1"`},
		"sessions":           {with(`"sessions":40`, `"sessions":4`), good, "a.json: it counts 4 sessions, of which 10 reported no cost"},
	} {
		for _, across := range []bool{false, true} {
			_, err := Compare(Document{"a.json", []byte(c.a)}, Document{"b.json", []byte(c.b)}, across)
			if _, refused := errors.AsType[*IncomparableError](err); !refused || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
				t.Errorf("%s: got %v, want %q", name, err, c.want)
			}
		}
	}
}

func twice() Campaign {
	c := sample("a", stats.Count{Pass: 1, N: 2})
	c.Cells = append(c.Cells, c.Cells[0])
	return c
}

// Different instruments are named by the parts that differ, and compared only
// when that is asked for.
func TestCompare_OfInstruments(t *testing.T) {
	t.Parallel()
	a, b := sample("a", stats.Count{Pass: 1, N: 2}), sample("b", stats.Count{Pass: 1, N: 2})
	b.Instrument = "i2"
	for name, c := range map[string]struct {
		parts map[string]string
		want  []string
	}{
		"the suite":       {map[string]string{"suite": "s2", "agent": "a1"}, []string{"suite"}},
		"all":             {map[string]string{"suite": "s2", "agent": "a2"}, []string{"agent", "suite"}},
		"one more":        {map[string]string{"suite": "s1", "agent": "a1", "credential": "k"}, []string{"credential"}},
		"one less":        {map[string]string{"suite": "s1"}, []string{"agent"}},
		"none named":      {nil, []string{"agent", "suite"}},
		"the same, named": {a.Parts, []string{"parts that the reports do not name (i1, i2)"}},
	} {
		b.Parts = c.parts
		_, err := Compare(documentOf(t, "a", a), documentOf(t, "b", b), false)
		if e, ok := errors.AsType[*InstrumentsError](err); !ok || !slices.Equal(e.Differs, c.want) {
			t.Errorf("%s: got %v, want %q", name, err, c.want)
		}
		d := compared(t, a, b, true)
		if !slices.Equal(d.Campaigns.Differs, c.want) || !strings.Contains(strings.Join(strings.Fields(string(d.Text(0))), " "), "a difference may be theirs") {
			t.Errorf("%s: across: got %q", name, d.Campaigns.Differs)
		}
	}
}

// What a document says cannot move a terminal or break a table.
func TestCompare_ShowsForeignTextPlainly(t *testing.T) {
	t.Parallel()
	a := sample("a\x1b[2J", stats.Count{Pass: 1, N: 2})
	a.Cells[0].Name, a.Parts = "F1|\u202e\n\x07"+strings.Repeat("x", 500), map[string]string{"su\x1bite": "s"}
	a.Invalid = []Invalid{{Class: "ha\x1b]ng", Count: 1}}
	b := a
	b.Instrument = "i2\x1b"
	b.Parts = map[string]string{"su\x1bite": "t"}
	d := compared(t, a, b, true)
	for _, text := range [][]byte{d.Text(0), d.Markdown()} {
		if strings.ContainsAny(string(text), "\x1b\x07\u202e") || strings.Contains(string(text), strings.Repeat("x", 100)) {
			t.Errorf("got %q", text)
		}
	}
}

// FuzzCompare hands in anything: no panic, and an error or a whole comparison.
func FuzzCompare(f *testing.F) {
	good := documentOf(f, "a", sample("a", stats.Count{Pass: 1, N: 2}, stats.Count{Pass: 3, N: 3}))
	f.Add(good.Data, good.Data)
	f.Add([]byte("{}"), []byte(`{"schema":"loopd:campaign/1","harness":"unprompted"}`))
	f.Add(good.Data, []byte(strings.Replace(string(good.Data), `"ci95":{`, `"ci95":{"low":9,`, 1)))
	f.Fuzz(func(t *testing.T, a, b []byte) {
		d, err := Compare(Document{"a", a}, Document{"b", b}, true)
		if err != nil {
			return
		}
		if _, err := json.Marshal(d.Document()); err != nil {
			t.Fatal(err)
		}
		d.Text(0)
		d.Markdown()
	})
}
