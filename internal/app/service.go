package app

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"syscall"
	"time"

	"loopd/harness"
	"loopd/internal/admission"
	"loopd/internal/hint"
	"loopd/loop"
)

const (
	// BaseVariable names the environment variable with the address of the API.
	BaseVariable = "ANTHROPIC_BASE_URL"
	defaultBase  = "https://api.anthropic.com"
)

// ServiceURL is the API that sessions are answered by.
func ServiceURL(e Env) (*url.URL, error) {
	base := e.Getenv(BaseVariable)
	if base == "" {
		base = defaultBase
	}
	u, err := url.Parse(base)
	if err == nil && u.Host == "" {
		err = errors.New("no host in it")
	}
	if err != nil {
		// The URL may hold a password, and url.Error repeats it.
		if parse, ok := errors.AsType[*url.Error](err); ok {
			err = parse.Err
		}
		return nil, hint.Usagef("export "+BaseVariable+"="+defaultBase, "%s is no address: %w", BaseVariable, err)
	}
	return u, nil
}

// ShownURL is an address without the name and password in it.
func ShownURL(u *url.URL) string {
	bare := url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}
	return bare.String()
}

// answerTime is how long an address may take to answer.
const answerTime = 5 * time.Second

// Answers returns why nothing answers at the service's address, or at that of the
// proxy before it. It connects and sends nothing.
func Answers(ctx context.Context, u *url.URL) (at string, err error) {
	proxy, err := http.ProxyFromEnvironment(&http.Request{URL: u})
	if err != nil {
		return u.Host, fmt.Errorf("the proxy of the Environment: %w", err)
	}
	to, at := u, u.Host
	if proxy != nil {
		to, at = proxy, u.Host+" by the proxy "+proxy.Host
	}
	port := to.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443", "socks5": "1080"}[to.Scheme]
	}
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", net.JoinHostPort(to.Hostname(), port))
	if err != nil {
		return at, errors.New(notAnswered(err))
	}
	return at, conn.Close()
}

// notAnswered says in a word or two why a connection was not made.
func notAnswered(err error) string {
	name, noName := errors.AsType[*net.DNSError](err)
	timeout, timed := errors.AsType[net.Error](err)
	switch {
	case errors.Is(err, syscall.ECONNREFUSED):
		return "refused"
	case noName && name.IsNotFound:
		return "no such host"
	case timed && timeout.Timeout():
		return "no answer in time"
	}
	return err.Error()
}

// WhyFailed names what a session of a class that blames the service was refused
// by: the address, and whether it answers now. Empty for every other class.
func WhyFailed(ctx context.Context, e Env, class harness.Class) string {
	if !blamesService(class) {
		return ""
	}
	u, err := ServiceURL(e)
	if err != nil {
		return ""
	}
	if class != harness.Connection {
		return " (" + u.Host + ")"
	}
	at, err := Answers(ctx, u)
	if err != nil {
		return fmt.Sprintf(" (%s %s)", at, err)
	}
	return fmt.Sprintf(" (%s, which answers now)", at)
}

func blamesService(class harness.Class) bool {
	return class == harness.Overloaded || class == harness.ServerError || class == harness.Connection
}

// PauseReason returns why a campaign is paused. Of a service that failed session
// after session it says how many and as what; class is then that of the last.
func PauseReason(s *loop.State) (reason string, class harness.Class) {
	n := 0
	for i := len(s.Trials) - 1; i >= 0 && blamesService(s.Trials[i].Class); i-- {
		n++
	}
	if s.Paused.Reason != admission.ServiceFailed || n == 0 {
		return s.Paused.Reason, ""
	}
	class = s.Trials[len(s.Trials)-1].Class
	return fmt.Sprintf("%s in a row: %s", Plural(n), class), class
}

// Plural writes a number of sessions.
func Plural(n int) string {
	if n == 1 {
		return "1 session"
	}
	return fmt.Sprintf("%d sessions", n)
}
