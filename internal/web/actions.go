package web

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"

	"loopd/internal/campaign"
	"loopd/internal/daemon"
	"loopd/loop"
	"loopd/report"
)

// confirmData asks once more before something is done.
type confirmData struct {
	Word, About string
	Reason      bool
}

// words are what may be done from a page, and what that means.
var words = map[daemon.Command]string{
	daemon.Pause:  "Sessions under way end and count; nothing starts until it is resumed.",
	daemon.Resume: "What is paused, or halted for something outside the measurement, goes on.",
	daemon.Halt:   "Sessions under way are ended now and are void; nothing starts until it is resumed.",
	daemon.Finish: "The search ends; the gate is run with what is left of the budget.",
}

func (s *Server) confirmPage(r *http.Request) (string, any, error) {
	word := daemon.Command(r.PathValue("word"))
	about, ok := words[word]
	if !ok {
		return "", nil, missing("such action")
	}
	return "Really " + string(word) + "?", confirmData{string(word), about, word == daemon.Pause || word == daemon.Halt}, nil
}

// do says a word to the loopd that runs. It is recorded there, as an event.
func (s *Server) do(w http.ResponseWriter, r *http.Request) {
	word := daemon.Command(r.PathValue("word"))
	if _, ok := words[word]; !ok {
		s.answer(w, r, nil, missing("such action"))
		return
	}
	done, err := daemon.Dial(s.o.Dir).Do(r.Context(), word, r.PostForm.Get("reason"))
	if _, nobody := errors.AsType[*daemon.NotRunningError](err); nobody {
		err = &problem{http.StatusConflict, "no loopd runs here that could be told; loopd serve, or loopd run"}
	}
	s.said(w, r, "/", done, err)
}

// Adoption is what taking over the wording of a campaign comes to, as the verb
// says it.
type Adoption struct {
	campaign.Adoption
	Campaign  string
	Headline  string
	Confirmed bool
	Command   string // that writes the branch
	Commands  []string
	Written   string // the commit that was written, empty for none
	Next      string // what to type then
}

// adoptData asks whether a wording is to be taken over.
type adoptData struct {
	Adoption
	Words []report.DiffLine
}

// adoptPage says what would be written. It writes nothing.
func (s *Server) adoptPage(r *http.Request) (string, any, error) {
	if s.o.Adopt == nil {
		return "", nil, missing("such action here: these pages were opened without the plugin")
	}
	q := r.URL.Query()
	a, err := s.o.Adopt(r.Context(), q.Get("campaign"), "", q.Get("unconfirmed") != "")
	if err != nil {
		return "", nil, &problem{http.StatusConflict, err.Error()}
	}
	return "Adopt the wording of " + a.Campaign + "?", adoptData{a, report.Words(s.mask.text(a.Diff))}, nil
}

// adopt writes the branch.
func (s *Server) adopt(w http.ResponseWriter, r *http.Request) {
	branch := r.PostForm.Get("branch")
	switch {
	case s.o.Adopt == nil:
		s.answer(w, r, nil, missing("such action"))
		return
	case branch == "":
		s.answer(w, r, nil, &problem{http.StatusBadRequest, "The branch needs a name."})
		return
	}
	a, err := s.o.Adopt(r.Context(), r.PostForm.Get("campaign"), branch, r.PostForm.Get("unconfirmed") != "")
	s.said(w, r, "/", fmt.Sprintf("wrote branch %s: one commit, %s; next: %s", branch, shortText(a.Written), a.Next), err)
}

// vetoData asks whether what was kept is really not wanted.
type vetoData struct{ Campaign, Headline string }

func (s *Server) vetoPage(r *http.Request) (string, any, error) {
	var d vetoData
	err := s.with(r.Context(), func(v view) error {
		var last *loop.State
		if at, ok := v.campaign(""); ok {
			last = v.state(at)
		}
		if err := campaign.Vetoable(last); err != nil {
			return &problem{http.StatusConflict, err.Error()}
		}
		d = vetoData{last.Started.Campaign, report.Headline(last)}
		return nil
	})
	return "Veto the wording of " + d.Campaign + "?", d, err
}

// veto records it, as an event.
func (s *Server) veto(w http.ResponseWriter, r *http.Request) {
	why := r.PostForm.Get("reason")
	if s.o.Veto == nil {
		s.answer(w, r, nil, missing("such action"))
		return
	}
	s.said(w, r, "/", "vetoed: "+why, s.o.Veto(r.Context(), why))
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

// drop takes a candidate out of the spool.
func (s *Server) drop(w http.ResponseWriter, r *http.Request) {
	if s.o.Drop == nil {
		s.answer(w, r, nil, missing("such action"))
		return
	}
	name := r.PostForm.Get("name")
	s.said(w, r, "/queue", "dropped "+name, s.o.Drop(name))
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
