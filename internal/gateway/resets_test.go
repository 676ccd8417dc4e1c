package gateway_test

import (
	"net/http"
	"testing"
	"time"

	"loopd/harness"
	"loopd/internal/gateway"
	"loopd/internal/testenv"
)

func zone(t *testing.T, name string) *time.Location {
	t.Helper()
	z, err := time.LoadLocation(name)
	testenv.Must(t, err)
	return z
}

func at(t *testing.T, text string) time.Time {
	t.Helper()
	v, err := time.Parse(time.RFC3339, text)
	testenv.Must(t, err)
	return v
}

// TestParseReset: the moments messages name, on ordinary days, around midnight,
// and on the days clocks change, when the later reading is the safe one.
func TestParseReset(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, text, now, want string }{
		{"hour", "You've hit your limit · resets 1pm", "2026-05-04T10:00:00Z", "2026-05-04T13:00:00Z"},
		{"past hour is tomorrow", "limit reached, resets 9am", "2026-05-04T10:00:00Z", "2026-05-05T09:00:00Z"},
		{"noon and midnight", "resets 12pm", "2026-05-04T10:00:00Z", "2026-05-04T12:00:00Z"},
		{"midnight", "resets 12am", "2026-05-04T10:00:00Z", "2026-05-05T00:00:00Z"},
		{"zone", "session limit · resets 3:50pm (Asia/Tokyo)", "2026-05-04T05:00:00Z", "2026-05-04T06:50:00Z"},
		{"zone over midnight", "resets at 12:10am (America/New_York)", "2026-05-05T03:00:00Z", "2026-05-05T04:10:00Z"},
		{"24 hours", "Resets at 03:50", "2026-05-04T23:00:00Z", "2026-05-05T03:50:00Z"},
		{"day", "weekly limit, resets May 7 at 5pm (UTC)", "2026-05-04T10:00:00Z", "2026-05-07T17:00:00Z"},
		{"day with comma", "resets Jan 2, 4:30am", "2026-12-31T10:00:00Z", "2027-01-02T04:30:00Z"},
		{"tomorrow", "resets tomorrow at 8am", "2026-05-04T07:00:00Z", "2026-05-05T08:00:00Z"},
		{"clocks go forward", "resets 2:30am (America/New_York)", "2026-03-08T05:00:00Z", "2026-03-08T07:30:00Z"},
		{"clocks go back", "resets 1:30am (America/New_York)", "2026-11-01T04:00:00Z", "2026-11-01T06:30:00Z"},
		{"clocks went back, between the two", "resets 1:30am (America/New_York)", "2026-11-01T05:45:00Z", "2026-11-01T06:30:00Z"},
		{"after the change", "resets 6am (Europe/Berlin)", "2026-10-24T22:00:00Z", "2026-10-25T05:00:00Z"},
		{"no time", "You've hit your limit", "2026-05-04T10:00:00Z", ""},
		{"a number that is no hour", "this resets 5 counters", "2026-05-04T10:00:00Z", ""},
		{"unknown zone", "resets 1pm (Moon/Base)", "2026-05-04T10:00:00Z", ""},
		{"impossible hour", "resets 25:00", "2026-05-04T10:00:00Z", ""},
		{"impossible half", "resets 13pm", "2026-05-04T10:00:00Z", ""},
		{"impossible day", "resets May 99 at 5pm", "2026-05-04T10:00:00Z", ""},
		{"too far", "resets Mar 7 at 5pm", "2026-05-04T10:00:00Z", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got, ok := gateway.ParseReset(c.text, at(t, c.now).In(time.UTC))
			if c.want == "" {
				if ok {
					t.Errorf("got %v, want none", got)
				}
				return
			}
			if !ok || !got.Equal(at(t, c.want)) {
				t.Errorf("got %v, %t; want %s", got, ok, c.want)
			}
		})
	}
}

// TestParseReset_LocalTime: without a zone in the text, the clock on this machine's
// wall is meant.
func TestParseReset_LocalTime(t *testing.T) {
	t.Parallel()
	now := at(t, "2026-05-04T10:00:00Z").In(zone(t, "Asia/Kolkata")) // 15:30 there
	if got, ok := gateway.ParseReset("resets 4pm", now); !ok || !got.Equal(at(t, "2026-05-04T10:30:00Z")) {
		t.Errorf("got %v, %t", got, ok)
	}
}

func header(pairs ...string) http.Header {
	h := make(http.Header)
	for i := 0; i < len(pairs); i += 2 {
		h.Set(pairs[i], pairs[i+1])
	}
	return h
}

func TestLifts(t *testing.T) {
	t.Parallel()
	now := at(t, "2026-05-04T10:00:00Z")
	const u = "anthropic-ratelimit-unified-"
	for _, c := range []struct {
		name string
		h    http.Header
		want string
	}{
		{"seconds", header("retry-after", "90"), "2026-05-04T10:01:30Z"},
		{"date", header("retry-after", "Mon, 04 May 2026 10:05:00 GMT"), "2026-05-04T10:05:00Z"},
		{"the window that refused", header(u+"status", "rejected", u+"representative-claim", "seven_day", u+"5h-reset", "1777900000", u+"7d-reset", "1778000000", "retry-after", "5"), "2026-05-05T16:53:20Z"},
		{"no window named", header(u+"status", "rejected", u+"reset", "1777900000"), "2026-05-04T13:06:40Z"},
		{"allowed, so the wait counts", header(u+"status", "allowed", u+"reset", "1777900000", "retry-after", "5"), "2026-05-04T10:00:05Z"},
		{"reset in the past", header(u+"status", "rejected", u+"reset", "1700000000", "retry-after", "5"), "2026-05-04T10:00:05Z"},
		{"nothing", header(), ""},
		{"garbage", header("retry-after", "soon", u+"status", "rejected", u+"reset", "x"), ""},
		{"negative", header("retry-after", "-1"), ""},
		{"absurd", header("retry-after", "1e12"), ""},
		{"not a number", header("retry-after", "NaN"), ""},
		{"date in the past", header("retry-after", "Mon, 04 May 2020 10:05:00 GMT"), ""},
	} {
		got, ok := gateway.Lifts(c.h, now)
		if ok != (c.want != "") || ok && !got.Equal(at(t, c.want)) {
			t.Errorf("%s: got %v, %t; want %q", c.name, got, ok, c.want)
		}
	}
}

func TestReadQuota(t *testing.T) {
	t.Parallel()
	now := at(t, "2026-05-04T10:00:00.7Z")
	const u = "anthropic-ratelimit-unified-"
	q, ok := gateway.ReadQuota(header(u+"5h-utilization", "0.42", u+"5h-reset", "1777900000", u+"7d-utilization", "0.3"), now)
	want := harness.Quota{
		FiveHour: harness.Allowance{Used: .42, Resets: at(t, "2026-05-04T13:06:40Z")}, SevenDay: harness.Allowance{Used: .3}, At: at(t, "2026-05-04T10:00:00Z"),
	}
	if !ok || q != want {
		t.Errorf("got %+v, %t; want %+v", q, ok, want)
	}
	for name, h := range map[string]http.Header{
		"none": header(), "garbage": header(u+"5h-utilization", "much"), "not a number": header(u+"5h-utilization", "NaN"), "negative": header(u+"7d-utilization", "-1"),
	} {
		if q, ok := gateway.ReadQuota(h, now); ok {
			t.Errorf("%s: got %+v, want none", name, q)
		}
	}
}
