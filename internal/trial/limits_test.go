package trial

import (
	"net/http"
	"strconv"
	"testing"
	"time"

	"loopd/harness"
	"loopd/harness/transcript"
)

// TestLifts_WithoutHeaders: the headers of the refusal say when it lifts; where
// there are none the CLI's own line does, and only then its words. A moment that
// is over, or too far away, is no moment.
func TestLifts_WithoutHeaders(t *testing.T) {
	t.Parallel()
	now := time.Now()
	in := func(d time.Duration) int64 { return now.Add(d).Unix() }
	line := func(status string, resets int64) transcript.RateLimit {
		return transcript.RateLimit{Status: status, Window: "five_hour", Resets: resets}
	}
	words := []transcript.Result{{Text: "You've hit your limit · resets 11:59pm (UTC)"}}
	headers := http.Header{"Anthropic-Ratelimit-Unified-Status": {"rejected"}, "Anthropic-Ratelimit-Unified-Reset": {strconv.FormatInt(in(time.Hour), 10)}}
	for name, c := range map[string]struct {
		seen   http.Header
		limits []transcript.RateLimit
		want   int64 // 0 for what the words say
	}{
		"headers first":   {headers, []transcript.RateLimit{line("rejected", in(2*time.Hour))}, in(time.Hour)},
		"the stream":      {nil, []transcript.RateLimit{line("rejected", in(2*time.Hour))}, in(2 * time.Hour)},
		"its last":        {nil, []transcript.RateLimit{line("rejected", in(2*time.Hour)), line("rejected", in(3*time.Hour))}, in(3 * time.Hour)},
		"allowed says no": {nil, []transcript.RateLimit{line("rejected", in(2*time.Hour)), line("allowed", in(3*time.Hour))}, in(2 * time.Hour)},
		"over":            {nil, []transcript.RateLimit{line("rejected", in(-time.Hour))}, 0},
		"a year away":     {nil, []transcript.RateLimit{line("rejected", in(9000*time.Hour))}, 0},
		"nothing":         {nil, nil, 0},
	} {
		a := attempt{at: time.Now(), transcript: &transcript.Transcript{Limits: c.limits, Results: words}}
		a.seen.Limited = c.seen
		got := a.lifts()
		if c.want != 0 && got.Unix() != c.want || c.want == 0 && (got.Minute() != 59 || !got.After(now)) {
			t.Errorf("%s: got %v, want %v", name, got, time.Unix(c.want, 0))
		}
	}
}

func TestQuotaSaid(t *testing.T) {
	t.Parallel()
	now := time.Unix(1_900_000_000, 0).UTC()
	window := func(name string, used float64, in time.Duration) transcript.LimitWindow {
		return transcript.LimitWindow{Name: name, Used: used, Resets: now.Add(in).Unix()}
	}
	limits := []transcript.RateLimit{
		{Windows: []transcript.LimitWindow{window("five_hour", .2, time.Hour), window("seven_day", .4, 48*time.Hour), window("one_day", .9, time.Hour)}},
		{Windows: []transcript.LimitWindow{window("five_hour", .3, time.Hour), window("seven_day", -1, time.Hour)}},
	}
	want := harness.Quota{
		FiveHour: harness.Allowance{Used: .3, Resets: now.Add(time.Hour)}, SevenDay: harness.Allowance{Used: .4, Resets: now.Add(48 * time.Hour)}, At: now,
	}
	if got := quotaSaid(&transcript.Transcript{Limits: limits}, now); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	odd := []transcript.RateLimit{{Status: "allowed", Windows: []transcript.LimitWindow{window("one_day", .9, time.Hour)}}}
	if got := quotaSaid(&transcript.Transcript{Limits: odd}, now); !got.IsZero() {
		t.Errorf("of another window: got %+v, want nothing", got)
	}
}
