package fake_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"loopd/harness"
	"loopd/internal/fake"
	"loopd/internal/testenv"
)

// ask calls the handler without a network.
func ask(t testing.TB, m *fake.Model, body string) *http.Response {
	t.Helper()
	req := httptest.NewRequest(http.MethodPost, "/v1/messages", strings.NewReader(body))
	req.Header.Set("X-Api-Key", key)
	w := httptest.NewRecorder()
	m.ServeHTTP(w, req)
	return w.Result()
}

// TestScriptsForFiles: paths stay as they are when nothing says where the
// session works, and a file is read again when a command may have changed it.
func TestScriptsForFiles(t *testing.T) {
	t.Parallel()
	edit := harness.Step{Edit: &harness.EditStep{Path: "a", Old: "1", New: "2"}}
	for name, c := range map[string]struct {
		steps []harness.Step
		want  string
	}{
		"edit":             {[]harness.Step{edit}, "Read Edit text"},
		"read then edit":   {[]harness.Step{{Read: "a"}, edit}, "Read Edit text"},
		"two edits":        {[]harness.Step{edit, edit}, "Read Edit Edit text"},
		"written by us":    {[]harness.Step{{Write: &harness.WriteStep{Path: "a", Content: "1"}}, edit}, "Write Edit text"},
		"command between":  {[]harness.Step{edit, {Bash: "x"}, edit}, "Read Edit Bash Read Edit text"},
		"other file known": {[]harness.Step{{Read: "b"}, edit}, "Read Read Edit text"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := fake.NewModel(fake.Wording{})
			steps := append(c.steps, harness.Step{Text: "end"})
			s := fake.ModelSession{Scenario: harness.Scenario{Oracle: steps, Nop: steps}}
			testenv.Must(t, m.Register(key, s))
			var got []string
			for n := 0; n < 10; n++ {
				msgs := `{"role":"user","content":"x"}` + strings.Repeat(`,{"role":"assistant","content":"y"}`, n)
				b := block(t, read(t, ask(t, m, `{"model":"m","messages":[`+msgs+`]}`)))
				if b["type"] == "text" {
					got = append(got, "text")
					break
				}
				got = append(got, b["name"].(string))
				if p, ok := b["input"].(map[string]any)["file_path"]; ok && strings.HasPrefix(p.(string), "/") {
					t.Errorf("path %v", p)
				}
			}
			if g := strings.Join(got, " "); g != c.want {
				t.Errorf("got %s, want %s", g, c.want)
			}
		})
	}
}

func BenchmarkAnswer(b *testing.B) {
	m := fake.NewModel(fake.Wording{Base: map[harness.Cell]float64{r1: 1}, Effects: []fake.Effect{{Phrase: "never there"}}})
	testenv.Must(b, m.Register(key, fake.ModelSession{Scenario: scenario(), Cell: r1}))
	body := `{"model":"m","stream":true,"system":"` + strings.Repeat("a word ", 3000) + `","messages":[{"role":"user","content":"x"}]}`
	b.ReportAllocs()
	for b.Loop() {
		ask(b, m, body)
	}
}
