package main

import (
	"bytes"
	"net"
	"regexp"
	"strings"
	"testing"
	"time"

	"loopd/harness"
	"loopd/internal/admission"
	"loopd/internal/app"
	"loopd/internal/setup"
	"loopd/internal/testenv"
	"loopd/loop"
)

func TestServiceRow(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	testenv.Must(t, err)
	defer l.Close()
	there, gone := l.Addr().String(), testenv.DeadAddress(t)
	for _, c := range []struct {
		name, base  string
		health      setup.Health
		detail, fix string
	}{
		{"answers", "http://me:secret@" + there + "/v1", setup.HealthOK, "http://" + there + "/v1 answers", ""},
		{"nothing listens", "http://me:secret@" + gone, setup.HealthBad, "nothing answers at http://" + gone + " (" + gone + ": refused)", "unset ANTHROPIC_BASE_URL"},
		{"no address", "http://me:secret@[::1", setup.HealthBad, "ANTHROPIC_BASE_URL is no address: missing ']' in host", "export ANTHROPIC_BASE_URL=https://api.anthropic.com"},
		{"no host", "127.0.0.1", setup.HealthBad, "ANTHROPIC_BASE_URL is no address: no host in it", "export ANTHROPIC_BASE_URL=https://api.anthropic.com"},
	} {
		got := serviceRow(env{Env: app.Env{Environ: []string{"ANTHROPIC_BASE_URL=" + c.base}}})(t.Context())
		want := setup.Row{Name: "service", Health: c.health, Detail: c.detail, Fix: c.fix}
		if got != want {
			t.Errorf("%s: got %+v, want %+v", c.name, got, want)
		}
	}
}

// A pause after sessions that the service failed says how many, as what and where.
func TestPauseOfADeadService(t *testing.T) {
	t.Parallel()
	at := testenv.DeadAddress(t)
	var talk bytes.Buffer
	e := env{Env: app.Env{Environ: []string{"ANTHROPIC_BASE_URL=http://me:secret@" + at}}, stderr: &talk}
	s := &loop.State{Paused: &loop.Paused{Reason: admission.ServiceFailed, Until: time.Now().Add(time.Hour)}, ChangedAt: time.Now()}
	for _, class := range []harness.Class{harness.Connection, harness.Valid, harness.ServerError, harness.Connection, harness.Connection} {
		s.Trials = append(s.Trials, loop.Run{Trial: harness.Trial{Class: class}})
	}
	sayPaused(t.Context(), e, s, time.Time{}, time.Now().Add(time.Hour), false)
	want := regexp.MustCompile("^loopd: paused: 3 sessions in a row: connection \\(" + regexp.QuoteMeta(at) + " refused\\); going on at [A-Za-z0-9: ]+\nloopd: --no-wait stops instead\n$")
	if !want.MatchString(talk.String()) {
		t.Errorf("got %q", talk.String())
	}
	if err := stop(s); err == nil || err.Error() != "paused: 3 sessions in a row: connection" {
		t.Errorf("with --no-wait: got %v", err)
	}
	s.Paused.Reason = "quota: 85 %"
	if err := stop(s); err == nil || !strings.HasSuffix(err.Error(), "quota: 85 %") {
		t.Errorf("another pause: got %v", err)
	}
}
