package transcript

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"loopd/internal/testenv"
)

func good(t testing.TB) string {
	t.Helper()
	data, err := os.ReadFile("testdata/good.jsonl")
	testenv.Must(t, err)
	return string(data)
}

func parse(t testing.TB, stream string) *Transcript {
	t.Helper()
	tr, err := Parse(strings.NewReader(stream), Limits{})
	testenv.Must(t, err)
	return tr
}

func TestParseReadsEveryPart(t *testing.T) {
	tr := parse(t, good(t))
	if tr.Lines != 21 || tr.Noise != 0 || len(tr.Unknown) != 0 || tr.Damage != (Damage{}) {
		t.Errorf("got %d lines, %d noise, unknown %v, damage %+v", tr.Lines, tr.Noise, tr.Unknown, tr.Damage)
	}
	in, _ := tr.Init()
	want := Init{
		Line: 3, Session: "0a1b2c3d-0000-4000-8000-00000000beef", CWD: "/srv/box/p7", Model: "model-small-9", Version: "9.8.7",
		Tools: []string{"Task", "Bash", "Read", "Skill"}, Skills: []string{"tide:look-up", "tide:write-down", "verify"},
		Plugins: []Plugin{
			{Name: "tide", Path: "/srv/box/plug", Source: "tide@inline", Version: "0.3.0"},
			{Name: "core-notes", Path: "builtin", Source: "core-notes@builtin"},
		},
	}
	testenv.Same(t, "init", want, in)
	testenv.Same(t, "retries", []Retry{{Line: 4, Attempt: 1, Status: 529, Error: "overloaded"}}, tr.Retries)
	testenv.Same(t, "tasks", []Task{{Line: 19, ID: "job-1", Status: "completed"}}, tr.Tasks)
	var kinds []string
	for _, b := range tr.Blocks {
		kinds = append(kinds, fmt.Sprintf("%d %s %s", b.Line, b.Kind, b.Parent))
	}
	wantKinds := []string{
		"5 thinking ", "6 text ", "7 tool_use ", "8 tool_result ", "9 injected ", "10 tool_use ", "11 tool_use toolu_02",
		"12 tool_result toolu_02", "13 text toolu_02", "14 tool_result ", "15 tool_use ", "16 tool_result ", "17 tool_use ",
		"18 tool_result ", "20 text ",
	}
	testenv.Same(t, "blocks", wantKinds, kinds)
}

func TestUsageAndCostAreTheLastCumulative(t *testing.T) {
	tr := parse(t, good(t))
	if u := tr.Usage(); u.Input != 900 || u.Output != 70 || u.CacheRead != 30 || u.CacheWrite != 20 {
		t.Errorf("got %+v", u)
	}
	if c := tr.CostUSD(); c == nil || *c != 0.0125 {
		t.Errorf("got cost %v, want 0.0125", c)
	}
	later := `{"type":"result","subtype":"success","is_error":false,"result":"later","total_cost_usd":0.02,"usage":{"input_tokens":1,"output_tokens":null}}`
	tr = parse(t, good(t)+later)
	if c := tr.CostUSD(); c == nil || *c != 0.02 {
		t.Errorf("got cost %v, want the later 0.02", c)
	}
	if tr.FinalText() != "later" {
		t.Errorf("got final text %q, want that of the last result", tr.FinalText())
	}
	if c := parse(t, `{"type":"result","subtype":"success","total_cost_usd":null}`).CostUSD(); c != nil {
		t.Errorf("got cost %v, want none", *c)
	}
}

func TestCallsArePairedWithTheirResults(t *testing.T) {
	got := map[string]CallStatus{}
	for _, c := range parse(t, good(t)).ToolUses() {
		got[c.ID] = c.Status
	}
	want := map[string]CallStatus{
		"toolu_01": CallOK, "toolu_02": CallOK, "toolu_03": CallOK, "toolu_04": CallFailed, "toolu_05": CallDenied,
	}
	testenv.Same(t, "statuses", want, got)
	cut, _, _ := strings.Cut(good(t), `{"type":"user"`)
	if calls := parse(t, cut).ToolUses(); len(calls) != 1 || calls[0].Status != CallUnanswered {
		t.Errorf("got %+v, want one unanswered call", calls)
	}
	denied := cut + `{"type":"system","subtype":"permission_denied","tool_name":"Skill","tool_use_id":"toolu_01"}`
	if calls := parse(t, denied).ToolUses(); calls[0].Status != CallDenied {
		t.Errorf("got %s, want denied", calls[0].Status)
	}
}

