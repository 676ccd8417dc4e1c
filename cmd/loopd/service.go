package main

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
	"loopd/internal/doctor"
	"loopd/internal/hint"
	"loopd/loop"
)

const (
	baseVariable = "ANTHROPIC_BASE_URL"
	defaultBase  = "https://api.anthropic.com"
)

// serviceURL is the API that sessions are answered by.
func serviceURL(e env) (*url.URL, error) {
	base := e.getenv(baseVariable)
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
		return nil, hint.Usagef("export "+baseVariable+"="+defaultBase, "%s is no address: %w", baseVariable, err)
	}
	return u, nil
}

// shownURL is an address without the name and password in it.
func shownURL(u *url.URL) string {
	bare := url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}
	return bare.String()
}

// answerTime is how long an address may take to answer.
const answerTime = 5 * time.Second

// answers says why nothing answers at the service's address, or at that of the
// proxy before it. It connects and sends nothing.
func answers(ctx context.Context, u *url.URL) (at string, err error) {
	proxy, err := http.ProxyFromEnvironment(&http.Request{URL: u})
	if err != nil {
		return u.Host, fmt.Errorf("the proxy of the environment: %w", err)
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

// serviceRow says whether anything answers where the sessions' model calls go.
func serviceRow(e env) doctor.Check {
	return func(ctx context.Context) doctor.Row {
		row := doctor.Row{Name: "service", Health: doctor.Bad}
		u, err := serviceURL(e)
		if err != nil {
			row.Detail, row.Fix = err.Error(), hint.Of(err)
			return row
		}
		at, err := answers(ctx, u)
		switch {
		case err == nil:
			return doctor.Row{Name: row.Name, Health: doctor.Good, Detail: shownURL(u) + " answers"}
		case e.getenv(baseVariable) != "":
			row.Fix = "unset " + baseVariable
		default:
			row.Fix = "curl -I " + shownURL(u)
		}
		row.Detail = fmt.Sprintf("nothing answers at %s (%s: %s)", shownURL(u), at, err)
		return row
	}
}

// whyFailed names what a session of a class that blames the service was refused
// by: the address, and whether it answers now. Empty for every other class.
func whyFailed(ctx context.Context, e env, class harness.Class) string {
	if !blamesService(class) {
		return ""
	}
	u, err := serviceURL(e)
	if err != nil {
		return ""
	}
	if class != harness.Connection {
		return " (" + u.Host + ")"
	}
	at, err := answers(ctx, u)
	if err != nil {
		return fmt.Sprintf(" (%s %s)", at, err)
	}
	return fmt.Sprintf(" (%s, which answers now)", at)
}

func blamesService(class harness.Class) bool {
	return class == harness.Overloaded || class == harness.ServerError || class == harness.Connection
}

// pauseReason says why a campaign is paused. Of a service that failed session
// after session it says how many and as what; class is then that of the last.
func pauseReason(s *loop.State) (reason string, class harness.Class) {
	n := 0
	for i := len(s.Trials) - 1; i >= 0 && blamesService(s.Trials[i].Class); i-- {
		n++
	}
	if s.Paused.Reason != admission.ServiceFailed || n == 0 {
		return s.Paused.Reason, ""
	}
	class = s.Trials[len(s.Trials)-1].Class
	return fmt.Sprintf("%s in a row: %s", plural(n), class), class
}
