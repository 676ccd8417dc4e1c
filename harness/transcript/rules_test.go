package transcript

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"loopd/harness"
	"loopd/internal/testenv"
)

// The cases of this file are those that mutation of the rules asked for: each
// is the only one that can tell a rule from its absence.

func TestEmptySession(t *testing.T) {
	tr := parse(t, "")
	if r, ok := tr.Last(); ok || r.Subtype != "" {
		t.Errorf("got the last result %+v", r)
	}
	if in, ok := tr.Init(); ok || in.Model != "" {
		t.Errorf("got the init %+v", in)
	}
	if tr.FinalText() != "" || tr.CostUSD() != nil || tr.Usage() != (harness.Usage{}) {
		t.Errorf("got text %q, cost %v, usage %+v", tr.FinalText(), tr.CostUSD(), tr.Usage())
	}
	tr = parse(t, good(t))
	_, begun := tr.Init()
	if _, ended := tr.Last(); !begun || !ended {
		t.Errorf("the good session began %v and ended %v", begun, ended)
	}
}

func TestFinalTextFallsBackOnTheAgentsLast(t *testing.T) {
	said := `{"type":"assistant","message":{"id":"m","model":"x","content":[{"type":"text","text":"said"}]}}` + "\n"
	for line, want := range map[string]string{
		"": "said",
		`{"type":"result","subtype":"success","is_error":false,"result":"ended"}`:            "ended",
		`{"type":"result","subtype":"success","is_error":false,"result":""}`:                 "",
		`{"type":"result","subtype":"success","is_error":false,"result":null}`:               "said",
		`{"type":"result","subtype":"error_max_turns","is_error":true,"result":"no answer"}`: "said",
	} {
		if got := parse(t, said+line).FinalText(); got != want {
			t.Errorf("%s: got %q, want %q", line, got, want)
		}
	}
}

func TestUsageSumsTheModelsOrTakesTheResults(t *testing.T) {
	for line, want := range map[string]harness.Usage{
		`{"type":"result","usage":{"input_tokens":1,"output_tokens":2,"cache_read_input_tokens":3,"cache_creation_input_tokens":4}}`: {Input: 1, Output: 2, CacheRead: 3, CacheWrite: 4},
		`{"type":"result","usage":{"input_tokens":1},"modelUsage":{"a":{"inputTokens":5,"outputTokens":6},"b":{"inputTokens":7}}}`:   {Input: 12, Output: 6},
	} {
		if got := parse(t, line).Usage(); got != want {
			t.Errorf("%s: got %+v, want %+v", line, got, want)
		}
	}
	if c := parse(t, `{"type":"result","total_cost_usd":0.5}`+"\n"+`{"type":"result"}`).CostUSD(); c == nil || *c != 0.5 {
		t.Errorf("got cost %v, want the last that was reported", c)
	}
}

// Without an id a call can be paired with nothing, and is no repetition.
func TestCallsWithoutAnID(t *testing.T) {
	use := `{"type":"assistant","message":{"id":"m","model":"x","content":[{"type":"tool_use","name":"Read","input":{}}]}}` + "\n"
	result := `{"type":"user","message":{"content":[{"type":"tool_result","content":"done"}]}}` + "\n"
	denied := `{"type":"system","subtype":"permission_denied","tool_name":"Read"}` + "\n"
	calls := parse(t, use+use+result+denied).ToolUses()
	if len(calls) != 2 || calls[0].Status != CallUnanswered || calls[1].Status != CallUnanswered {
		t.Errorf("got %+v, want two unanswered calls", calls)
	}
}

func TestTheFirstResultOfACallCounts(t *testing.T) {
	use := `{"type":"assistant","message":{"id":"m","model":"x","content":[{"type":"tool_use","id":"t1","name":"Read","input":{}}]}}` + "\n"
	result := func(text string) string {
		return `{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"t1","content":"` + text + `"}]}}` + "\n"
	}
	if calls := parse(t, use+result("first")+result("second")).ToolUses(); calls[0].Output != "first" {
		t.Errorf("got %q, want the first", calls[0].Output)
	}
}