func TestRepeatedCallCountsOnce(t *testing.T) {
	use := `{"type":"assistant","message":{"id":"m","model":"x","content":[{"type":"tool_use","id":"t1","name":"Read","input":{"file_path":"a"}}]}}`
	calls := parse(t, use+"\n"+use+"\n").ToolUses()
	if len(calls) != 1 {
		t.Fatalf("got %d calls, want 1", len(calls))
	}
	if got, ok := calls[0].Arg("file_path"); got != "a" || !ok {
		t.Errorf("got %q", got)
	}
	if _, ok := calls[0].Arg("File_Path"); ok {
		t.Error("an argument of other casing was found")
	}
}

func TestMainTextLeavesOutWhatIsNotTheMainAgents(t *testing.T) {
	synthetic := `{"type":"assistant","message":{"model":"<synthetic>","content":[{"type":"text","text":"API failure"}]},"error":"overloaded","is_api_error_message":true}`
	tr := parse(t, good(t)+synthetic+"\n")
	var lines []int
	for _, b := range tr.MainText() {
		lines = append(lines, b.Line)
	}
	testenv.Same(t, "lines", []int{6, 20}, lines)
	if len(tr.Synthetic) != 1 || tr.Synthetic[0].Text != "API failure" {
		t.Errorf("got %+v", tr.Synthetic)
	}
}

func TestOddLinesAreCountedAndNeverFatal(t *testing.T) {
	lines := []struct {
		name, line string
		check      func(*Transcript) bool
	}{
		{"warning", "(tool:77) Warning: slow disk", func(tr *Transcript) bool { return tr.Noise == 1 && strings.Contains(tr.NoiseText, "slow disk") }},
		{"array", `["init"]`, func(tr *Transcript) bool { return tr.Noise == 1 }},
		{"empty with CR", "\r", func(tr *Transcript) bool { return tr.Noise == 0 && tr.Lines == 21 }},
		{"NUL", "\x00\x00", func(tr *Transcript) bool { return tr.NULs == 2 && tr.Lines == 21 }},
		{"NUL in a line", "{\"type\":\"new\x00thing\"}", func(tr *Transcript) bool { return tr.NULs == 1 && tr.Unknown["newthing"] == 1 }},
		{"invalid UTF-8", "{\"type\":\"user\",\"message\":{\"content\":\"\xff\"}}", func(tr *Transcript) bool { return tr.BadUTF8 == 1 }},
		{"lone surrogate", `{"type":"user","message":{"content":"a\ud83d b"}}`, func(tr *Transcript) bool {
			return tr.Blocks[len(tr.Blocks)-1].Text == "a\ufffd b"
		}},
		{"unknown type", `{"type":"weather"}`, func(tr *Transcript) bool { return tr.Unknown["weather"] == 1 }},
		{"unknown subtype", `{"type":"system","subtype":"weather"}`, func(tr *Transcript) bool { return tr.Unknown["system/weather"] == 1 }},
		{"no type", `{"id":"t1","tool_name":"read"}`, func(tr *Transcript) bool { return tr.Unknown[""] == 1 }},
		{"odd casing", `{"Type":"result","Is_Error":true}`, func(tr *Transcript) bool { return len(tr.Results) == 1 && tr.Unknown[""] == 1 }},
		{"string content", `{"type":"assistant","message":{"content":"plain"}}`, func(tr *Transcript) bool { return tr.MainText()[2].Text == "plain" }},
		{"content of numbers", `{"type":"assistant","message":{"content":[1,"x",null]}}`, func(tr *Transcript) bool { return tr.Unknown["assistant/"] == 3 }},
		{"message no object", `{"type":"assistant","message":7}`, func(tr *Transcript) bool { return len(tr.Blocks) == 15 }},
	}
	for _, c := range lines {
		t.Run(c.name, func(t *testing.T) {
			tr := parse(t, good(t)+c.line+"\n")
			if !c.check(tr) || tr.Damage != (Damage{}) {
				t.Errorf("got %d lines, noise %d %q, NULs %d, bad UTF-8 %d, unknown %v, damage %+v",
					tr.Lines, tr.Noise, tr.NoiseText, tr.NULs, tr.BadUTF8, tr.Unknown, tr.Damage)
			}
		})
	}
}

