package trial_test

import (
	"net/url"
	"testing"
	"time"

	"loopd/harness"
	"loopd/internal/fake"
	"loopd/internal/gateway"
	"loopd/internal/testenv"
)

// serviceModes are what goes wrong at the service before there is an answer.
func serviceModes() []mode {
	return []mode{
		simple("529 once, then fine", "B13", fake.FaultOverloadedOnce, harness.Valid),
		simple("529 twice, then fine", "B13", fake.FaultOverloaded, harness.Valid),
		simple("529 always", "", fake.FaultUnavailable, harness.Overloaded),
		simple("500 always", "", fake.FaultServerError, harness.ServerError),
		simple("429, retry in a second", "B13", fake.FaultRetryAfter, harness.Valid),
		{name: "429, retry in an hour", rows: "B1 B3", play: play{fault: fake.FaultRateLimit}, want: harness.RateLimit, look: lifts(50*time.Minute, 61*time.Minute)},
		{
			name: "429, allowance used up", play: play{fault: fake.FaultAllowance}, want: harness.RateLimit,
			look: lifts(50*time.Minute, 61*time.Minute),
		},
		{name: "429 that names a reset", play: play{fault: fake.FaultUsageLimit}, want: harness.UsageLimit, look: lifts(0, 24*time.Hour)},
		{name: "the same failure twice", rows: "B2", play: play{fault: fake.FaultRateLimit}, want: harness.RateLimit, twice: true},
		simple("401", "", fake.FaultAuth, harness.Auth),
		simple("403, organisation", "B17", fake.FaultForbidden, harness.Auth),
		simple("404, model", "", fake.FaultModelGone, harness.ModelGone),
		simple("400, credit", "", fake.FaultBilling, harness.Billing),
		{name: "connection refused", want: harness.Connection, set: refusing},
		simple("connection dropped", "", fake.FaultReset, harness.Connection),
		{name: "no answer", play: play{fault: fake.FaultHang}, want: harness.Hang, set: hasty},
	}
}

// streamModes are what goes wrong with an answer.
func streamModes() []mode {
	return []mode{
		{name: "a page instead of an answer", play: play{fault: fake.FaultGarbage}, want: harness.Connection, cli: harness.AgentError},
		{name: "stream stalls", play: play{fault: fake.FaultStall}, want: harness.Hang, set: hasty},
		simple("stream cut, then fine", "B13", fake.FaultCut, harness.Valid),
		simple("error in the stream, then fine", "B13", fake.FaultErrorEvent, harness.Valid),
		simple("refusal", "B12", fake.FaultRefusal, harness.Refusal),
		{
			name: "answer without end", rows: "B15", play: play{fault: fake.FaultEndless}, want: harness.Valid, reason: "limit_time",
			set: func(_ *testing.T, b *bench, agent string) {
				b.o.Suite.Launch.Clocks.Total = 1500 * time.Millisecond
				if agent == realCLI {
					b.o.Suite.Launch.Clocks.Total = 30 * time.Second
				}
			},
		},
		simple("answer of a megabyte", "", fake.FaultHuge, harness.Valid),
		{
			name: "token counts null", rows: "B14", play: play{fault: fake.FaultNoUsage}, want: harness.Valid,
			look: func(t *testing.T, got harness.Trial) {
				if got.CostUSD != nil && *got.CostUSD == 0 {
					t.Errorf("cost 0 with usage %+v, want it unknown", got.Usage)
				}
			},
		},
		simple("another model answers", "B10", fake.FaultOtherModel, harness.WrongModel),
		simple("token limit in every answer", "", fake.FaultMaxTokens, harness.OutputLimit),
		{
			name: "speaks of limits and retries", rows: "B6", want: harness.Valid,
			prose: "\nThe sender now honours a 429, keeps to the rate limit and tries a 503 once more.",
		},
	}
}

// hasty has the clocks run out soon: the real CLI needs seconds to start.
func hasty(_ *testing.T, b *bench, agent string) {
	b.o.Suite.Launch.Clocks.Idle = 1500 * time.Millisecond
	if agent == realCLI {
		b.o.Suite.Launch.Clocks.Idle = 20 * time.Second
	}
}

// refusing puts nobody behind the gateway.
func refusing(t *testing.T, b *bench, _ string) {
	gate, err := gateway.Start(t.Context(), &url.URL{Scheme: "http", Host: "127.0.0.1:1"}, gateway.Credential{Header: gateway.HeaderKey})
	testenv.Must(t, err)
	t.Cleanup(func() { gate.Close() })
	b.o.Gateway = gate
}

// lifts wants the limit to lift within these bounds from now.
func lifts(from, to time.Duration) func(*testing.T, harness.Trial) {
	return func(t *testing.T, got harness.Trial) {
		t.Helper()
		if in := time.Until(got.Lifts); in < from || in > to {
			t.Errorf("lifts in %v, want %v to %v", in, from, to)
		}
	}
}
