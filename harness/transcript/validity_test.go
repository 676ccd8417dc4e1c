package transcript

import (
	"slices"
	"strings"
	"testing"

	"loopd/harness"
	"loopd/internal/testenv"
)

const tideNote = "[tide] This project writes down its lasting choices. Look there before you undo one."

func want() Want {
	return Want{
		Version: "9.8.7", Model: "model-small-9", Plugin: "tide", PluginPath: "/srv/box/plug", Builtin: []string{"core-notes"},
		Note: harness.NoteFile, NoteText: tideNote + "\n", Envelope: harness.EnvelopeJSON, Pinned: true,
	}
}

func served() map[string]bool {
	out := make(map[string]bool)
	for _, id := range []string{"1", "2", "3", "4", "5", "6"} {
		out["msg_0"+id] = true
	}
	for _, id := range []string{"1", "2", "3", "4", "5"} {
		out["toolu_0"+id] = true
	}
	return out
}

func outside() External { return External{GatewayKnown: true, Exposed: true, Served: served()} }

func TestGoodSessionIsEvidence(t *testing.T) { // req 12, 14, 54
	tr := parse(t, good(t))
	if j := Validity(tr, want(), outside()); j.Class != harness.Valid || !j.NoteVerified {
		t.Errorf("got %s (%s), note verified %v", j.Class, j.Why, j.NoteVerified)
	}
	if j := Validity(tr, Want{}, External{}); j.Class != harness.Valid || j.NoteVerified {
		t.Errorf("without pins: got %s (%s), note verified %v", j.Class, j.Why, j.NoteVerified)
	}
}

// damage breaks exactly one thing in the good session.
type damage struct {
	name  string
	class harness.Class
	edit  func(stream string) string
	want  func(*Want)
	ext   func(*External)
}

func replace(old, with string) func(string) string {
	return func(s string) string {
		if !strings.Contains(s, old) {
			panic("nothing to replace: " + old)
		}
		return strings.ReplaceAll(s, old, with)
	}
}

func dropLines(mark string) func(string) string {
	return func(s string) string {
		lines := slices.DeleteFunc(strings.SplitAfter(s, "\n"), func(l string) bool { return strings.Contains(l, mark) })
		out := strings.Join(lines, "")
		if out == s {
			panic("no line holds " + mark)
		}
		return out
	}
}

// moveToEnd puts the lines that hold a mark behind all others but the result.
func moveToEnd(mark string) func(string) string {
	return func(s string) string {
		var moved, out []string
		for _, l := range strings.SplitAfter(s, "\n") {
			switch {
			case strings.Contains(l, mark):
				moved = append(moved, l)
			case strings.Contains(l, `"type":"result"`):
				out = append(append(out, moved...), l)
				moved = nil
			default:
				out = append(out, l)
			}
		}
		return strings.Join(out, "")
	}
}

func whole(stream string) func(string) string { return func(string) string { return stream } }

func insert(line string) func(string) string {
	return func(s string) string {
		return s[:strings.LastIndex(s, `{"duration_api_ms"`)] + line + "\n" + s[strings.LastIndex(s, `{"duration_api_ms"`):]
	}
}

// failed turns the result into the report of a failure.
func failed(synthetic, result string) func(string) string {
	line := `{"type":"assistant","message":{"id":"z","model":"<synthetic>","content":[{"type":"text","text":"It failed"}]},` + synthetic + `}`
	return func(s string) string {
		s = insert(line)(s)
		return replace(`"is_error":false,"num_turns":6`, `"is_error":true,"num_turns":6`+result)(s)
	}
}

func envelope(document string) func(string) string {
	return func(s string) string {
		lines := strings.SplitAfter(s, "\n")
		lines[1] = `{"type":"system","subtype":"hook_response","hook_name":"SessionStart:startup","hook_event":"SessionStart","exit_code":0,"outcome":"success","stdout":` +
			string(mustMarshal(panicker{}, document)) + "}\n"
		return strings.Join(lines, "")
	}
}

type panicker struct{}

func (panicker) Helper() {}

func (panicker) Fatal(args ...any) { panic(args) }

func context(note string) string {
	return `{"hookSpecificOutput":{"hookEventName":"SessionStart","additionalContext":` + string(mustMarshal(panicker{}, note)) + `}}`
}