func TestUnknownTypesAreBounded(t *testing.T) {
	var b strings.Builder
	for i := range 3 * unknownTypes {
		fmt.Fprintf(&b, "{\"type\":\"t%d\"}\n", i)
	}
	b.WriteString("{\"type\":\"t0\"}\n")
	tr := parse(t, b.String())
	if len(tr.Unknown) != unknownTypes+1 || tr.Unknown["other"] != 2*unknownTypes || tr.Unknown["t0"] != 2 {
		t.Errorf("got %d names, %d others", len(tr.Unknown), tr.Unknown["other"])
	}
}

func TestLongLineIsReadWhole(t *testing.T) {
	for _, size := range []int{70_000, 2 << 20, 20 << 20} {
		long := `{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"a","content":"` + strings.Repeat("x", size) + `"}]}}`
		use := `{"type":"assistant","message":{"id":"m","content":[{"type":"tool_use","id":"b","name":"Read","input":{}}]}}`
		tr := parse(t, long+"\n"+use+"\n")
		if len(tr.Blocks) != 2 || len(tr.Blocks[0].Text) != size || tr.Blocks[1].ID != "b" {
			t.Errorf("size %d: got %d blocks", size, len(tr.Blocks))
		}
	}
}

func TestLimits(t *testing.T) {
	line := `{"type":"weather"}` + "\n"
	for _, c := range []struct {
		name string
		lim  Limits
		want int
	}{
		{"line fits", Limits{Line: len(line)}, 0},
		{"line too long", Limits{Line: len(line) - 1}, 1},
		{"total fits", Limits{Total: int64(3 * len(line))}, 0},
		{"total too much", Limits{Total: int64(3*len(line) - 1)}, 3},
		{"nothing kept", Limits{Kept: 1}, 0},
	} {
		tr, err := Parse(strings.NewReader(strings.Repeat(line, 3)), c.lim)
		if err != nil || tr.Damage.Oversize != c.want {
			t.Errorf("%s: got oversize %d, error %v, want %d", c.name, tr.Damage.Oversize, err, c.want)
		}
	}
}

func TestKeptIsLimited(t *testing.T) {
	line := `{"type":"user","message":{"content":"12345"}}` + "\n"
	for _, c := range []struct{ kept, want int }{{15, 0}, {14, 3}, {9, 2}, {4, 1}} {
		tr, err := Parse(strings.NewReader(strings.Repeat(line, 3)), Limits{Kept: c.kept})
		if err != nil || tr.Damage.Oversize != c.want {
			t.Errorf("%d bytes: got oversize %d, error %v, want %d", c.kept, tr.Damage.Oversize, err, c.want)
		}
	}
}

func TestFailingReaderIsAnError(t *testing.T) {
	broken := errors.New("disk gone")
	if _, err := Parse(iotest.ErrReader(broken), Limits{}); !errors.Is(err, broken) {
		t.Errorf("got %v, want %v", err, broken)
	}
}

