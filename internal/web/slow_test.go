package web

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"loopd/internal/testenv"
)

// pipes is a listener without a network: time on it is the test's.
type pipes struct {
	in   chan net.Conn
	over chan struct{}
	once sync.Once
}

func newPipes() *pipes { return &pipes{in: make(chan net.Conn), over: make(chan struct{})} }

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.in:
		return c, nil
	case <-p.over:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error {
	p.once.Do(func() { close(p.over) })
	return nil
}

func (p *pipes) Addr() net.Addr { return &net.TCPAddr{} }

// dial is one more browser.
func (p *pipes) dial() net.Conn {
	here, there := net.Pipe()
	p.in <- there
	return here
}

// Whoever is slow, or goes away without a word, is let go: nobody can hold on to
// this server for longer than a page takes.
func TestWhoIsSlowIsLetGo(t *testing.T) {
	t.Parallel()
	o := optionsFor(t, privateDir(t))
	form := "token=" + derived(o.Token, "form") + "&reason=" + strings.Repeat("x", 100)
	head := "Host: 127.0.0.1:1\r\nCookie: loopd-1=" + derived(o.Token, "cookie") + "\r\n"
	for name, tt := range map[string]struct {
		send  string
		reads bool // takes the answer
		most  time.Duration
		want  string
	}{
		"a head that never ends":     {"GET /settings HTTP/1.1\r\nHost: 127.0.0.1:1\r\n", true, headTime, ""},
		"a form that never ends":     {"POST /do/pause HTTP/1.1\r\n" + head + "Content-Type: application/x-www-form-urlencoded\r\nContent-Length: 5000\r\n\r\n" + form, true, formTime + idleTime, "HTTP/1.1 403"},
		"a form of a gigabyte":       {"POST /queue HTTP/1.1\r\n" + head + "Content-Type: application/x-www-form-urlencoded\r\nContent-Length: 1073741824\r\n\r\n" + strings.Repeat("x", maxForm+1), true, formTime + idleTime, "HTTP/1.1 413"},
		"nothing more after a page":  {"GET /settings HTTP/1.1\r\n" + head + "\r\n", true, idleTime, "HTTP/1.1 200"},
		"a page that is never taken": {"GET /settings HTTP/1.1\r\n" + head + "\r\n", false, pageTime + headTime, ""},
		"news that are never taken":  {"GET /live HTTP/1.1\r\n" + head + "\r\n", false, pageTime + headTime, ""},
		"a form without a cookie":    {"POST /do/pause HTTP/1.1\r\nHost: 127.0.0.1:1\r\nContent-Length: 1073741824\r\n\r\n" + form, true, formTime + idleTime, "HTTP/1.1 403"},
		"a look with a body":         {"GET /settings HTTP/1.1\r\nContent-Length: 1073741824\r\n" + head + "\r\n", true, formTime + idleTime, "HTTP/1.1 200"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := newPipes()
				s, err := serveOn(l, "1", o)
				testenv.Must(t, err)
				began, ended := time.Now(), make(chan struct{})
				s.http.ConnState = func(_ net.Conn, st http.ConnState) {
					if st == http.StateClosed {
						close(ended)
					}
				}
				c := l.dial()
				go func() { _, _ = io.WriteString(c, tt.send) }() // it may be read no further
				var first string
				if tt.reads {
					first, _ = bufio.NewReader(c).ReadString('\n')
					go func() { _, _ = io.Copy(io.Discard, c) }()
				}
				<-ended
				if took := time.Since(began); took > tt.most+time.Second {
					t.Errorf("held on for %v, at most %v", took, tt.most)
				}
				if !strings.HasPrefix(first, tt.want) {
					t.Errorf("got %q, want %s", first, tt.want)
				}
				if err := errors.Join(c.Close(), s.Close()); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

// A page that is open is told what is new for as long as it is looked at, and as
// many as there are: what is too much makes room, and nothing of it is left.
func TestManyPagesAreKeptUpToDate(t *testing.T) {
	t.Parallel()
	s := openSite(t, optionsFor(t, privateDir(t)))
	type stream struct {
		body io.ReadCloser
		stop context.CancelFunc
	}
	var all []stream
	for range 200 {
		ctx, stop := context.WithCancel(t.Context())
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, s.s.URL()+"live", nil)
		testenv.Must(t, err)
		r.AddCookie(&http.Cookie{Name: s.s.cookie(), Value: derived(s.s.o.Token, "cookie")})
		res, err := http.DefaultClient.Do(r)
		testenv.Must(t, err)
		all = append(all, stream{res.Body, stop})
	}
	for i, one := range all[:len(all)-maxStreams] {
		text, err := io.ReadAll(one.body)
		if err != nil || !strings.Contains(string(text), "Not running") || !strings.HasSuffix(string(text), "retry: 10000\n\n") {
			t.Fatalf("page %d was told %q (%v)", i, text, err)
		}
	}
	if n := s.s.streams(); n != maxStreams {
		t.Errorf("%d pages are kept up to date, want %d", n, maxStreams)
	}
	for _, one := range all {
		one.stop()
		one.body.Close()
	}
	for s.s.streams() > 0 { // the test's own time limit ends it
		s.want("/now")
	}
}

// streams is how many pages are kept up to date.
func (s *Server) streams() int {
	s.open.mu.Lock()
	defer s.open.mu.Unlock()
	return len(s.open.all)
}
