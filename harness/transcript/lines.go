package transcript

import "strings"

// SyntheticModel is the model name of lines the CLI writes itself.
const SyntheticModel = "<synthetic>"

// object reads one line of the stream by its type.
func (p *parser) object(o object) {
	if !p.whole(o) {
		return
	}
	switch kind := o.get("type").text(); kind {
	case "system":
		p.system(o)
	case "assistant":
		p.assistant(o)
	case "user":
		p.user(o)
	case "result":
		p.result(o)
	case "rate_limit_event":
		p.rateLimit(o)
	case "stream_event", "control_response":
		// Known, and no evidence of anything.
	default:
		p.unknown(kind)
	}
}

func (p *parser) system(o object) {
	switch subtype := o.get("subtype").text(); subtype {
	case "init":
		p.init(o)
	case "hook_response":
		p.hook(o)
	case "api_retry":
		p.t.Retries = append(p.t.Retries, Retry{
			Line: p.lineN, Attempt: o.get("attempt").int(), Status: o.get("error_status").int(), Error: o.get("error").text(),
		})
	case "permission_denied":
		p.t.Denials = append(p.t.Denials, Denial{Line: p.lineN, ID: o.get("tool_use_id").text(), Tool: o.get("tool_name").text()})
	case "task_notification":
		p.t.Tasks = append(p.t.Tasks, Task{Line: p.lineN, ID: o.get("task_id").text(), Status: o.get("status").text()})
	case "model_refusal_fallback":
		p.t.Fallbacks = append(p.t.Fallbacks, p.lineN)
	case "model_refusal_no_fallback":
		p.t.Refusals = append(p.t.Refusals, p.lineN)
	case "hook_started", "hook_progress", "status", "thinking_tokens", "informational", "ui_invalidate",
		"task_started", "task_progress", "task_updated", "background_tasks_changed":
		// Known, and no evidence of anything.
	default:
		p.unknown("system/" + subtype)
	}
}

func (p *parser) init(o object) {
	in := Init{
		Line: p.lineN, Session: o.get("session_id").text(), CWD: o.get("cwd").text(), Model: o.get("model").text(),
		Version: o.get("claude_code_version").text(), Tools: o.get("tools").strings(), Skills: o.get("skills").strings(),
	}
	for _, e := range o.get("plugins").elements() {
		pl := e.object()
		if !p.whole(pl) {
			return
		}
		in.Plugins = append(in.Plugins, Plugin{
			Name: pl.get("name").text(), Path: pl.get("path").text(), Source: pl.get("source").text(), Version: pl.get("version").text(),
		})
	}
	for _, e := range o.get("plugin_errors").elements() {
		in.PluginErrors = append(in.PluginErrors, e.describe("message"))
	}
	for _, e := range o.get("mcp_servers").elements() {
		in.MCPServers = append(in.MCPServers, e.describe("name"))
	}
	p.t.Inits = append(p.t.Inits, in)
}

// describe returns an entry's naming field, or the entry itself when it is a
// plain string or lacks the field.
func (v value) describe(key string) string {
	if s := v.object().get(key).text(); s != "" {
		return s
	}
	if v.isString() {
		return v.text()
	}
	return string(v)
}

func (p *parser) hook(o object) {
	out := o.get("stdout")
	if !out.isString() {
		out = o.get("output")
	}
	p.t.Hooks = append(p.t.Hooks, Hook{
		Line: p.lineN, Name: o.get("hook_name").text(), Event: o.get("hook_event").text(), Output: out.text(),
		ExitCode: o.get("exit_code").int(), Outcome: o.get("outcome").text(),
	})
}

func (p *parser) assistant(o object) {
	message := o.get("message").object()
	if !p.whole(message) {
		return
	}
	base := Block{
		Line: p.lineN, Message: message.get("id").text(), Model: message.get("model").text(), Parent: o.get("parent_tool_use_id").text(),
	}
	content := message.get("content")
	if base.Model == SyntheticModel || o.get("is_api_error_message").truth() {
		p.t.Synthetic = append(p.t.Synthetic, Synthetic{
			Line: p.lineN, Error: o.get("error").text(), Status: o.get("api_error_status").int(),
			Type: o.get("api_error_type").text(), Text: joinText(content),
		})
		return
	}
	if content.isString() {
		base.Kind, base.Text = Text, content.text()
		p.keep(base)
		return
	}
	for _, e := range content.elements() {
		p.assistantBlock(base, e.object())
	}
}

func (p *parser) assistantBlock(b Block, o object) {
	if !p.whole(o) {
		return
	}
	switch kind := o.get("type"); {
	case kind.is("text"):
		b.Kind, b.Text = Text, o.get("text").text()
	case kind.is("thinking"):
		b.Kind, b.Text = Thinking, o.get("thinking").text()
	case kind.is("tool_use"):
		input := o.get("input")
		if !p.whole(input.object()) {
			return
		}
		b.Kind, b.ID, b.Name = ToolUse, o.get("id").text(), o.get("name").text()
		b.Input = append([]byte(nil), input...)
	default:
		p.unknown("assistant/" + kind.text())
		return
	}
	p.keep(b)
}

