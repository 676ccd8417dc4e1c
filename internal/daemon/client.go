package daemon

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"syscall"
	"time"
)

// How long is waited for an answer: for what is only looked up, and for what a
// person asked, which waits for the end of a step such as a commit.
const (
	lookTime = 2 * time.Second
	doTime   = 30 * time.Second
)

// Client speaks to the loopd that runs for one state directory.
type Client struct{ dir string }

// Dial returns the client of a state directory. Whether somebody listens is seen
// when something is asked.
func Dial(dir string) Client { return Client{dir} }

// Live returns what the loopd that runs does, or *NotRunningError, or *SilentError.
func (c Client) Live(ctx context.Context) (Live, error) {
	ctx, cancel := context.WithTimeout(ctx, lookTime)
	defer cancel()
	var l Live
	_, err := c.ask(ctx, http.MethodGet, "live", nil, &l)
	return l, err
}

// Do says a word and returns what became of it: *RefusedError where the loopd
// that runs will not, *NotRunningError where none does, *SilentError where it does
// not answer.
func (c Client) Do(ctx context.Context, w Command, reason string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, doTime)
	defer cancel()
	until, _ := ctx.Deadline()
	body, err := json.Marshal(message{reason, until.Round(0)})
	if err != nil {
		return "", err
	}
	var a answer
	status, err := c.ask(ctx, http.MethodPost, "do/"+string(w), body, &a)
	if err != nil {
		return "", err
	}
	if status != http.StatusOK {
		return "", &RefusedError{w, a.Refused}
	}
	return a.Done, nil
}

func (c Client) ask(ctx context.Context, method, what string, body []byte, into any) (int, error) {
	path, err := find(c.dir)
	if err != nil {
		return 0, err
	}
	client := http.Client{Transport: &http.Transport{
		DisableKeepAlives: true,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "unix", path)
		},
	}}
	r, err := http.NewRequestWithContext(ctx, method, "http://loopd/"+what, bytes.NewReader(body))
	if err != nil {
		return 0, err
	}
	res, err := client.Do(r)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ECONNREFUSED) {
		return 0, &NotRunningError{Dir: c.dir} // the second is what a killed loopd leaves
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return 0, &SilentError{Dir: c.dir}
	}
	if err != nil {
		return 0, fmt.Errorf("ask the loopd that runs for %s: %w", c.dir, err)
	}
	defer res.Body.Close()
	if err := json.NewDecoder(res.Body).Decode(into); err != nil {
		return 0, fmt.Errorf("ask the loopd that runs for %s: %w", c.dir, err)
	}
	return res.StatusCode, nil
}
