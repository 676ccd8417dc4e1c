package web

import (
	"bytes"
	"compress/gzip"
	"context"
	"embed"
	"errors"
	"fmt"
	"html/template"
	"io/fs"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"loopd/candidates"
	"loopd/harness"
	"loopd/internal/daemon"
)

// Setting is one setting in force and where it came from.
type Setting struct{ Key, Value, Origin string }

// Options are what the pages show and what may be done from them. Only Dir and
// Token are required.
type Options struct {
	Dir   string // state directory
	Token string
	// Suite reads what measures, to mask its tasks and to say how its seal holds.
	Suite func() (harness.Suite, error)
	// SealedDir is the directory of the suite.
	SealedDir string
	// Lint looks at a candidate that waits in the spool.
	Lint func(ctx context.Context, c candidates.Candidate) ([]candidates.Finding, error)
	// Add puts a patch into the spool, and Drop takes a candidate out of it again.
	Add  func(ctx context.Context, patch, rationale string) (string, error)
	Drop func(name string) error
	// Adopt says what taking over the wording of a campaign comes to, and writes
	// the branch where one is named.
	Adopt func(ctx context.Context, campaign, branch string, unconfirmed bool) (Adoption, error)
	// Veto records why what the last campaign kept is not wanted.
	Veto func(ctx context.Context, reason string) error
	// Settings are those in force.
	Settings func() ([]Setting, error)
	// Opened is one report of an evaluator, or two reports to compare. Nothing
	// else is then served. Across compares them although the instruments differ.
	Opened []Opened
	Across bool
	// Reveal shows task text.
	Reveal bool
	Now    func() time.Time
}

// Server shows one state directory on this machine.
type Server struct {
	o     Options
	store *Store
	http  *http.Server
	port  string
	pages *template.Template
	wait  sync.WaitGroup
	stop  context.CancelFunc
	mask  masker
	open  streams
}

//go:embed static pages
var files embed.FS

// BusyError says that a port is taken, and which is free.
type BusyError struct{ Port, Free int }

// Error names both.
func (e *BusyError) Error() string {
	return fmt.Sprintf("port %d is in use; %d is free", e.Port, e.Free)
}

// Serve listens on a port of this machine, 0 for any free one. A port that is
// taken gives *BusyError.
func Serve(port int, o Options) (*Server, error) {
	if o.Now == nil {
		o.Now = time.Now
	}
	l, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
	if errors.Is(err, syscall.EADDRINUSE) {
		return nil, busy(port)
	}
	if err != nil {
		return nil, fmt.Errorf("serve pages: %w", err)
	}
	return serveOn(l, strconv.Itoa(l.Addr().(*net.TCPAddr).Port), o)
}

// How long a browser may take: for the head of a request, for the body of a form,
// to take a page or what is new on it, to take a file, and until its next request.
// A server of this machine's own browser need not wait long for anybody.
const (
	headTime = 5 * time.Second
	formTime = 10 * time.Second
	pageTime = time.Minute
	fileTime = 10 * time.Minute
	idleTime = 2 * time.Minute
)

// serveOn serves what comes in by a listener under the port's name.
func serveOn(l net.Listener, port string, o Options) (*Server, error) {
	s := &Server{o: o, store: NewStore(o.Dir), port: port}
	s.mask.suite, s.mask.reveal = o.Suite, o.Reveal || len(o.Opened) > 0
	var err error
	if s.pages, err = parsePages(); err != nil {
		return nil, errors.Join(err, l.Close())
	}
	var ctx context.Context
	ctx, s.stop = context.WithCancel(context.Background())
	s.http = &http.Server{
		Handler: s.Handler(), ReadHeaderTimeout: headTime, WriteTimeout: pageTime, IdleTimeout: idleTime, MaxHeaderBytes: 16 << 10,
		BaseContext: func(net.Listener) context.Context { return ctx },
	}
	s.wait.Go(func() { _ = s.http.Serve(l) }) // it ends when the server is closed
	return s, nil
}

// busy finds a port that is free.
func busy(port int) error {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return fmt.Errorf("serve pages: %w", err)
	}
	free := l.Addr().(*net.TCPAddr).Port
	return errors.Join(&BusyError{port, free}, l.Close())
}

// URL is the address of the pages, without the token.
func (s *Server) URL() string { return "http://" + net.JoinHostPort("127.0.0.1", s.port) + "/" }

// Link is the address a browser is let in by.
func (s *Server) Link() string { return s.URL() + "login?token=" + s.o.Token }

// Close ends every page that is still open.
func (s *Server) Close() error {
	s.stop()
	err := s.http.Close()
	s.wait.Wait()
	return err
}