func (p *parser) user(o object) {
	message := o.get("message").object()
	if !p.whole(message) {
		return
	}
	base := Block{Line: p.lineN, Parent: o.get("parent_tool_use_id").text()}
	content := message.get("content")
	if content.isString() {
		base.Kind, base.Text = Injected, content.text()
		p.keep(base)
		return
	}
	unexecuted := unexecutedCalls(o.get("tool_result_meta"))
	for _, e := range content.elements() {
		p.userBlock(base, e.object(), unexecuted)
	}
}

func (p *parser) userBlock(b Block, o object, unexecuted map[string]string) {
	if !p.whole(o) {
		return
	}
	switch kind := o.get("type"); {
	case kind.is("text"):
		b.Kind, b.Text = Injected, o.get("text").text()
	case kind.is("tool_result"):
		b.Kind, b.ID, b.Failed = ToolResult, o.get("tool_use_id").text(), o.get("is_error").truth()
		b.Text, b.Unexecuted = joinText(o.get("content")), unexecuted[b.ID]
	default:
		p.unknown("user/" + kind.text())
		return
	}
	p.keep(b)
}

// unexecutedCalls maps a tool call to the reason the CLI did not run it.
func unexecutedCalls(meta value) map[string]string {
	var out map[string]string
	for _, e := range meta.elements() {
		m := e.object()
		if kind := m.get("non_execution_kind").text(); kind != "" {
			if out == nil {
				out = make(map[string]string)
			}
			out[m.get("id").text()] = kind
		}
	}
	return out
}

// joinText returns a content that is a string, or the texts of one that is a
// list of blocks.
func joinText(content value) string {
	if content.isString() {
		return content.text()
	}
	var parts []string
	for _, e := range content.elements() {
		if e.isString() {
			parts = append(parts, e.text())
		} else if o := e.object(); o.get("type").is("text") {
			parts = append(parts, o.get("text").text())
		}
	}
	return strings.Join(parts, "\n")
}

func (p *parser) result(o object) {
	r := Result{
		Line: p.lineN, Subtype: o.get("subtype").text(), IsError: o.get("is_error").truth(),
		APIErrorStatus: o.get("api_error_status").int(), TerminalReason: o.get("terminal_reason").text(),
		StartupFailure: o.get("startup_failure_reason").text(), NumTurns: o.get("num_turns").int(),
		HasText: o.get("result").isString(), Text: o.get("result").text(),
		Usage: usage(o.get("usage").object(), "input_tokens", "output_tokens", "cache_read_input_tokens", "cache_creation_input_tokens"),
	}
	if cost, ok := o.get("total_cost_usd").number(); ok {
		r.CostUSD = &cost
	}
	for _, m := range o.get("modelUsage").object() {
		if r.Models == nil {
			r.Models = make(map[string]ModelUsage)
		}
		r.Models[string(m.key)] = usage(m.value.object(), "inputTokens", "outputTokens", "cacheReadInputTokens", "cacheCreationInputTokens")
	}
	for _, e := range o.get("permission_denials").elements() {
		d := e.object()
		p.t.Denials = append(p.t.Denials, Denial{Line: p.lineN, ID: d.get("tool_use_id").text(), Tool: d.get("tool_name").text()})
	}
	p.t.Results = append(p.t.Results, r)
}

// rateLimit reads what the CLI passes on of an answer's headers. A line without
// a share of the window it speaks of still says when that window ends.
func (p *parser) rateLimit(o object) {
	info := o.get("rate_limit_info").object()
	if !p.whole(info) {
		return
	}
	l := RateLimit{
		Line: p.lineN, Status: info.get("status").text(), Window: info.get("rateLimitType").text(), Resets: int64(info.get("resetsAt").int()),
	}
	for _, m := range info.get("unifiedWindows").object() {
		w := m.value.object()
		if used, ok := w.get("utilization").number(); ok {
			l.Windows = append(l.Windows, LimitWindow{Name: string(m.key), Used: used, Resets: int64(w.get("resetsAt").int())})
		}
	}
	if used, ok := info.get("utilization").number(); ok && len(l.Windows) == 0 && l.Window != "" {
		l.Windows = []LimitWindow{{Name: l.Window, Used: used, Resets: l.Resets}}
	}
	p.t.Limits = append(p.t.Limits, l)
}

func usage(o object, in, out, read, write string) ModelUsage {
	return ModelUsage{
		Input: o.get(in).int(), Output: o.get(out).int(), CacheRead: o.get(read).int(), CacheWrite: o.get(write).int(),
	}
}