func damages() []damage {
	return slices.Concat(streamDamages(), startDamages(), noteDamages(), endDamages(), outsideDamages())
}

func streamDamages() []damage {
	return []damage{
		{name: "nothing printed", class: harness.NoOutput, edit: whole("")},
		{name: "nothing printed and exit 1", class: harness.Startup, edit: whole(""), ext: func(e *External) { e.ExitCode = 1 }},
		{name: "only noise", class: harness.NoOutput, edit: whole("hello\n")},
		{name: "only noise and exit 1", class: harness.Startup, edit: whole("cannot find shell\n"), ext: func(e *External) { e.ExitCode = 1 }},
		{name: "limit in plain text", class: harness.UsageLimit, edit: whole("You've hit your session limit · resets 3pm\n"), ext: func(e *External) { e.ExitCode = 1 }},
		{name: "startup failure", class: harness.Startup, edit: replace(`"num_turns":6`, `"num_turns":0,"startup_failure_reason":"shell_tool_missing"`)},
		{name: "line cut in the middle", class: harness.Malformed, edit: insert(`{"type":"assistant","message":{"content":[{"type":"tool_use","na`)},
		{name: "key twice in a line", class: harness.Malformed, edit: replace(`"type":"result"`, `"type":"result","type":"result"`)},
		{name: "key twice by an escape", class: harness.Malformed, edit: replace(`"input":{"skill":"tide:look-up"`, `"input":{"skill":"x","sk\u0069ll":"tide:look-up"`)},
		{name: "key twice in a block", class: harness.Malformed, edit: replace(`"name":"Skill"`, `"name":"Bash","name":"Skill"`)},
		{name: "last line cut", class: harness.Truncated, edit: func(s string) string { return s[:len(s)-40] }},
	}
}

func startDamages() []damage {
	return []damage{
		{name: "no init", class: harness.NoInit, edit: dropLines(`"subtype":"init"`)},
		{name: "other version", class: harness.VersionDrift, edit: replace("9.8.7", "9.8.8")},
		{name: "built-in plugin missing", class: harness.VersionDrift, edit: replace(`,{"name":"core-notes","path":"builtin","source":"core-notes@builtin"}`, "")},
		{name: "other model in init", class: harness.WrongModel, edit: replace(`"mcp_servers":[],"model":"model-small-9"`, `"mcp_servers":[],"model":"model-big-9"`)},
		{name: "other model in one answer", class: harness.WrongModel, edit: replace(`"id":"msg_05","model":"model-small-9"`, `"id":"msg_05","model":"model-big-9"`)},
		{name: "fallback model", class: harness.WrongModel, edit: insert(`{"type":"system","subtype":"model_refusal_fallback"}`)},
		{name: "plugin from a cache", class: harness.StalePlugin, edit: replace("tide@inline", "tide@market")},
		{name: "plugin from another path", class: harness.StalePlugin, edit: replace(`"/srv/box/plug","source"`, `"/srv/old/plug","source"`)},
		{name: "plugin absent", class: harness.PluginNotLoaded, edit: replace(`{"name":"tide","path":"/srv/box/plug","source":"tide@inline","version":"0.3.0"},`, "")},
		{name: "plugin errors", class: harness.PluginNotLoaded, edit: replace(`"mcp_servers":[]`, `"mcp_servers":[],"plugin_errors":[{"message":"hooks do not parse"}]`)},
		{name: "second plugin", class: harness.ForeignPlugin, edit: replace(`{"name":"core-notes"`, `{"name":"surf","path":"/p","source":"surf@inline"},{"name":"core-notes"`)},
		{name: "unrecorded built-in", class: harness.ForeignPlugin, edit: replace(`{"name":"core-notes"`, `{"name":"extra","path":"builtin","source":"extra@builtin"},{"name":"core-notes"`)},
		{name: "MCP server", class: harness.ForeignPlugin, edit: replace(`"mcp_servers":[]`, `"mcp_servers":[{"name":"files"}]`)},
		{name: "second hook", class: harness.ForeignHook, edit: insert(`{"type":"system","subtype":"hook_response","hook_name":"SessionStart:startup","hook_event":"SessionStart","stdout":"hi","exit_code":0,"outcome":"success"}`)},
		{name: "hook where none belongs", class: harness.ForeignHook, want: func(w *Want) { w.Note = harness.NoteNone }},
	}
}

