package trial_test

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"loopd/harness"
	"loopd/internal/fake"
	"loopd/internal/gateway"
	"loopd/internal/testenv"
)

// TestRun_FingerprintChanged: what the CLI adds to a request is the same in
// every session of a tier, whatever the wording, and a change is named.
func TestRun_FingerprintChanged(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	first, second := b.one("R3", play{}), b.one("N1", play{})
	for _, got := range []harness.Trial{first, second} {
		b.wantScored(got, harness.Pass)
		if got.Fingerprint == nil || len(got.Fingerprint.Names) == 0 {
			t.Fatalf("fingerprint %+v, want the request's", got.Fingerprint)
		}
	}
	if diff := second.Fingerprint.Differ(*first.Fingerprint); len(diff) > 0 {
		t.Errorf("two scenarios differ: %v", diff)
	}

	b = newBench(t)
	before := *first.Fingerprint
	before.System, before.Names = "000000000000", append(before.Names, "Telescope")
	b.o.Asked = map[string]harness.Fingerprint{first.Spec.Slot.Cell.Tier: before}
	got := b.one("R3", play{})
	b.wantInvalid(got, harness.VersionDrift)
	for _, part := range []string{"system prompt was 000000000000", "tool Telescope is gone"} {
		if !strings.Contains(got.Why, part) {
			t.Errorf("why: %q, want %q in it", got.Why, part)
		}
	}
	if got.Class.Fate() != harness.FateHalt {
		t.Errorf("fate %s, want a halt", got.Class.Fate())
	}
}

// TestRun_SpendLimitReached: a session that may not spend any more says nothing
// about the wording, however far it came.
func TestRun_SpendLimitReached(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.o.SpendLimits = func(harness.Spec) []*gateway.SpendLimit {
		return []*gateway.SpendLimit{gateway.NewSpendLimit("campaign", 1, 0), gateway.NewSpendLimit("session", 1e-9, 0)}
	}
	got := b.one("R3", play{})
	b.wantInvalid(got, harness.Budget)
	b.wantClean(got)
	if !strings.Contains(got.Why, "limit of the session") {
		t.Errorf("why: %q, want the purse named", got.Why)
	}
}

// TestRun_CostWithoutResult: what the gateway counted stands in for a
// result line that never came.
func TestRun_CostWithoutResult(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	whole := b.one("R3", play{})
	b.wantScored(whole, harness.Pass)
	cut := b.one("R3", play{fault: fake.FaultTerminate})
	b.wantInvalid(cut, harness.Cancelled)
	if cut.Usage == (harness.Usage{}) || cut.CostUSD == nil || *cut.CostUSD <= 0 {
		t.Errorf("usage %+v, cost %v; want what the gateway counted", cut.Usage, cut.CostUSD)
	}
}

// renaming is an API that says another model answered than was asked.
func renaming(t *testing.T, b *bench, is func() string) *url.URL {
	t.Helper()
	model, err := url.Parse(b.model.URL())
	testenv.Must(t, err)
	pinned, _ := b.o.Suite.Launch.Model("haiku")
	proxy := httputil.NewSingleHostReverseProxy(model)
	proxy.ModifyResponse = func(r *http.Response) error {
		old := r.Body
		body, err := io.ReadAll(old)
		body = bytes.ReplaceAll(body, []byte(`"model":"`+pinned+`"`), []byte(`"model":"`+is()+`"`))
		r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
		r.Header.Del("Content-Length")
		return errors.Join(err, old.Close())
	}
	server := httptest.NewServer(proxy)
	t.Cleanup(server.Close)
	at, err := url.Parse(server.URL)
	testenv.Must(t, err)
	return at
}

// TestRun_ServedModelChanged: a model that did not answer this tier's sessions
// so far ends the campaign, with both named; what was never asked says nothing.
func TestRun_ServedModelChanged(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	pinned, _ := b.o.Suite.Launch.Model("haiku")
	first := b.one("R3", play{})
	b.wantScored(first, harness.Pass)
	if got := first.Served[pinned]; !slices.Equal(got, []string{pinned}) {
		t.Fatalf("served %v, want %s by itself", first.Served, pinned)
	}

	for name, tc := range map[string]struct {
		known map[string]harness.Served
		is    string
		class harness.Class
		why   []string
	}{
		"the same":             {map[string]harness.Served{"haiku": first.Served}, pinned, harness.Valid, nil},
		"of another tier":      {map[string]harness.Served{"sonnet": {pinned: {"model-before"}}}, pinned, harness.Valid, nil},
		"other than earlier":   {map[string]harness.Served{"haiku": {pinned: {"model-before"}}}, pinned, harness.VersionDrift, []string{"model-before", pinned}},
		"moved away":           {map[string]harness.Served{"haiku": first.Served}, "model-after", harness.VersionDrift, []string{pinned, "model-after"}},
		"wrong from the start": {nil, "model-after", harness.WrongModel, []string{"model-after"}},
	} {
		b := newBench(t)
		gate, err := gateway.Start(t.Context(), renaming(t, b, func() string { return tc.is }), gateway.Credential{Header: gateway.HeaderKey})
		testenv.Must(t, err)
		t.Cleanup(func() { gate.Close() })
		b.o.Gateway, b.o.Served = gate, tc.known
		got := b.one("R3", play{})
		if got.Class != tc.class {
			t.Errorf("%s: got %s (%s), want %s", name, got.Class, got.Why, tc.class)
		}
		for _, part := range tc.why {
			if !strings.Contains(got.Why, part) {
				t.Errorf("%s: why %q, want %q in it", name, got.Why, part)
			}
		}
	}
}

// TestRun_FirstValidSessionSetsTheModel: within one run, nothing handed in.
func TestRun_FirstValidSessionSetsTheModel(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	pinned, _ := b.o.Suite.Launch.Model("haiku")
	var is atomic.Value
	is.Store(pinned)
	gate, err := gateway.Start(t.Context(), renaming(t, b, func() string { return is.Load().(string) }), gateway.Credential{Header: gateway.HeaderKey})
	testenv.Must(t, err)
	t.Cleanup(func() { gate.Close() })
	b.o.Gateway = gate
	e := b.executor("R3")
	for rep, next := range []struct {
		model string
		want  harness.Class
	}{{"model-after", harness.WrongModel}, {pinned, harness.Valid}, {pinned, harness.Valid}, {"model-after", harness.VersionDrift}} {
		is.Store(next.model)
		got, err := e.Run(t.Context(), b.spec("R3", "haiku", rep+1, play{}))
		if err != nil || got.Class != next.want {
			t.Errorf("rep %d: got %s (%s), %v, want %s", rep+1, got.Class, got.Why, err, next.want)
		}
	}
}
