package web

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
)

// liveEvery is how often a page that is open is looked at for news.
const liveEvery = time.Second

// maxStreams is how many pages are kept up to date at once. Browsers open six
// connections to a server and wait for one to end before they ask for more.
const maxStreams = 4

// comeBack is how long a page waits, in milliseconds, that had to make room.
const comeBack = 10_000

// streams are the pages that are kept up to date, the oldest first. Where there are
// too many the oldest makes room.
type streams struct {
	mu  sync.Mutex
	all []chan struct{}
}

// enter adds a page; its channel is closed when it has to make room.
func (s *streams) enter() chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.all) == maxStreams {
		close(s.all[0])
		s.all = slices.Delete(s.all, 0, 1)
	}
	room := make(chan struct{})
	s.all = append(s.all, room)
	return room
}

// leave takes a page out again.
func (s *streams) leave(room chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all = slices.DeleteFunc(s.all, func(c chan struct{}) bool { return c == room })
}

// nowPage is the part of the campaign's page that says what is going on.
func (s *Server) nowPage(w http.ResponseWriter, r *http.Request) {
	text, err := s.nowPart(r.Context())
	s.answer(w, r, text, err)
}

func (s *Server) nowPart(ctx context.Context) ([]byte, error) {
	var out bytes.Buffer
	live := s.liveNow(ctx)
	err := s.with(ctx, func(v view) error {
		return s.pages.ExecuteTemplate(&out, "now", nowOf(live, v))
	})
	return out.Bytes(), err
}

// live sends that part whenever it has changed, as server-sent events.
func (s *Server) live(w http.ResponseWriter, r *http.Request) {
	room := s.open.enter()
	defer s.open.leave(room)
	w.Header().Set("Content-Type", "text/event-stream")
	out := http.NewResponseController(w)
	tick := time.NewTicker(liveEvery)
	defer tick.Stop()
	var last []byte
	for {
		// What cannot be read for a moment is looked at again at the next tick.
		if text, err := s.nowPart(r.Context()); err == nil && !bytes.Equal(text, last) {
			last = text
			_ = out.SetWriteDeadline(time.Now().Add(pageTime)) // of this piece, not of the stream
			for line := range strings.Lines(string(text)) {
				fmt.Fprintf(w, "data: %s\n", strings.TrimRight(line, "\r\n"))
			}
			fmt.Fprint(w, "\n")
			if out.Flush() != nil {
				return // the browser has gone, or takes nothing
			}
		}
		select {
		case <-tick.C:
		case <-room:
			fmt.Fprintf(w, "retry: %d\n\n", comeBack)
			return
		case <-r.Context().Done():
			return
		}
	}
}

// healthz says that the pages can be served: the ledger can be read.
func (s *Server) healthz(w http.ResponseWriter, r *http.Request) {
	if _, err := s.store.Seq(r.Context()); err != nil {
		http.Error(w, "the ledger cannot be read", http.StatusServiceUnavailable)
		return
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	fmt.Fprintln(w, "ok")
}
