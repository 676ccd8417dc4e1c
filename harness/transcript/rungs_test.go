package transcript

import (
	"encoding/json"
	"strings"
	"testing"

	"loopd/harness"
)

// Each of these sessions is one step from a rule that would refuse it.
func TestNearlyRefused(t *testing.T) {
	unpinned := func(edit func(*Want)) func(*Want) {
		return func(w *Want) {
			w.Pinned = false
			if edit != nil {
				edit(w)
			}
		}
	}
	second := func(line string) func(string) string {
		return func(s string) string { return strings.Replace(s, "\n", "\n"+line+"\n", 1) }
	}
	for _, d := range []damage{
		{name: "no gateway", ext: func(e *External) { e.GatewayKnown, e.Served = false, map[string]bool{} }},
		{name: "nothing known to be served", ext: func(e *External) { e.Served = nil }},
		{name: "call not shown at a time limit", ext: func(e *External) { e.LimitTime, e.Served["toolu_99"] = true, true }},
		{name: "results without a call", edit: insert(strings.Repeat(`{"type":"user","message":{"content":[{"type":"tool_result","content":"x"}]}}`+"\n", 2))},
		{name: "other version without pins", edit: replace("9.8.7", "9.8.8"), want: unpinned(nil)},
		{name: "no version to compare", want: func(w *Want) { w.Version = "" }},
		{name: "other model without pins", edit: replace("model-small-9", "model-big-9"), want: unpinned(nil)},
		{name: "no model to compare", want: func(w *Want) { w.Model = "" }},
		{name: "any plugin", want: unpinned(func(w *Want) { w.Plugin = "" })},
		{name: "plugin from a cache without pins", edit: replace("tide@inline", "tide@market"), want: unpinned(nil)},
		{name: "no path to compare", want: func(w *Want) { w.PluginPath = "" }},
		{name: "other built-in without pins", want: unpinned(func(w *Want) { w.Builtin = []string{"other"} })},
		{name: "no built-ins to compare", want: func(w *Want) { w.Builtin = nil }},
		{name: "hook of another event", edit: insert(`{"type":"system","subtype":"hook_response","hook_event":"Stop","stdout":"hi","exit_code":0,"outcome":"success"}`)},
		{name: "hook without its matcher", edit: replace(`"hook_name":"SessionStart:startup"`, `"hook_name":"SessionStart"`)},
		{name: "hook without a name", edit: replace(`"hook_name":"SessionStart:startup"`, `"hook_name":""`)},
		{name: "prompt before the hook", edit: second(`{"type":"user","message":{"content":"the prompt"}}`)},
		{name: "computed note nobody named", want: unpinned(func(w *Want) { w.Note, w.NoteText = harness.NoteComputed, "" })},
		{name: "plain text without pins", edit: envelope(tideNote), want: unpinned(nil)},
		{name: "cause that is none", ext: func(e *External) { e.Cause = harness.Valid }},
	} {
		t.Run(d.name, func(t *testing.T) {
			tr, w, e := d.apply(t)
			if j := Validity(tr, w, e); j.Class != harness.Valid || len(j.Evidence) != 0 {
				t.Errorf("got %s (%s), want valid", j.Class, j.Why)
			}
		})
	}
}

// And each of these is refused by one rule alone.
func TestRefusedByOneRule(t *testing.T) {
	for _, d := range []damage{
		{name: "thinking without an id", class: harness.Forged, edit: insert(`{"type":"assistant","message":{"model":"model-small-9","content":[{"type":"thinking","thinking":"x"}]}}`)},
		{name: "another plugin instead", class: harness.PluginNotLoaded, edit: replace(`"name":"tide"`, `"name":"surf"`)},
		{name: "envelope the CLI drops, without pins", class: harness.HookNotDelivered, edit: envelope(`{"additionalContext":"x"}`), want: func(w *Want) { w.Pinned, w.NoteText = false, "" }},
		{name: "blank plain text", class: harness.HookNotDelivered, edit: envelope(" \n"), want: func(w *Want) { w.Envelope, w.NoteText = harness.EnvelopeText, "" }},
		{name: "killed before a word", class: harness.Startup, edit: whole(""), ext: func(e *External) { e.Killed, e.ExitCode = true, 137 }},
		{name: "cause that is none, and no result", class: harness.NoResult, edit: dropLines(`"type":"result"`), ext: func(e *External) { e.Cause = harness.Valid }},
		{name: "background work killed", class: harness.BackgroundKilled, edit: replace(`"status":"completed"`, `"status":"killed"`)},
		{name: "background work without an id", class: harness.BackgroundKilled, edit: replace(`"task_id":"job-1","status":"completed"`, `"status":"stopped"`)},
	} {
		t.Run(d.name, func(t *testing.T) {
			tr, w, e := d.apply(t)
			if j := Validity(tr, w, e); j.Class != d.class {
				t.Errorf("got %s (%s), want %s", j.Class, j.Why, d.class)
			}
		})
	}
}

