package web

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"loopd/internal/control"
)

// liveEvery is how often a page that is open is looked at for news.
const liveEvery = time.Second

// nowPage is the part of the campaign's page that says what is going on.
func (s *Server) nowPage(w http.ResponseWriter, r *http.Request) {
	text, err := s.nowPart(r.Context())
	s.answer(w, r, text, err)
}

func (s *Server) nowPart(ctx context.Context) ([]byte, error) {
	var out bytes.Buffer
	err := s.store.with(ctx, func(v view) error {
		return s.pages.ExecuteTemplate(&out, "now", s.nowOf(ctx, v))
	})
	return out.Bytes(), err
}

// live sends that part whenever it has changed, as server-sent events.
func (s *Server) live(w http.ResponseWriter, r *http.Request) {
	flusher, ok := w.(http.Flusher)
	if !ok {
		http.Error(w, "no streaming", http.StatusNotImplemented)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	tick := time.NewTicker(liveEvery)
	defer tick.Stop()
	var last []byte
	for {
		// What cannot be read for a moment is looked at again at the next tick.
		if text, err := s.nowPart(r.Context()); err == nil && !bytes.Equal(text, last) {
			last = bytes.Clone(text)
			for line := range strings.Lines(string(text)) {
				fmt.Fprintf(w, "data: %s\n", strings.TrimRight(line, "\r\n"))
			}
			fmt.Fprint(w, "\n")
			flusher.Flush()
		}
		select {
		case <-tick.C:
		case <-r.Context().Done():
			return
		}
	}
}

// confirmData asks once more before something is done.
type confirmData struct {
	Word, About string
	Reason      bool
}

// words are what may be done from a page, and what that means.
var words = map[control.Word]string{
	control.Pause:  "Sessions under way end and count; nothing starts until it is resumed.",
	control.Resume: "What is paused, or halted for something outside the measurement, goes on.",
	control.Halt:   "Sessions under way are ended now and are void; nothing starts until it is resumed.",
	control.Finish: "The search ends; the gate is run with what is left of the budget.",
}

func (s *Server) confirmPage(_ context.Context, _ view, r *http.Request) (string, any, error) {
	word := control.Word(r.PathValue("word"))
	about, ok := words[word]
	if !ok {
		return "", nil, missing("such action")
	}
	return "Really " + string(word) + "?", confirmData{string(word), about, word == control.Pause || word == control.Halt}, nil
}

// do says a word to the loopd that runs. It is recorded there, as an event.
func (s *Server) do(w http.ResponseWriter, r *http.Request) {
	word := control.Word(r.PathValue("word"))
	if name := r.PostForm.Get("name"); word == "drop" && s.o.Drop != nil {
		s.said(w, r, "/queue", "dropped "+name, s.o.Drop(name))
		return
	}
	if _, ok := words[word]; !ok {
		s.answer(w, r, nil, missing("such action"))
		return
	}
	done, err := control.Dial(s.o.Dir).Do(r.Context(), word, r.PostForm.Get("reason"))
	if _, nobody := errors.AsType[*control.NotRunningError](err); nobody {
		err = &problem{http.StatusConflict, "no loopd runs here that could be told; loopd serve, or loopd run"}
	}
	s.said(w, r, "/", done, err)
}

// add puts a patch into the spool.
func (s *Server) add(w http.ResponseWriter, r *http.Request) {
	if s.o.Add == nil {
		s.answer(w, r, nil, missing("such action"))
		return
	}
	done, err := s.o.Add(r.Context(), r.PostForm.Get("patch"), r.PostForm.Get("rationale"))
	s.said(w, r, "/queue", done, err)
}

// said goes back to a page and tells there what was done.
func (s *Server) said(w http.ResponseWriter, r *http.Request, back, done string, err error) {
	if err != nil {
		if _, ok := errors.AsType[*problem](err); !ok {
			err = &problem{http.StatusConflict, err.Error()}
		}
		s.answer(w, r, nil, err)
		return
	}
	http.Redirect(w, r, back+"?said="+url.QueryEscape(done), http.StatusSeeOther)
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
