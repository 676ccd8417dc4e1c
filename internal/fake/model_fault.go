package fake

import (
	"net/http"
	"strconv"
	"strings"
	"time"
)

// Fault is what goes wrong in a session.
type Fault string

// The faults a session can have.
const (
	FaultNone           Fault = ""                // nothing goes wrong
	FaultOverloaded     Fault = "overloaded"      // 529 for the first two requests, then fine
	FaultOverloadedOnce Fault = "overloaded_once" // 529 for the first request, then fine
	FaultUnavailable    Fault = "unavailable"     // 529 for every request
	FaultRateLimit      Fault = "rate_limit"      // 429 with a long retry-after
	FaultRetryAfter     Fault = "retry_after"     // 429 with a retry-after of a second, then fine
	FaultAllowance      Fault = "allowance"       // 429 with the headers of a subscription that is used up
	FaultCostly         Fault = "costly"          // a first turn of three million tokens
	FaultUsageLimit     Fault = "usage_limit"     // 429 whose text names the moment it resets
	FaultServerError    Fault = "server_error"    // 500 for every request
	FaultAuth           Fault = "auth"            // 401
	FaultForbidden      Fault = "forbidden"       // 403: the organisation no longer allows the login
	FaultBilling        Fault = "billing"         // 400, credit used up
	FaultModelGone      Fault = "model_gone"      // 404 for the model
	FaultReset          Fault = "reset"           // the connection is dropped before any answer
	FaultGarbage        Fault = "garbage"         // 200 with a page of a proxy instead of an answer
	FaultCut            Fault = "cut"             // the first answer is cut in mid-stream
	FaultErrorEvent     Fault = "error_event"     // the first answer ends in an error event
	FaultHang           Fault = "hang"            // no answer until the client gives up
	FaultHangLater      Fault = "hang_later"      // the same from the second request on
	FaultStall          Fault = "stall"           // answers stop in mid-stream and stay open
	FaultEndless        Fault = "endless"         // the first answer never ends
	FaultHuge           Fault = "huge"            // the last answer is of a megabyte
	FaultNoUsage        Fault = "no_usage"        // the token counts are null
	FaultOtherModel     Fault = "other_model"     // another model says it answered
	FaultRefusal        Fault = "refusal"         // the model refuses
	FaultMaxTokens      Fault = "max_tokens"      // every answer ends at the token limit
	FaultCrash          Fault = "crash"           // the first turn kills the agent
	FaultTerminate      Fault = "terminate"       // the first turn terminates the agent
)

// shape is how an answer goes wrong on the wire.
type shape string

const (
	shapeReset   shape = "reset"
	shapeGarbage shape = "garbage"
	shapeHang    shape = "hang"
	shapeCut     shape = "cut"
	shapeStall   shape = "stall"
	shapeEndless shape = "endless"
	shapeError   shape = "error"
)

// fault is how one Fault shows. Of status, shape and command at most one is
// set.
type fault struct {
	first   int // requests it concerns, counted from the first; 0 = all
	spares  int // requests before them that go well
	status  int
	kind    string // error type of the body
	message string
	retry   string // retry-after header
	used    bool   // with the headers of an allowance that is used up
	shape   shape
	answer  func(*reply) // what the answer says instead
	command string       // Bash command of an extra first turn
}

// costly is how many tokens a costly turn has.
const costly = 3_000_000

// huge is how long a huge answer is, in bytes.
const huge = 1 << 20

// otherModel is who answers where the wrong model does.
const otherModel = "claude-other-9"

