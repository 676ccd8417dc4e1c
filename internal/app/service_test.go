package app

import (
	"net"
	"testing"

	"loopd/harness"
)

// deadAddress is an address on this machine where nothing listens.
func deadAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	at := l.Addr().String()
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	return at
}

// What a session was refused by stands behind a class that blames the service.
func TestWhyFailed(t *testing.T) {
	t.Parallel()
	at := deadAddress(t)
	e := Env{Environ: []string{"ANTHROPIC_BASE_URL=http://" + at}}
	for class, want := range map[harness.Class]string{
		harness.Connection: " (" + at + " refused)", harness.Overloaded: " (" + at + ")", harness.Valid: "", harness.AgentError: "",
	} {
		if got := WhyFailed(t.Context(), e, class); got != want {
			t.Errorf("%s: got %q, want %q", class, got, want)
		}
	}
}