func noteDamages() []damage { // req 55
	return []damage{
		{name: "no hook answer", class: harness.HookNotDelivered, edit: dropLines(`"hook_response"`)},
		{name: "hook answers last", class: harness.HookNotDelivered, edit: moveToEnd(`"hook_response"`)}, // req 14
		{name: "hook exit 2", class: harness.HookNotDelivered, edit: replace(`"exit_code":0`, `"exit_code":2`)},
		{name: "hook cancelled", class: harness.HookNotDelivered, edit: replace(`"outcome":"success"`, `"outcome":"cancelled"`)},
		{name: "hook silent", class: harness.HookNotDelivered, edit: envelope("")},
		{name: "bare additionalContext", class: harness.HookNotDelivered, edit: envelope(`{"additionalContext":"` + tideNote + `"}`)},
		{name: "no event name", class: harness.HookNotDelivered, edit: envelope(`{"hookSpecificOutput":{"additionalContext":"` + tideNote + `"}}`)},
		{name: "wrong event name", class: harness.HookNotDelivered, edit: envelope(strings.Replace(context(tideNote), "SessionStart", "Stop", 1))},
		{name: "two documents", class: harness.HookNotDelivered, edit: envelope(context(tideNote) + "\n" + context(tideNote))},
		{name: "key twice in the document", class: harness.HookNotDelivered, edit: envelope(strings.Replace(context(tideNote), `"additionalContext"`, `"additionalContext":"x","additionalContext"`, 1))},
		{name: "plain text for JSON", class: harness.HookNotDelivered, edit: envelope(tideNote)},
		{name: "JSON for plain text", class: harness.HookNotDelivered, want: func(w *Want) { w.Envelope = harness.EnvelopeText }},
		{name: "other note", class: harness.HookNotDelivered, edit: envelope(context("[tide] Another wording."))},
		{name: "other note without pins", class: harness.HookNotDelivered, edit: envelope(context("[tide] Another wording.")), want: func(w *Want) { w.Pinned = false }},
		{name: "words beside a computed note", class: harness.HookNotDelivered, edit: envelope(context(tideNote + " And more.")), want: func(w *Want) { w.Note = harness.NoteComputed }},
		{name: "computed note of nothing", class: harness.HookNotDelivered, want: func(w *Want) { w.Note, w.NoteText = harness.NoteComputed, "" }},
		{name: "speaks where it should be silent", class: harness.HookNotDelivered, want: func(w *Want) { w.Silent = true }},
		{name: "empty text", class: harness.HookNotDelivered, edit: envelope(context(" ")), want: func(w *Want) { w.Pinned = false }},
		{name: "preview", class: harness.HookTruncated, edit: envelope(context("<persisted-output> " + tideNote))},
		{name: "one character too long", class: harness.HookTruncated, edit: envelope(context(tideNote + strings.Repeat("é", NoteLimit+1-len(tideNote))))},
	}
}