// faultOf returns the behaviour of a fault, and whether there is such a fault.
// The commands use $PPID because the agent's Bash tool runs "bash -c" as its
// own child: there it is the agent. Terminating also waits, so that no further
// turn can win the race against the signal.
func faultOf(f Fault) (fault, bool) {
	overloaded := fault{status: 529, kind: "overloaded_error", message: "Overloaded"}
	limited := fault{status: http.StatusTooManyRequests, kind: "rate_limit_error",
		message: "This request would exceed the rate limit", retry: "3600"}
	table := map[Fault]fault{
		FaultNone:           {},
		FaultOverloaded:     overloaded.firstOnly(2),
		FaultOverloadedOnce: overloaded.firstOnly(1),
		FaultUnavailable:    overloaded,
		FaultRateLimit:      limited,
		FaultRetryAfter:     {first: 1, status: limited.status, kind: limited.kind, message: limited.message, retry: "1"},
		FaultAllowance:      {status: limited.status, kind: limited.kind, message: limited.message, retry: "3600", used: true},
		FaultCostly:         {first: 1, command: "true", answer: func(r *reply) { r.usage.Output = costly }},
		FaultUsageLimit: {status: limited.status, kind: limited.kind, retry: "3600",
			message: "You've hit your session limit · resets 3:50pm (UTC)"},
		FaultServerError: {status: http.StatusInternalServerError, kind: "api_error", message: "Internal server error"},
		FaultAuth:        {status: http.StatusUnauthorized, kind: "authentication_error", message: "invalid x-api-key"},
		FaultForbidden: {status: http.StatusForbidden, kind: "permission_error",
			message: "OAuth authentication is currently not allowed for this organization."},
		FaultBilling: {status: http.StatusBadRequest, kind: "invalid_request_error",
			message: "Your credit balance is too low to access the API"},
		FaultModelGone:  {status: http.StatusNotFound, kind: "not_found_error", message: "model: no such model"},
		FaultReset:      {shape: shapeReset},
		FaultGarbage:    {shape: shapeGarbage},
		FaultCut:        {first: 1, shape: shapeCut},
		FaultErrorEvent: {first: 1, shape: shapeError},
		FaultHang:       {shape: shapeHang},
		FaultHangLater:  {spares: 1, shape: shapeHang},
		FaultStall:      {shape: shapeStall},
		FaultEndless:    {shape: shapeEndless, answer: func(r *reply) { r.turn = turn{text: "On and on "} }},
		FaultHuge:       {answer: func(r *reply) { r.swell(huge) }},
		FaultNoUsage:    {answer: func(r *reply) { r.uncounted = true }},
		FaultOtherModel: {answer: func(r *reply) { r.model = otherModel }},
		FaultRefusal:    {answer: func(r *reply) { r.turn, r.ending = turn{text: "I can't help with that."}, "refusal" }},
		FaultMaxTokens:  {answer: func(r *reply) { r.turn, r.ending = turn{text: "And so on"}, "max_tokens" }},
		FaultCrash:      {command: "kill -9 $PPID"},
		FaultTerminate:  {command: "kill -TERM $PPID; sleep 10"},
	}
	b, ok := table[f]
	return b, ok
}

func (f fault) firstOnly(n int) fault {
	f.first = n
	return f
}

// concerns reports whether the n-th request of a session, from 1, is hit.
func (f fault) concerns(n int) bool {
	return n > f.spares && (f.first == 0 || n <= f.spares+f.first)
}

// allowanceLasts is until when a used-up allowance is, from the answer on.
const allowanceLasts = time.Hour

// allowance writes the headers with which the service says that a subscription's
// five hours are used up.
func allowance(h http.Header, now time.Time) {
	const unified = "Anthropic-Ratelimit-Unified-"
	resets := strconv.FormatInt(now.Add(allowanceLasts).Unix(), 10)
	for name, value := range map[string]string{
		"Status": "rejected", "Representative-Claim": "five_hour", "Reset": resets,
		"5h-Utilization": "1.02", "5h-Reset": resets,
		"7d-Utilization": "0.4", "7d-Reset": strconv.FormatInt(now.Add(72*time.Hour).Unix(), 10),
	} {
		h.Set(unified+name, value)
	}
}

// swell makes a text answer n bytes long; a tool call stays what it is.
func (r *reply) swell(n int) {
	if r.turn.tool == "" {
		r.turn.text += strings.Repeat("\nMore of the same.", n/len("\nMore of the same."))
	}
}