// A session at its time limit is asked the rungs of the start and no other.
func TestLimitTimeAsksEachRungOfTheStart(t *testing.T) {
	for _, d := range []damage{
		{name: "nothing printed", class: harness.NoInit, edit: whole("")},
		{name: "startup failure", class: harness.Valid, edit: replace(`"num_turns":6`, `"num_turns":0,"startup_failure_reason":"shell_tool_missing"`)},
		{name: "background work stopped", class: harness.Valid, edit: replace(`"status":"completed"`, `"status":"stopped"`)},
		{name: "failed", class: harness.Valid, edit: replace(`"subtype":"success"`, `"subtype":"error_during_execution"`)},
		{name: "other model", class: harness.WrongModel, edit: replace(`"mcp_servers":[],"model":"model-small-9"`, `"mcp_servers":[],"model":"model-big-9"`)},
		{name: "plugin errors", class: harness.PluginNotLoaded, edit: replace(`"mcp_servers":[]`, `"mcp_servers":[],"plugin_errors":["x"]`)},
		{name: "hook where none belongs", class: harness.ForeignHook, want: func(w *Want) { w.Note = harness.NoteNone }},
		{name: "not exposed", class: harness.NotExposed, ext: func(e *External) { e.Exposed = false }},
		{name: "forged call", class: harness.Forged, ext: func(e *External) { delete(e.Served, "toolu_03") }},
	} {
		t.Run(d.name, func(t *testing.T) {
			tr, w, e := d.apply(t)
			e.LimitTime, e.Killed = true, true
			if j := Validity(tr, w, e); j.Class != d.class {
				t.Errorf("got %s (%s), want %s", j.Class, j.Why, d.class)
			}
		})
	}
}

// A note is verified where the wanted one was delivered, and nowhere else.
func TestNoteVerified(t *testing.T) {
	for _, c := range []struct {
		damage
		want bool
	}{
		{damage{name: "delivered"}, true},
		{damage{name: "delivered, and another rung fails", edit: replace("9.8.7", "9.8.8")}, true},
		{damage{name: "not delivered", edit: dropLines(`"hook_response"`)}, false},
		{damage{name: "another note", edit: envelope(context("x"))}, false},
		{damage{name: "silent by order", edit: envelope(""), want: func(w *Want) { w.Silent = true }}, false},
		{damage{name: "no note in the wording", want: func(w *Want) { w.Note = harness.NoteNone }}, false},
		{damage{name: "no text to compare", want: func(w *Want) { w.NoteText = " " }}, false},
	} {
		tr, w, e := c.apply(t)
		if got := Validity(tr, w, e).NoteVerified; got != c.want {
			t.Errorf("%s: got %v, want %v", c.name, got, c.want)
		}
	}
}

// What a class rests on is pointed at where it has a line.
func TestEvidenceOfAClass(t *testing.T) {
	tr := parse(t, strings.ReplaceAll(good(t), "9.8.7", "9.8.8"))
	if j := Validity(tr, want(), outside()); len(j.Evidence) != 1 || j.Evidence[0].Line != 3 || j.Evidence[0].What != j.Why {
		t.Errorf("got %+v, want line 3", j.Evidence)
	}
	if j := Validity(parse(t, ""), want(), outside()); len(j.Evidence) != 0 {
		t.Errorf("got %+v, want none", j.Evidence)
	}
}