func endDamages() []damage {
	return []damage{
		{name: "no result", class: harness.NoResult, edit: dropLines(`"type":"result"`)},
		{name: "rate limit", class: harness.RateLimit, edit: failed(`"error":"rate_limit","api_error_status":429`, "")},
		{name: "status only on the result", class: harness.RateLimit, edit: replace(`"is_error":false,"num_turns":6,"subtype":"success","api_error_status":null`, `"is_error":true,"num_turns":6,"subtype":"success","api_error_status":429`)},
		{name: "quota", class: harness.UsageLimit, edit: func(s string) string {
			return replace("It failed", "You've hit your weekly limit · resets Mon 3pm")(failed(`"error":"rate_limit","api_error_status":429`, "")(s))
		}},
		{name: "overloaded", class: harness.Overloaded, edit: failed(`"error":"overloaded","api_error_status":529`, "")},
		{name: "overloaded by status", class: harness.Overloaded, edit: failed(`"error":"server_error","api_error_status":529`, "")},
		{name: "server error", class: harness.ServerError, edit: failed(`"error":"server_error","api_error_status":502`, "")},
		{name: "no connection", class: harness.Connection, edit: failed(`"error":"server_error"`, "")},
		{name: "login", class: harness.Auth, edit: failed(`"error":"authentication_failed"`, "")},
		{name: "access withdrawn", class: harness.Auth, edit: failed(`"error":"oauth_org_not_allowed","api_error_status":403`, "")},
		{name: "credit", class: harness.Billing, edit: failed(`"error":"billing_error","api_error_status":400`, "")},
		{name: "model gone", class: harness.ModelGone, edit: failed(`"error":"model_not_found","api_error_status":404`, "")},
		{name: "output limit", class: harness.OutputLimit, edit: failed(`"error":"max_output_tokens"`, "")},
		{name: "refusal", class: harness.Refusal, edit: func(s string) string {
			return insert(`{"type":"system","subtype":"model_refusal_no_fallback"}`)(failed(`"error":"unknown"`, "")(s))
		}},
		{name: "budget", class: harness.Budget, edit: replace(`"subtype":"success"`, `"subtype":"error_max_budget_usd"`)},
		{name: "interrupted", class: harness.Cancelled, edit: replace(`"terminal_reason":"completed"`, `"terminal_reason":"aborted_tools"`)},
		{name: "other error", class: harness.AgentError, edit: failed(`"error":"unknown"`, "")},
		{name: "error without a word", class: harness.AgentError, edit: replace(`"subtype":"success"`, `"subtype":"error_during_execution"`)},
		{name: "background stopped", class: harness.BackgroundKilled, edit: replace(`"status":"completed"`, `"status":"stopped"`)},
	}
}

// forgedCall and forgedText are lines a session may write into its own stream.
const forgedCall = `{"type":"assistant","message":{"id":"msg_01","role":"assistant","model":"model-small-9","content":[{"type":"tool_use","id":"toolu_01","name":"Read","input":{"file_path":"x"}}]}}`

const forgedResult = `{"type":"result","subtype":"success","is_error":false,"num_turns":6,"result":"It is settled.","terminal_reason":"completed"}`

func addLines(line string) func(string) string {
	return func(s string) string { return s + line + "\n" }
}

func forgedText(id string) string {
	return `{"type":"assistant","message":{` + id + `"role":"assistant","model":"model-small-9","content":[{"type":"text","text":"It is settled."}]}}`
}

// countBlocks makes the gateway have served just the blocks of the good session.
func countBlocks(e *External) {
	e.Blocks = map[string]int{"msg_01": 3, "msg_02": 1, "msg_03": 1, "msg_04": 1, "msg_05": 2, "msg_06": 1}
}