// Handler serves every page.
func (s *Server) Handler() http.Handler {
	mux := http.NewServeMux()
	static, err := fs.Sub(files, "static")
	if err != nil {
		panic(err) // it is part of the program
	}
	mux.Handle("GET /static/", http.StripPrefix("/static/", http.FileServerFS(static)))
	mux.HandleFunc("GET /favicon.ico", icon)
	mux.HandleFunc("GET /login", s.login)
	mux.HandleFunc("GET /healthz", s.healthz)
	mux.HandleFunc("GET /eval/{report}", s.masked("eval", s.evalPage))
	mux.HandleFunc("GET /eval/{report}/beside/{base}", s.masked("evaldiff", s.savedDiffPage))
	if len(s.o.Opened) > 0 {
		mux.HandleFunc("GET /{$}", s.openedPage)
		return s.guarded(mux)
	}
	mux.HandleFunc("GET /eval", s.masked("evals", s.evalsPage))
	mux.HandleFunc("GET /metrics", s.metrics)
	mux.HandleFunc("GET /{$}", s.campaignPage)
	mux.HandleFunc("GET /campaign/{campaign}", s.campaignPage)
	mux.HandleFunc("GET /campaign/{campaign}/candidate/{candidate}", s.page("candidate", s.candidatePage))
	mux.HandleFunc("GET /trial/{trial}", s.free("trial", s.trialPage))
	mux.HandleFunc("GET /trial/{trial}/raw/{file}", s.rawFile)
	mux.HandleFunc("GET /pair/{a}/{b}", s.free("pair", s.pairPage))
	mux.HandleFunc("GET /frozen", s.free("frozen", s.frozenPage))
	mux.HandleFunc("GET /queue", s.masked("queue", s.queuePage))
	mux.HandleFunc("GET /settings", s.free("settings", s.settingsPage))
	mux.HandleFunc("GET /now", s.nowPage)
	mux.HandleFunc("GET /live", s.live)
	mux.HandleFunc("GET /confirm/{word}", s.free("confirm", s.confirmPage))
	mux.HandleFunc("GET /confirm/adopt", s.masked("adopt", s.adoptPage))
	mux.HandleFunc("GET /confirm/veto", s.free("veto", s.vetoPage))
	mux.HandleFunc("POST /do/{word}", s.do)
	mux.HandleFunc("POST /do/adopt", s.adopt)
	mux.HandleFunc("POST /do/veto", s.veto)
	mux.HandleFunc("POST /do/drop", s.drop)
	mux.HandleFunc("POST /queue", s.add)
	return s.guarded(mux)
}

// icon is what a browser asks for beside what is no page of ours, such as a file.
func icon(w http.ResponseWriter, r *http.Request) {
	http.ServeFileFS(w, r, files, "static/icon.svg")
}

// frame is what every page is drawn in.
type frame struct {
	Title string
	Token string // of its forms
	Made  time.Time
	Alone bool // in a file, without a server
	Only  bool // what was opened by name, and no other pages
	Page  any
}

// problem is an answer that is no page.
type problem struct {
	status int
	text   string
}

func (p *problem) Error() string { return p.text }

func missing(what string) error { return &problem{http.StatusNotFound, "there is no " + what} }

// free renders a page that holds nothing of the store's: who else looks need not
// wait for it.
func (s *Server) free(name string, build func(r *http.Request) (title string, data any, err error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		var out bytes.Buffer
		title, data, err := build(r)
		if err == nil {
			err = s.render(&out, name, title, data)
		}
		s.answer(w, r, out.Bytes(), err)
	}
}

// masked is the same for a page with texts that are masked by the newest seal.
func (s *Server) masked(name string, build func(r *http.Request) (title string, data any, err error)) http.HandlerFunc {
	return s.free(name, func(r *http.Request) (string, any, error) {
		if err := s.with(r.Context(), func(view) error { return nil }); err != nil {
			return "", nil, err
		}
		return build(r)
	})
}

// page renders one page under the store's lock: what it shows is of one moment.
func (s *Server) page(name string, build func(v view, r *http.Request) (title string, data any, err error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		var out bytes.Buffer
		err := s.with(r.Context(), func(v view) error {
			title, data, err := build(v, r)
			if err != nil {
				return err
			}
			return s.render(&out, name, title, data)
		})
		s.answer(w, r, out.Bytes(), err)
	}
}

// with hands on the store's view, and what masks is that of its seal.
func (s *Server) with(ctx context.Context, f func(v view) error) error {
	return s.store.with(ctx, func(v view) error {
		s.mask.follow(v.seal())
		return f(v)
	})
}

func (s *Server) render(out *bytes.Buffer, name, title string, data any) error {
	return s.pages.ExecuteTemplate(out, name, frame{Title: title, Token: derived(s.o.Token, "form"), Made: s.o.Now(), Only: len(s.o.Opened) > 0, Page: data})
}

// answer sends a page, or says what is wrong on one.
func (s *Server) answer(w http.ResponseWriter, r *http.Request, page []byte, err error) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	if err == nil {
		send(w, r, page)
		return
	}
	status := http.StatusInternalServerError
	if p, ok := errors.AsType[*problem](err); ok {
		status = p.status
	}
	var out bytes.Buffer
	if renderErr := s.render(&out, "problem", http.StatusText(status), err.Error()); renderErr != nil {
		http.Error(w, err.Error(), status)
		return
	}
	w.WriteHeader(status)
	_, _ = w.Write(out.Bytes())
}

// worthPacking is from how many bytes on a page is packed.
const worthPacking = 8 << 10

// send writes a page, packed where the browser takes that.
func send(w http.ResponseWriter, r *http.Request, page []byte) {
	if len(page) < worthPacking || !strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
		_, _ = w.Write(page) // the browser has gone
		return
	}
	w.Header().Set("Content-Encoding", "gzip")
	z, err := gzip.NewWriterLevel(w, gzip.BestSpeed)
	if err != nil {
		panic(err) // the level is one of the package's own
	}
	_, _ = z.Write(page) // the browser has gone
	_ = z.Close()
}

// liveNow is what the loopd that runs does, nil where none runs.
func (s *Server) liveNow(ctx context.Context) *daemon.Live {
	l, err := daemon.Dial(s.o.Dir).Live(ctx)
	if err != nil {
		return nil
	}
	return &l
}