func TestSubagentsAreToldApart(t *testing.T) {
	for _, c := range parse(t, good(t)).ToolUses() {
		if got, want := c.Subagent(), c.ID == "toolu_03"; got != want {
			t.Errorf("%s: by a subagent %v, want %v", c.ID, got, want)
		}
	}
}

func TestBlankTextIsNotSaid(t *testing.T) {
	line := `{"type":"assistant","message":{"id":"m","model":"x","content":[{"type":"text","text":" \n"}]}}`
	if got := parse(t, line).MainText(); len(got) != 0 {
		t.Errorf("got %+v", got)
	}
}

// A result's text is a string, strings, or blocks of which the texts count.
func TestTextOfAResult(t *testing.T) {
	for content, want := range map[string]string{
		`"plain"`:       "plain",
		`["one","two"]`: "one\ntwo",
		`[{"type":"text","text":"block"},{"type":"image","text":"no"}]`: "block",
	} {
		tr := parse(t, `{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"a","content":`+content+`},{"type":"image","text":"x"}]}}`)
		if len(tr.Blocks) != 1 || tr.Blocks[0].Text != want || tr.Unknown["user/image"] != 1 {
			t.Errorf("%s: got %+v, unknown %v", content, tr.Blocks, tr.Unknown)
		}
	}
}

func TestUnexecutedCalls(t *testing.T) {
	line := `{"type":"user","tool_result_meta":[{"id":"a","non_execution_kind":"hook"},{"id":"b","non_execution_kind":"rule"},{"id":"a"}],` +
		`"message":{"content":[{"type":"tool_result","tool_use_id":"a"},{"type":"tool_result","tool_use_id":"b"}]}}`
	tr := parse(t, line)
	if tr.Blocks[0].Unexecuted != "hook" || tr.Blocks[1].Unexecuted != "rule" {
		t.Errorf("got %+v", tr.Blocks)
	}
}

func TestEntriesOfAnInitAreNamed(t *testing.T) {
	tr := parse(t, `{"type":"system","subtype":"init","plugin_errors":[{"message":"m"},"plain",{"other":1}],"mcp_servers":[{"name":"n"}],"tools":["a",1]}`)
	in, _ := tr.Init()
	testenv.Same(t, "errors", []string{"m", "plain", `{"other":1}`}, in.PluginErrors)
	if !slices.Equal(in.MCPServers, []string{"n"}) || !slices.Equal(in.Tools, []string{"a"}) {
		t.Errorf("got servers %v, tools %v", in.MCPServers, in.Tools)
	}
}

func TestHookOutputIsItsStandardOutput(t *testing.T) {
	for keys, want := range map[string]string{
		`"output":"o","stdout":"s"`:  "s",
		`"output":"o","stdout":""`:   "",
		`"output":"o","stdout":null`: "o",
		`"output":"o"`:               "o",
	} {
		if got := parse(t, `{"type":"system","subtype":"hook_response",`+keys+`}`).Hooks[0].Output; got != want {
			t.Errorf("%s: got %q, want %q", keys, got, want)
		}
	}
}

func TestErrorOfTheCLIIsNotTheAgents(t *testing.T) {
	tr := parse(t, `{"type":"assistant","is_api_error_message":true,"message":{"id":"m","model":"x","content":"API failure"}}`)
	if len(tr.Synthetic) != 1 || len(tr.Blocks) != 0 {
		t.Errorf("got %+v and blocks %+v", tr.Synthetic, tr.Blocks)
	}
}