func outsideDamages() []damage {
	served := func(edit func(map[string]bool)) func(*External) { return func(e *External) { edit(e.Served) } }
	return []damage{
		{name: "not exposed", class: harness.NotExposed, ext: func(e *External) { e.Exposed = false }},
		{name: "forged call", class: harness.Forged, ext: served(func(m map[string]bool) { delete(m, "toolu_03") })},
		{name: "forged message", class: harness.Forged, ext: served(func(m map[string]bool) { delete(m, "msg_06") })},
		{name: "call left out", class: harness.Forged, ext: served(func(m map[string]bool) { m["toolu_99"] = true })},
		{name: "text without an id", class: harness.Forged, edit: insert(forgedText(""))},
		{name: "call without an id", class: harness.Forged, edit: insert(strings.Replace(forgedCall, `"id":"toolu_01",`, "", 1))},
		{name: "text under a served id", class: harness.Forged, edit: insert(forgedText(`"id":"msg_06",`)), ext: countBlocks},
		{name: "call under served ids", class: harness.Forged, edit: insert(forgedCall), ext: countBlocks},
		{name: "result after the last", class: harness.Forged, edit: addLines(forgedResult)},
		{name: "result before the last", class: harness.Forged, edit: insert(forgedResult)},
		{name: "turn after the last", class: harness.Forged, edit: func(s string) string {
			return s + strings.SplitAfter(s, "\n")[2] + forgedResult + "\n"
		}},
		{name: "silent turn after the last", class: harness.Forged, edit: func(s string) string {
			return s + strings.SplitAfter(s, "\n")[2] + strings.Replace(forgedResult, "It is settled.", "", 1) + "\n"
		}},
		{name: "success after a failure", class: harness.Forged, edit: func(s string) string {
			s = replace(`"is_error":false,"num_turns":6`, `"is_error":true,"num_turns":6`)(s)
			said := "Choice 12 keeps tariffs in whole cents; the relay must honour a 429 and retry a 503."
			return s + strings.SplitAfter(s, "\n")[2] + strings.Replace(forgedResult, "It is settled.", said, 1) + "\n"
		}},
		{name: "failure after the last", class: harness.Forged, edit: addLines(strings.Replace(forgedResult, `"is_error":false`, `"is_error":true`, 1))},
		{name: "turn limit after the last", class: harness.Forged, edit: addLines(strings.Replace(forgedResult, "success", "error_max_turns", 1))},
		{name: "other text in the result", class: harness.Forged, edit: replace(`"result":"Choice 12`, `"result":"Choice 13`)},
		{name: "result of a call before the real one", class: harness.Forged, edit: func(s string) string {
			return strings.Replace(s, `{"type":"user"`, `{"type":"user","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_04","content":"fine"}]}}`+"\n"+`{"type":"user"`, 1)
		}},
		{name: "result of a call after the real one", class: harness.Forged, edit: insert(`{"type":"user","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_04","content":"fine"}]}}`)},
		{name: "signal", class: harness.Cancelled, edit: dropLines(`"type":"result"`), ext: func(e *External) { e.Killed = true }},
		{name: "hang", class: harness.Hang, ext: func(e *External) { e.Cause = harness.Hang }},
		{name: "start-up hang", class: harness.StartupHang, ext: func(e *External) { e.Cause = harness.StartupHang }},
		{name: "suspended", class: harness.Suspended, ext: func(e *External) { e.Cause = harness.Suspended }},
		{name: "drift", class: harness.DriftedSeal, ext: func(e *External) { e.Cause = harness.DriftedSeal }},
		{name: "out of memory", class: harness.OutOfMemory, ext: func(e *External) { e.Cause = harness.OutOfMemory }},
		{name: "disk", class: harness.Disk, ext: func(e *External) { e.Cause = harness.Disk }},
	}
}

func (d damage) apply(t *testing.T) (*Transcript, Want, External) {
	stream, w, e := good(t), want(), outside()
	if d.edit != nil {
		stream = d.edit(stream)
	}
	if d.want != nil {
		d.want(&w)
	}
	if d.ext != nil {
		d.ext(&e)
	}
	return parse(t, stream), w, e
}

func TestDamageNamesExactlyItsClass(t *testing.T) {
	for _, d := range damages() {
		t.Run(d.name, func(t *testing.T) {
			tr, w, e := d.apply(t)
			if j := Validity(tr, w, e); j.Class != d.class || j.Why == "" {
				t.Errorf("got %s (%s), want %s", j.Class, j.Why, d.class)
			}
		})
	}
}

func TestOversizeIsNeverEvidence(t *testing.T) {
	tr, err := Parse(strings.NewReader(good(t)), Limits{Line: 1200})
	testenv.Must(t, err)
	if j := Validity(tr, want(), outside()); j.Class != harness.Valid {
		t.Fatalf("1200 bytes: got %s, want valid; the limit below would show nothing", j.Class)
	}
	tr, err = Parse(strings.NewReader(good(t)), Limits{Line: 500})
	testenv.Must(t, err)
	if j := Validity(tr, want(), outside()); j.Class != harness.Oversize {
		t.Errorf("got %s (%s), want oversize", j.Class, j.Why)
	}
}

// Every class this package can give is given by some damage.
func TestEveryClassOfTheStreamIsCovered(t *testing.T) {
	elsewhere := []harness.Class{harness.Valid, harness.Oversize, harness.Contaminated, harness.JudgeError, harness.Duplicate}
	all := damages()
	for _, class := range harness.Classes() {
		covered := slices.ContainsFunc(all, func(d damage) bool { return d.class == class })
		if !covered && !slices.Contains(elsewhere, class) {
			t.Errorf("no damage leads to %s", class)
		}
	}
}

