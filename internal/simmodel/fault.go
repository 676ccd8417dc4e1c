package simmodel

import "net/http"

// Fault is what goes wrong in a session.
type Fault string

// The faults a session can have.
const (
	FaultNone        Fault = ""             // nothing goes wrong
	FaultOverloaded  Fault = "overloaded"   // 529 for the first two requests, then fine
	FaultUnavailable Fault = "unavailable"  // 529 for every request
	FaultRateLimit   Fault = "rate_limit"   // 429 with a long retry-after
	FaultServerError Fault = "server_error" // 500 for every request
	FaultAuth        Fault = "auth"         // 401
	FaultBilling     Fault = "billing"      // 400, credit used up
	FaultModelGone   Fault = "model_gone"   // 404 for the model
	FaultCut         Fault = "cut"          // the first answer is cut in mid-stream
	FaultHang        Fault = "hang"         // no answer until the client gives up
	FaultCrash       Fault = "crash"        // the first turn kills the agent
	FaultTerminate   Fault = "terminate"    // the first turn terminates the agent
)

// fault is how one Fault shows. At most one of status, cut, hang and command
// is set.
type fault struct {
	first   int // requests it concerns, counted from the first; 0 = all
	status  int
	kind    string // error type of the body
	message string
	retry   string // retry-after header
	cut     bool
	hang    bool
	command string // Bash command of an extra first turn
}

// faultOf returns the behaviour of a fault, and whether there is such a fault.
// The commands use $PPID because the agent's Bash tool runs "bash -c" as its
// own child: there it is the agent. Terminating also waits, so that no further
// turn can win the race against the signal.
func faultOf(f Fault) (fault, bool) {
	table := map[Fault]fault{
		FaultNone:        {},
		FaultOverloaded:  {first: 2, status: 529, kind: "overloaded_error", message: "Overloaded"},
		FaultUnavailable: {status: 529, kind: "overloaded_error", message: "Overloaded"},
		FaultRateLimit: {status: http.StatusTooManyRequests, kind: "rate_limit_error",
			message: "This request would exceed the rate limit", retry: "3600"},
		FaultServerError: {status: http.StatusInternalServerError, kind: "api_error", message: "Internal server error"},
		FaultAuth:        {status: http.StatusUnauthorized, kind: "authentication_error", message: "invalid x-api-key"},
		FaultBilling: {status: http.StatusBadRequest, kind: "invalid_request_error",
			message: "Your credit balance is too low to access the API"},
		FaultModelGone: {status: http.StatusNotFound, kind: "not_found_error", message: "model: no such model"},
		FaultCut:       {first: 1, cut: true},
		FaultHang:      {hang: true},
		FaultCrash:     {command: "kill -9 $PPID"},
		FaultTerminate: {command: "kill -TERM $PPID; sleep 10"},
	}
	b, ok := table[f]
	return b, ok
}

// concerns reports whether the n-th request of a session, from 1, is hit.
func (f fault) concerns(n int) bool { return f.first == 0 || n <= f.first }