// Slicing must find what encoding/json finds, wherever quotes and brackets
// stand.
func TestValuesAgreeWithEncodingJSON(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		keys := rapid.SliceOfNDistinct(rapid.StringN(0, 6, -1), 0, 60, rapid.ID).Draw(r, "keys")
		want := make(map[string]string)
		for _, k := range keys {
			want[k] = rapid.OneOf(rapid.String(), rapid.StringOf(rapid.SampledFrom([]rune("a\\\"/\n\t\x01é😀<")))).Draw(r, "text")
		}
		doc := mustMarshal(r, map[string]any{"in": []any{want, 1.5, nil, true, []string{`"}]`, `\`}}})
		got := make(map[string]string)
		elements := value(doc).object().get("in").elements()
		for _, m := range elements[0].object() {
			got[string(m.key)] = m.value.text()
		}
		if diff := cmp.Diff(normal(r, want), got); diff != "" {
			r.Fatalf("members (-want +got):\n%s", diff)
		}
		if f, ok := elements[1].number(); !ok || f != 1.5 || string(elements[2]) != "null" || !elements[3].truth() {
			r.Fatalf("got %s %s %s", elements[1], elements[2], elements[3])
		}
		if diff := cmp.Diff([]string{`"}]`, `\`}, elements[4].strings()); diff != "" {
			r.Fatal(diff)
		}
	})
}

func TestTextOfAHook(t *testing.T) {
	for output, want := range map[string]string{
		`{"hookSpecificOutput":{"hookEventName":"SessionStart","additionalContext":"Look there."}}`: "Look there.",
		`{"hookSpecificOutput":{"hookEventName":"Stop","additionalContext":"Look there."}}`:         `{"hookSpecificOutput":{"hookEventName":"Stop","additionalContext":"Look there."}}`,
		"Look there.\n": "Look there.\n",
		" ":             " ",
		"{":             "{",
	} {
		if got := (Hook{Output: output}).Text(); got != want {
			t.Errorf("%q: got %q, want %q", output, got, want)
		}
	}
}

func TestQuestionsOfACall(t *testing.T) {
	call := func(name, input string) Call {
		return Call{Block: Block{Kind: ToolUse, Name: name, Input: []byte(input)}}
	}
	for _, c := range []struct {
		name string
		call Call
		want []string
	}{
		{"one", call("AskUserQuestion", `{"questions":[{"question":" Go on? ","header":"Next"}]}`), []string{"Go on?"}},
		{"two with offers", call("AskUserQuestion", `{"questions":[{"question":"A?","options":[{"label":"yes","description":"now"},{"label":"no"}]},{"question":"B?"}]}`), []string{"A? [yes: now | no]", "B?"}},
		{"offer without a label", call("AskUserQuestion", `{"questions":[{"question":"A?","options":[{"description":"now"},{"label":"no"}]}]}`), []string{"A? [no]"}},
		{"empty", call("AskUserQuestion", `{"questions":[{"question":" "},{}]}`), nil},
		{"no list", call("AskUserQuestion", `{"questions":{"question":"A?"}}`), nil},
		{"numbers", call("AskUserQuestion", `{"questions":[7,{"question":8},{"question":"A?","options":[9,{"label":1},{"label":"x","description":2}]}]}`), []string{"A? [x]"}},
		{"key twice", call("AskUserQuestion", `{"questions":[{"question":"A?","question":"B?"}]}`), nil},
		{"label twice", call("AskUserQuestion", `{"questions":[{"question":"A?","options":[{"label":"x","label":"y","description":"z"}]}]}`), []string{"A?"}},
		{"other casing", call("AskUserQuestion", `{"Questions":[{"question":"A?"}]}`), nil},
		{"other tool", call("Skill", `{"questions":[{"question":"A?"}]}`), nil},
	} {
		testenv.Same(t, c.name, c.want, c.call.Questions())
	}
}

func FuzzParse(f *testing.F) {
	data, err := os.ReadFile("testdata/good.jsonl")
	testenv.Must(f, err)
	f.Add(data)
	for line := range bytes.Lines(data) {
		f.Add(line)
	}
	f.Add([]byte(`{"type":"assistant","message":{"content":[{"type":"tool_use","id":"q","name":"AskUserQuestion","input":{"questions":[{"question":"a","options":[{"label":"b","description":"c"}]}]}}]}}`))
	f.Add([]byte("{\"type\":\"user\",\"message\":{\"content\":\"a\\ud83d\"}}\n\x00\n{"))
	f.Fuzz(func(t *testing.T, stream []byte) {
		whole, err := Parse(bytes.NewReader(stream), Limits{})
		testenv.Must(t, err)
		inBits, err := Parse(iotest.OneByteReader(bytes.NewReader(stream)), Limits{})
		testenv.Must(t, err)
		if diff := cmp.Diff(whole, inBits); diff != "" {
			t.Fatalf("the same bytes in other pieces read otherwise:\n%s", diff)
		}
		for _, c := range whole.ToolUses() {
			if c.Questions(); c.Name != askTool && len(c.Questions()) > 0 {
				t.Errorf("%s asks %q", c.Name, c.Questions())
			}
		}
		whole.FinalText()
		Validity(whole, want(), External{})
	})
}