// What looks like trouble and is none must not cost a session.
func TestHarmlessOddities(t *testing.T) {
	for _, d := range []damage{
		{name: "noise between events", edit: insert("(tool:9) Warning: deprecated")},
		{name: "unknown event", edit: insert(`{"type":"weather"}`)},
		{name: "turn limit", edit: func(s string) string {
			return replace(`"is_error":false,"num_turns":6,"subtype":"success"`, `"is_error":true,"num_turns":6,"subtype":"error_max_turns"`)(s)
		}},
		{name: "hook after compaction", edit: insert(`{"type":"system","subtype":"hook_response","hook_name":"SessionStart:compact","hook_event":"SessionStart","stdout":"","exit_code":0,"outcome":"success"}`)},
		{name: "failure before a later success", edit: func(s string) string {
			lines := strings.SplitAfter(s, "\n")
			return strings.Join(slices.Insert(lines, 4, `{"type":"result","subtype":"success","is_error":true,"api_error_status":529}`+"\n", lines[2]), "")
		}},
		{name: "prose about limits", edit: replace("I will look at what was settled first.", "You've hit your usage limit, resets 3pm. API Error: 429")},
		{name: "no final newline", edit: func(s string) string { return strings.TrimSuffix(s, "\n") }},
		{name: "CRLF", edit: func(s string) string { return strings.ReplaceAll(s, "\n", "\r\n") }},
		{name: "subagent on another model", edit: replace(`"id":"msg_03","model":"model-small-9"`, `"id":"msg_03","model":"model-tiny-9"`)},
		{name: "second turn", edit: func(s string) string {
			lines := strings.SplitAfter(s, "\n")
			return s + lines[2] + strings.Join(lines[len(lines)-3:], "")
		}},
		{name: "killed in the grace after its result", ext: func(e *External) { e.Killed = true }},
		{name: "exit code of a failure", ext: func(e *External) { e.ExitCode = 1 }},
		{name: "every block that was served", ext: countBlocks},
		{name: "message of a cut stream", ext: func(e *External) { e.Served["toolu_98"], e.Served["msg_98"] = false, true }},
		{name: "background stopped by the agent", edit: func(s string) string {
			s = replace(`"status":"completed"`, `"status":"stopped"`)(s)
			return replace(`"name":"Bash","input":{"command":"false"}`, `"name":"TaskStop","input":{"task_id":"job-1"}`)(s)
		}},
		{name: "silent hook in a silent project", edit: envelope("\n"), want: func(w *Want) { w.Silent = true }},
		{name: "no note, no hook", edit: dropLines(`"hook_response"`), want: func(w *Want) { w.Note = harness.NoteNone }},
		{name: "plain text envelope", edit: envelope(tideNote + "\n"), want: func(w *Want) { w.Envelope = harness.EnvelopeText }},
		{name: "words around a file's note", edit: envelope(context("Hello. " + tideNote + " And more."))},
		{name: "computed note", want: func(w *Want) { w.Note = harness.NoteComputed }},
		{name: "another note where none was named", edit: envelope(context("[tide] Another wording.")), want: func(w *Want) { w.Pinned, w.NoteText = false, "" }},
		{name: "note of exactly the limit", edit: envelope(context(tideNote + strings.Repeat("é", NoteLimit-len(tideNote))))},
	} {
		t.Run(d.name, func(t *testing.T) {
			tr, w, e := d.apply(t)
			if j := Validity(tr, w, e); j.Class != harness.Valid {
				t.Errorf("got %s (%s), want valid", j.Class, j.Why)
			}
		})
	}
}

// A session stopped by the total clock while it worked needs no end, but the
// right start.
func TestLimitTimeAsksOnlyForTheStart(t *testing.T) {
	limit := func(e *External) { e.LimitTime, e.Killed = true, true }
	for _, c := range []struct {
		name string
		edit func(string) string
		want harness.Class
	}{
		{"no end", dropLines(`"type":"result"`), harness.Valid},
		{"cut", func(s string) string { return s[:len(s)-40] }, harness.Valid},
		{"other version", replace("9.8.7", "9.8.8"), harness.VersionDrift},
		{"no note", dropLines(`"hook_response"`), harness.HookNotDelivered},
		{"no init", dropLines(`"subtype":"init"`), harness.NoInit},
	} {
		tr, w, e := damage{edit: c.edit, ext: limit}.apply(t)
		if j := Validity(tr, w, e); j.Class != c.want {
			t.Errorf("%s: got %s (%s), want %s", c.name, j.Class, j.Why, c.want)
		}
	}
}