func TestResultsAreBorneOut(t *testing.T) {
	text := func(line int, s string) Block { return Block{Kind: Text, Line: line, Text: s} }
	done := func(line int, s string) Result { return Result{Line: line, Subtype: "success", Text: s} }
	for _, c := range []struct {
		name    string
		blocks  []Block
		results []Result
		forged  bool
	}{
		{"as said", []Block{text(2, "a")}, []Result{done(3, "a")}, false},
		{"two turns", []Block{text(2, "a"), text(5, "b")}, []Result{done(3, "a"), done(6, "b")}, false},
		{"the first turn's again", []Block{text(2, "a"), text(5, "b")}, []Result{done(3, "a"), done(6, "a")}, true},
		{"subagent last", []Block{text(2, "a"), {Kind: Text, Line: 3, Parent: "toolu_1", Text: "b"}}, []Result{done(4, "a")}, false},
		{"subagent alone", []Block{{Kind: Text, Line: 3, Parent: "toolu_1", Text: "b"}}, []Result{done(4, "")}, true},
		{"call last", []Block{text(2, "a"), {Kind: ToolUse, Line: 3}}, []Result{done(4, "a")}, false},
		{"thinking last", []Block{text(2, "a"), {Kind: Thinking, Line: 3, Text: "b"}}, []Result{done(4, "a")}, false},
		{"result of a tool alone", []Block{{Kind: ToolResult, Line: 3}}, []Result{done(4, "")}, true},
		{"injected text alone", []Block{{Kind: Injected, Line: 3}}, []Result{done(4, "")}, true},
		{"no text", []Block{text(2, "a")}, []Result{done(3, " ")}, false},
		{"limit", []Block{text(2, "a")}, []Result{{Line: 3, Subtype: "error_max_turns", Text: "b"}}, false},
		{"failure", nil, []Result{{Line: 3, Subtype: "success", IsError: true, Text: "b"}}, false},
	} {
		if v := resultUnsaid(&Transcript{Blocks: c.blocks, Results: c.results}); (v.class == harness.Forged) != c.forged {
			t.Errorf("%s: got %+v", c.name, v)
		}
	}
}

// A turn that begins later bears out no result before it.
func TestResultBeforeItsTurn(t *testing.T) {
	tr := &Transcript{Inits: []Init{{Line: 1}, {Line: 9}}, Results: []Result{{Line: 5}, {Line: 6}}}
	if v := resultTwice(tr); v.class != harness.Forged || v.line != 6 {
		t.Errorf("got %+v, want forged at line 6", v)
	}
}

func TestFailureClasses(t *testing.T) {
	for _, c := range []struct {
		name   string
		status int
		want   harness.Class
	}{
		{"rate_limit", 0, harness.RateLimit},
		{"overloaded", 0, harness.Overloaded},
		{"authentication_failed", 0, harness.Auth},
		{"oauth_org_not_allowed", 0, harness.Auth},
		{"billing_error", 0, harness.Billing},
		{"model_not_found", 0, harness.ModelGone},
		{"max_output_tokens", 0, harness.OutputLimit},
		{"refusal", 0, harness.Refusal},
		{"", 401, harness.Auth},
		{"", 403, harness.Auth},
		{"", 402, harness.Billing},
		{"", 404, harness.ModelGone},
		{"", 429, harness.RateLimit},
		{"", 529, harness.Overloaded},
		{"", 500, harness.ServerError},
		{"", 499, harness.AgentError},
		{"server_error", 0, harness.Connection},
		{"server_error", 400, harness.AgentError},
		{"", 0, harness.AgentError},
	} {
		if got := failureClass(&Transcript{}, Synthetic{Error: c.name, Status: c.status}); got != c.want {
			t.Errorf("%q %d: got %s, want %s", c.name, c.status, got, c.want)
		}
	}
}

func TestResetTimes(t *testing.T) {
	for _, c := range []struct {
		text   string
		status int
		want   harness.Class
	}{
		{"your limit resets 3pm", 429, harness.UsageLimit},
		{"will reset at 15:00", 429, harness.UsageLimit},
		{"Resetting in 2 hours", 0, harness.UsageLimit},
		{"resets 3pm", 503, harness.RateLimit},
		{"presets 3", 429, harness.RateLimit},
		{"resettled 3", 429, harness.RateLimit},
		{"it resets. 3 more", 429, harness.RateLimit},
		{"it resets\n3 more", 429, harness.RateLimit},
		{"it resets soon", 429, harness.RateLimit},
	} {
		if got := limitClass(Synthetic{Status: c.status, Text: c.text}); got != c.want {
			t.Errorf("%q %d: got %s, want %s", c.text, c.status, got, c.want)
		}
	}
}

// The failure that explains a result is named before it, and by a name.
func TestFailureOfAResult(t *testing.T) {
	r := Result{Line: 5, Text: "own", APIErrorStatus: 529}
	for _, c := range []struct {
		name string
		s    []Synthetic
		want Synthetic
	}{
		{"none", nil, Synthetic{Line: 5, Text: "own", Status: 529}},
		{"before", []Synthetic{{Line: 4, Error: "refusal", Status: 400}}, Synthetic{Line: 4, Error: "refusal", Status: 400}},
		{"last before", []Synthetic{{Line: 3, Error: "refusal", Status: 1}, {Line: 4, Error: "overloaded", Status: 2}}, Synthetic{Line: 4, Error: "overloaded", Status: 2}},
		{"after", []Synthetic{{Line: 6, Error: "refusal", Status: 400}}, Synthetic{Line: 5, Text: "own", Status: 529}},
		{"without a name", []Synthetic{{Line: 4, Status: 400}}, Synthetic{Line: 5, Text: "own", Status: 529}},
	} {
		if got := failure(&Transcript{Synthetic: c.s}, r); got != c.want {
			t.Errorf("%s: got %+v, want %+v", c.name, got, c.want)
		}
	}
	for _, c := range []struct {
		r    Result
		f    Synthetic
		want string
	}{
		{Result{TerminalReason: "b", Subtype: "c"}, Synthetic{Error: "a"}, "a"},
		{Result{TerminalReason: "b", Subtype: "c"}, Synthetic{}, "b"},
		{Result{Subtype: "c"}, Synthetic{}, "c"},
		{Result{}, Synthetic{}, "no reason given"},
	} {
		if got := describe(c.r, c.f); got != c.want {
			t.Errorf("got %q, want %q", got, c.want)
		}
	}
}

