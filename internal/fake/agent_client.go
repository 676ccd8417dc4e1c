package fake

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// Retry rules. The real back-off starts at half a second; the stand-in's is
// short because nobody real is protected by it.
const (
	defaultRetries = 10
	firstDelay     = 20 * time.Millisecond
	longestDelay   = 500 * time.Millisecond
	longestWait    = 60 * time.Second // a longer retry-after is not waited for
)

// client talks to the Messages API of ANTHROPIC_BASE_URL.
type client struct {
	base    string
	header  string // credential header, empty when not logged in
	value   string
	retries int
	http    *http.Client
}

func newClient(env environment) client {
	c := client{base: strings.TrimSuffix(env.value("ANTHROPIC_BASE_URL"), "/"), retries: defaultRetries, http: &http.Client{
		Transport: &http.Transport{}, // no proxy: only the base address is spoken to
	}}
	if n, err := strconv.Atoi(env.value("CLAUDE_CODE_MAX_RETRIES")); err == nil && n >= 0 {
		c.retries = n
	}
	if key := env.value("ANTHROPIC_API_KEY"); key != "" {
		c.header, c.value = "X-Api-Key", key
	} else if token := env.value("CLAUDE_CODE_OAUTH_TOKEN"); token != "" {
		c.header, c.value = "Authorization", "Bearer "+token
	}
	return c
}

// source is the init line's word for where the credential is from.
func (c client) source() string {
	if c.header == "X-Api-Key" {
		return "ANTHROPIC_API_KEY"
	}
	return "none"
}

// apiError is a request that got no usable answer.
type apiError struct {
	status     int    // 0: no HTTP answer
	kind       string // error type of the body
	message    string
	requestID  string
	retryAfter time.Duration
	final      bool   // the service said not to retry
	word       string // the CLI's word when no request was made
	cause      error
}

// name is the CLI's word for the failure in its synthetic line.
func (e *apiError) name() string {
	switch {
	case e.word != "":
		return e.word
	case e.status == 0 || e.status >= 500:
		return "server_error"
	case e.status == http.StatusForbidden && strings.Contains(e.message, "not allowed for this organization"):
		return "oauth_org_not_allowed"
	case e.status == http.StatusBadRequest && strings.Contains(strings.ToLower(e.message), "credit balance"):
		return "billing_error"
	case e.status == http.StatusNotFound:
		return "model_not_found"
	case e.status == http.StatusBadRequest:
		return "invalid_request"
	default:
		return e.retryName()
	}
}

// detail is the CLI's word for a request that got no HTTP answer.
func (e *apiError) detail() string {
	if e.cause == nil {
		return ""
	}
	return "connection_failed"
}

// retryName is the CLI's word for the failure in a retry line.
func (e *apiError) retryName() string {
	switch {
	case e.status == 529:
		return "overloaded"
	case e.status == http.StatusTooManyRequests:
		return "rate_limit"
	case e.status == http.StatusUnauthorized || e.status == http.StatusForbidden:
		return "authentication_failed"
	case e.status >= 500:
		return "server_error"
	default:
		return "unknown"
	}
}

func (e *apiError) retryable() bool {
	if e.final || e.retryAfter > longestWait {
		return false
	}
	switch e.status {
	case 0, http.StatusUnauthorized, http.StatusRequestTimeout, http.StatusConflict, http.StatusTooManyRequests:
		return true
	default:
		return e.status >= 500
	}
}

// send asks until there is an answer, the error is final or the retries are
// used up. Every retry is reported before its delay.
func (c client) send(ctx context.Context, body []byte, report func(int, time.Duration, *apiError)) (answer, *apiError) {
	for attempt := 1; ; attempt++ {
		a, e := c.once(ctx, body)
		if e == nil || ctx.Err() != nil || !e.retryable() || attempt > c.retries {
			return a, e
		}
		delay := max(min(firstDelay<<(attempt-1), longestDelay), e.retryAfter)
		report(attempt, delay, e)
		select {
		case <-ctx.Done():
			return answer{}, e
		case <-time.After(delay):
		}
	}
}

func (c client) once(ctx context.Context, body []byte) (answer, *apiError) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.base+"/v1/messages?beta=true", bytes.NewReader(body))
	if err != nil {
		return answer{}, &apiError{cause: err, final: true}
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Anthropic-Version", "2023-06-01")
	req.Header.Set("User-Agent", "claude-cli/"+AgentVersion+" (external, sdk-cli)")
	req.Header.Set("X-App", "cli")
	req.Header.Set(c.header, c.value)
	resp, err := c.http.Do(req)
	if err != nil {
		return answer{}, &apiError{cause: err}
	}
	defer resp.Body.Close()
	id := resp.Header.Get("Request-Id")
	if resp.StatusCode != http.StatusOK {
		return answer{}, readError(resp, id)
	}
	a, err := readAnswer(resp)
	if err != nil {
		return answer{}, &apiError{cause: err, requestID: id}
	}
	a.requestID = id
	return a, nil
}

func readError(resp *http.Response, id string) *apiError {
	var doc struct {
		Error struct{ Type, Message string }
	}
	e := &apiError{status: resp.StatusCode, requestID: id, final: resp.Header.Get("X-Should-Retry") == "false"}
	data, err := io.ReadAll(io.LimitReader(resp.Body, 1<<20))
	if err == nil {
		err = json.Unmarshal(data, &doc)
	}
	if err == nil {
		e.kind, e.message = doc.Error.Type, doc.Error.Message
	}
	if s, err := strconv.Atoi(resp.Header.Get("Retry-After")); err == nil {
		e.retryAfter = time.Duration(s) * time.Second
	}
	return e
}

// text is what the synthetic line says.
func (e *apiError) text() string {
	switch {
	case e.cause != nil:
		return fmt.Sprintf("API Error: %v", unwrapAll(e.cause))
	case e.status == http.StatusTooManyRequests:
		return "API Error: Request rejected (429) · " + e.message
	default:
		return fmt.Sprintf("API Error: %d %s", e.status, e.message)
	}
}

// unwrapAll returns the innermost error, which names no address.
func unwrapAll(err error) error {
	for {
		next := errors.Unwrap(err)
		if next == nil {
			return err
		}
		err = next
	}
}
