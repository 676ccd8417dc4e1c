package fake

import (
	"cmp"
	"fmt"
	"strings"
	"time"
)

// ending is how a session ended, in the words of the result line.
type ending struct {
	subtype string
	reason  string    // terminal_reason
	text    string    // result
	errors  []string  // for endings without text
	api     *apiError // nil unless the API gave no answer
	turns   int       // num_turns, when it is not 1 more than the user lines
}

func endMaxTurns(n int) ending {
	return ending{subtype: "error_max_turns", reason: "max_turns", turns: n + 1,
		errors: []string{fmt.Sprintf("Reached maximum number of turns (%d)", n)}}
}

func endBudget(usd float64) ending {
	return ending{subtype: "error_max_budget_usd", reason: "max_budget",
		errors: []string{fmt.Sprintf("Reached maximum budget ($%g)", usd)}}
}

// price is list prices in dollars per million tokens.
type price struct{ in, out, write, read float64 }

// priceOf returns the list price the pinned CLI works with. A model it does
// not know is charged like the middle tier, so that a cost is never missing.
func priceOf(model string) price {
	table := []struct {
		prefix string
		price  price
	}{
		{"claude-haiku-5", price{0.1, 0.5, 0.125, 0.01}},
		{"claude-opus-5", price{4, 20, 5, 0.2}},
		{"claude-haiku-4", price{1, 5, 1.25, 0.1}},
		{"claude-sonnet-4", price{3, 15, 3.75, 0.3}},
		{"claude-opus-4", price{5, 25, 6.25, 0.5}},
	}
	for _, row := range table {
		if strings.HasPrefix(model, row.prefix) {
			return row.price
		}
	}
	return price{2, 10, 2.5, 0.1}
}

func (p price) of(u usage) float64 {
	micro := float64(u.Input)*p.in + float64(u.Output)*p.out + float64(u.CacheWrite)*p.write + float64(u.CacheRead)*p.read
	return micro / 1e6
}

// spending is what a session has used so far.
type spending struct {
	model string
	sum   usage
	api   time.Duration
	any   bool
}

func (s *spending) add(a answer) {
	u := a.total()
	s.model, s.any = a.model, true
	s.sum.Input += u.Input
	s.sum.Output += u.Output
	s.sum.CacheWrite += u.CacheWrite
	s.sum.CacheRead += u.CacheRead
}

func (s spending) cost() float64 { return priceOf(s.model).of(s.sum) }

// perModel is the result line's modelUsage.
func (s spending) perModel() object {
	if !s.any {
		return object{}
	}
	return object{s.model: object{
		"inputTokens": s.sum.Input, "outputTokens": s.sum.Output, "cacheReadInputTokens": s.sum.CacheRead,
		"cacheCreationInputTokens": s.sum.CacheWrite, "webSearchRequests": 0, "costUSD": s.cost(),
		"contextWindow": 1_000_000, "maxOutputTokens": maxOutput, "thinkingTokens": 0,
		"cacheCreationEphemeral5mInputTokens": 0, "cacheCreationEphemeral1hInputTokens": 0,
		"canonicalModel": s.model, "provider": "firstParty", "costBasis": "list",
	}}
}

// usageReport is the usage object of result and synthetic lines. With known
// unset the unknown parts are null.
func usageReport(u usage, known bool) object {
	o := object{
		"input_tokens": u.Input, "output_tokens": u.Output, "cache_creation_input_tokens": u.CacheWrite,
		"cache_read_input_tokens": u.CacheRead, "output_tokens_details": nil, "service_tier": nil,
		"server_tool_use": object{"web_search_requests": 0, "web_fetch_requests": 0},
		"cache_creation":  object{"ephemeral_1h_input_tokens": 0, "ephemeral_5m_input_tokens": 0},
		"inference_geo":   nil, "iterations": nil, "speed": nil, "fallback_credit": nil,
	}
	if known {
		o["output_tokens_details"] = object{"thinking_tokens": 0}
		o["service_tier"], o["inference_geo"], o["iterations"], o["speed"] = "standard", "", []any{}, "standard"
	}
	return o
}

// result is the last line of a session that was not cut short.
func (s *session) result(stop string, e ending) object {
	wall := time.Since(s.started).Milliseconds()
	o := object{
		"type": "result", "subtype": e.subtype, "is_error": e.subtype != "success" || e.api != nil,
		"duration_ms": wall, "duration_api_ms": s.spent.api.Milliseconds(), "num_turns": cmp.Or(e.turns, 1+s.userLines),
		"stop_reason": stop, "terminal_reason": e.reason, "session_id": s.id, "uuid": s.out.uuid(),
		"total_cost_usd": s.spent.cost(), "usage": usageReport(s.spent.sum, true),
		"modelUsage": s.spent.perModel(), "model_usage_since_last_result": s.spent.perModel(),
		"permission_denials": []any{}, "fast_mode_state": "off", "fast_mode_disabled_reason": "sdk_opt_in_required",
		"subagent_stats": noSubagents(), "safety_stops": 0, "queued_turn_count": 0, "result_index": 0,
	}
	switch {
	case e.subtype != "success":
		o["errors"] = e.errors
	case e.api != nil:
		o["result"] = e.text
		e.api.describe(o)
	default:
		o["result"], o["api_error_status"] = e.text, nil
		for _, key := range []string{"ttft_ms", "ttft_stream_ms", "time_to_request_ms", "first_content_frame_ms"} {
			o[key] = wall
		}
	}
	return o
}

// describe adds what the result line says of an API error.
func (e *apiError) describe(o object) {
	o["api_error_status"] = nil
	if e.status != 0 {
		o["api_error_status"] = e.status
	}
	if e.kind != "" {
		o["api_error_type"] = e.kind
	}
	if d := e.detail(); d != "" {
		o["api_error"] = d
	}
}

func noSubagents() object {
	return object{
		"spawned": 0, "requested": object{"background": 0, "foreground": 0, "unset": 0},
		"started_in_background": 0, "max_depth": 0, "spawned_by_subagents": 0, "completed": 0, "failed": 0,
		"killed":  object{"parent": 0, "user": 0, "system": 0},
		"refused": object{"depth_limit": 0, "concurrency_limit": 0, "budget": 0}, "by_type": object{},
	}
}