func TestPlainTextLimits(t *testing.T) {
	for text, want := range map[string]bool{
		"You've hit your session limit": true,
		"You have reached the limit":    true,
		"HIT YOUR WEEKLY LIMIT":         true,
		"usage limit reached":           true,
		"session limit reached":         true,
		"weekly limit reached":          true,
		"whit your limit":               false,
		"hit your limits":               false,
		"misusage limit reached":        false,
		"usage limit reachedness":       false,
		"hit a limit":                   false,
	} {
		if got := limitWords.MatchString(text); got != want {
			t.Errorf("%q: got %v, want %v", text, got, want)
		}
	}
}

func TestStoppedTask(t *testing.T) {
	for _, c := range []struct {
		tool, input, id string
		ok              bool
	}{
		{"TaskStop", `{"task_id":"a"}`, "a", true},
		{"KillShell", `{"shell_id":"b"}`, "b", true},
		{"KillBash", `{"bash_id":"c"}`, "c", true},
		{"TaskOutput", `{"task_id":"a"}`, "", false},
		{"TaskStop", `{}`, "", false},
	} {
		if id, ok := stoppedTask(Call{Block: Block{Name: c.tool, Input: []byte(c.input)}}); id != c.id || ok != c.ok {
			t.Errorf("%s %s: got %q %v", c.tool, c.input, id, ok)
		}
	}
}

func TestWhyTheCLIDropsADocument(t *testing.T) {
	for document, want := range map[string]string{
		`{"a":1}`: "no hookSpecificOutput",
		`{"hookSpecificOutput":{"hookEventName":"Stop","additionalContext":"x"}}`:                               "names another event",
		`{"hookSpecificOutput":{"hookEventName":"SessionStart","additionalContext":" "}}`:                       "no additionalContext",
		`{"a":1,"a":1,"hookSpecificOutput":{"hookEventName":"SessionStart","additionalContext":"x"}}`:           "the key a twice",
		`{"hookSpecificOutput":{"hookEventName":"SessionStart","additionalContext":"x","b":1,"b":2}}`:           "the key b twice",
		`{"hookSpecificOutput":{"hookEventName":"SessionStart","additionalContext":"x"}} {"hookSpecificOutput"`: "one JSON document",
	} {
		if text, why := openEnvelope([]byte(document)); text != "" || !strings.Contains(why, want) {
			t.Errorf("%s: got %q, %q, want %q", document, text, why, want)
		}
	}
}

func TestDelivered(t *testing.T) {
	for _, c := range []struct {
		name     string
		edit     func(string) string
		envelope harness.Envelope
		text     string
		class    harness.Class
	}{
		{"note", nil, harness.EnvelopeJSON, tideNote, ""},
		{"plain text", envelope(" a note\n"), harness.EnvelopeText, "a note", ""},
		{"plain text for JSON", envelope("a note"), harness.EnvelopeJSON, "", harness.HookNotDelivered},
		{"no hook", dropLines(`"hook_response"`), harness.EnvelopeJSON, "", harness.HookNotDelivered},
		{"second hook", insert(`{"type":"system","subtype":"hook_response","hook_event":"SessionStart"}`), harness.EnvelopeJSON, "", harness.ForeignHook},
		{"no plugin", replace("tide@inline", "tide@builtin"), harness.EnvelopeJSON, "", harness.PluginNotLoaded},
	} {
		stream := good(t)
		if c.edit != nil {
			stream = c.edit(stream)
		}
		if text, class, why := Delivered(parse(t, stream), c.envelope); text != c.text || class != c.class || (why == "") != (class == "") {
			t.Errorf("%s: got %q, %s, %q", c.name, text, class, why)
		}
	}
	if !json.Valid([]byte(context(tideNote))) {
		t.Error("the cases' own envelope is no JSON")
	}
}
