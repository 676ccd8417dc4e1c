package gateway

import (
	"net/http"
	"strconv"
	"strings"
	"time"

	"loopd/harness"
)

// The headers in which the API says how much of a subscription is used.
const (
	unified    = "Anthropic-Ratelimit-Unified-"
	retryAfter = "Retry-After"
)

// ReadQuota reads an answer's headers. It is false where they say nothing of a
// quota.
func ReadQuota(h http.Header, now time.Time) (harness.Quota, bool) {
	q := harness.Quota{At: now.UTC().Truncate(time.Second)}
	five, okFive := readAllowance(h, "5h-")
	seven, okSeven := readAllowance(h, "7d-")
	q.FiveHour, q.SevenDay = five, seven
	return q, okFive || okSeven
}

func readAllowance(h http.Header, window string) (a harness.Allowance, ok bool) {
	used, err := strconv.ParseFloat(h.Get(unified+window+"utilization"), 64)
	if err != nil || !(used >= 0 && used <= 1e3) { // NaN is neither
		return a, false
	}
	a.Used, a.Resets = used, unixTime(h.Get(unified+window+"reset"))
	return a, true
}

// unixTime reads seconds since 1970, as the API gives them; anything else is the
// zero time.
func unixTime(text string) time.Time {
	n, err := strconv.ParseInt(strings.TrimSpace(text), 10, 64)
	if err != nil || n <= 0 || n > 1<<40 {
		return time.Time{}
	}
	return time.Unix(n, 0).UTC()
}

// Lifts says when a refusal with status 429 is over, by its headers: the reset of
// the window that refused, or the time to wait. It is false where they do not say.
func Lifts(h http.Header, now time.Time) (time.Time, bool) {
	if h.Get(unified+"Status") == "rejected" {
		window := map[string]string{"five_hour": "5h-", "seven_day": "7d-"}[h.Get(unified+"Representative-Claim")]
		for _, name := range []string{unified + window + "Reset", unified + "Reset"} {
			if at := unixTime(h.Get(name)); at.After(now) {
				return at, true
			}
		}
	}
	return readRetryAfter(h.Get(retryAfter), now)
}

// maxRetryAfter bounds what is believed: a week is the longest window there is.
const maxRetryAfter = 8 * 24 * time.Hour

func readRetryAfter(text string, now time.Time) (time.Time, bool) {
	if seconds, err := strconv.ParseFloat(text, 64); err == nil && seconds >= 0 && seconds <= maxRetryAfter.Seconds() {
		return now.Add(time.Duration(seconds * float64(time.Second))).UTC(), true
	}
	if at, err := http.ParseTime(text); err == nil && at.After(now) && at.Before(now.Add(maxRetryAfter)) {
		return at.UTC(), true
	}
	return time.Time{}, false
}