func TestKnownTypesAreNotCounted(t *testing.T) {
	var b strings.Builder
	for _, kind := range []string{"stream_event", "rate_limit_event", "control_response"} {
		fmt.Fprintf(&b, "{\"type\":%q}\n", kind)
	}
	for _, kind := range []string{
		"hook_started", "hook_progress", "status", "thinking_tokens", "informational", "ui_invalidate", "task_started", "task_progress",
		"task_updated", "background_tasks_changed",
	} {
		fmt.Fprintf(&b, "{\"type\":\"system\",\"subtype\":%q}\n", kind)
	}
	if tr := parse(t, b.String()); len(tr.Unknown) != 0 || tr.Lines != 13 {
		t.Errorf("got %v of %d lines", tr.Unknown, tr.Lines)
	}
}

// An object with a key twice damages its line, at any level, and is not read.
func TestKeyTwiceIsNotRead(t *testing.T) {
	for name, line := range map[string]string{
		"line":         `{"type":"assistant","type":"assistant","message":{"id":"m","content":"x"}}`,
		"message":      `{"type":"assistant","message":{"id":"m","id":"m","content":"x"}}`,
		"block":        `{"type":"assistant","message":{"id":"m","content":[{"type":"text","type":"text","text":"x"}]}}`,
		"input":        `{"type":"assistant","message":{"id":"m","content":[{"type":"tool_use","id":"a","input":{"a":1,"a":1}}]}}`,
		"user message": `{"type":"user","message":{"role":"user","role":"user","content":"x"}}`,
		"user block":   `{"type":"user","message":{"content":[{"type":"text","type":"text","text":"x"}]}}`,
		"plugin":       `{"type":"system","subtype":"init","plugins":[{"name":"a","name":"a"}]}`,
	} {
		tr := parse(t, line+"\n")
		if tr.Damage.Malformed != 1 || tr.Damage.Why == "" || len(tr.Blocks)+len(tr.Inits) != 0 {
			t.Errorf("%s: got damage %+v, blocks %v, inits %v", name, tr.Damage, tr.Blocks, tr.Inits)
		}
	}
}

func TestValues(t *testing.T) {
	spaced := value("{ \"a\" :\t[ 1 ,\r\n2\t,3\r] \r,\n\"b\"\n:\t{\r}\n}").object()
	var got []string
	for _, e := range spaced.get("a").elements() {
		got = append(got, string(e))
	}
	if !slices.Equal(got, []string{"1", "2", "3"}) || len(spaced) != 2 || string(spaced.get("b")) != "{\r}" {
		t.Errorf("got %q of %q", got, spaced)
	}
	if e := value(`"[]"`).elements(); e != nil {
		t.Errorf("a string has the elements %q", e)
	}
	if value(`[1]`).is("1") || !value(`"1"`).is("1") {
		t.Error("only a string is a string")
	}
	if s := value("\"a\xffb\"").text(); s != "a\ufffdb" {
		t.Errorf("got %q for bytes that are no UTF-8", s)
	}
	for text, want := range map[string]int{"7": 7, "-7.9": -7, "1e300": 0, "-1e300": 0, "null": 0, "": 0, `"7"`: 0, "9007199254740993e3": 0} {
		if got := value(text).int(); got != want {
			t.Errorf("%s: got %d, want %d", text, got, want)
		}
	}
	if f, ok := value("").number(); ok || f != 0 {
		t.Errorf("nothing is the number %v", f)
	}
}

// Objects with more keys than are compared pair by pair.
func TestKeyTwiceAmongMany(t *testing.T) {
	var b strings.Builder
	for i := range 2 * duplicateScan {
		fmt.Fprintf(&b, `,"k%d":0`, i)
	}
	if key, twice := value("{" + b.String()[1:] + "}").object().duplicate(); twice {
		t.Errorf("got %q twice", key)
	}
	if key, twice := value("{" + b.String()[1:] + `,"k7":0}`).object().duplicate(); !twice || key != "k7" {
		t.Errorf("got %q %v, want k7", key, twice)
	}
}

func TestLineLongerThanTheBuffer(t *testing.T) {
	text := strings.Repeat("x", 3*readBuffer)
	whole := `{"type":"user","message":{"content":"` + text + `"}}`
	if tr := parse(t, whole+"\n"+whole); len(tr.Blocks) != 2 || tr.Blocks[0].Text != text || tr.Blocks[1].Text != text || tr.Damage != (Damage{}) {
		t.Errorf("got %d blocks, damage %+v", len(tr.Blocks), tr.Damage)
	}
	cut := whole[:len(whole)-9]
	if d := parse(t, cut+"\n"+whole).Damage; d.Malformed != 1 || d.Truncated != 0 {
		t.Errorf("cut in the middle: got %+v", d)
	}
	if d := parse(t, whole+"\n"+cut).Damage; d.Truncated != 2 || d.Malformed != 0 {
		t.Errorf("cut at the end: got %+v", d)
	}
}

func TestTheFirstDamageIsKept(t *testing.T) {
	if d := parse(t, "{a\n{b\n").Damage; d.Malformed != 1 || !strings.HasPrefix(d.Why, "line 1 ") {
		t.Errorf("got %+v", d)
	}
}

func TestNoiseIsBounded(t *testing.T) {
	tr := parse(t, strings.Repeat(strings.Repeat("x", keptNoise)+"\n", 3))
	if tr.Noise != 3 || len(tr.NoiseText) != keptNoise+1 {
		t.Errorf("got %d lines, %d bytes kept", tr.Noise, len(tr.NoiseText))
	}
}

func TestLimitsAreRead(t *testing.T) {
	for line, want := range map[string]RateLimit{
		`{"type":"rate_limit_event","rate_limit_info":{"status":"rejected","resetsAt":1900000000,"rateLimitType":"five_hour","unifiedWindows":{"five_hour":{"utilization":1.01,"resetsAt":1900000000},"seven_day":{"utilization":0.5,"resetsAt":1900300000},"odd":{"resetsAt":7}}}}`: {
			Line: 1, Status: "rejected", Window: "five_hour", Resets: 1900000000,
			Windows: []LimitWindow{{"five_hour", 1.01, 1900000000}, {"seven_day", .5, 1900300000}},
		},
		`{"type":"rate_limit_event","rate_limit_info":{"status":"allowed_warning","resetsAt":1900000000,"rateLimitType":"seven_day","utilization":0.91}}`: {
			Line: 1, Status: "allowed_warning", Window: "seven_day", Resets: 1900000000, Windows: []LimitWindow{{"seven_day", .91, 1900000000}},
		},
		`{"type":"rate_limit_event","rate_limit_info":{"status":"allowed","utilization":0.2}}`:                                                             {Line: 1, Status: "allowed"},
		`{"type":"rate_limit_event","rate_limit_info":{"rateLimitType":"five_hour","utilization":0.2,"unifiedWindows":{"seven_day":{"utilization":0.3}}}}`: {Line: 1, Window: "five_hour", Windows: []LimitWindow{{"seven_day", .3, 0}}},
		`{"type":"rate_limit_event","rate_limit_info":{"status":"allowed","rateLimitType":"five_hour"}}`:                                                   {Line: 1, Status: "allowed", Window: "five_hour"},
		`{"type":"rate_limit_event","rate_limit_info":"soon"}`:                                                                                             {Line: 1},
	} {
		tr := parse(t, line)
		if diff := cmp.Diff([]RateLimit{want}, tr.Limits); diff != "" || tr.Damage.Malformed != 0 {
			t.Errorf("%s (-want +got):\n%s", line, diff)
		}
	}
	twice := `{"type":"rate_limit_event","rate_limit_info":{"status":"allowed","status":"rejected"}}`
	if tr := parse(t, twice); tr.Damage.Malformed != 1 || len(tr.Limits) != 0 {
		t.Errorf("a key that is there twice: got %+v, damage %+v", tr.Limits, tr.Damage)
	}
}
