package daemon

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"os"
	"slices"
	"sync"
	"time"
)

// Service is the loopd that runs, as the socket sees it.
type Service interface {
	// Live is what it does now.
	Live() Live
	// Do carries a command out, and returns what became of it in one line.
	Do(ctx context.Context, w Command, reason string) (string, error)
}

// maxBody bounds a message.
const maxBody = 4 << 10

// patience is how long a client may take to say what it wants.
const patience = 5 * time.Second

// message is a command on the wire, and answer what became of it.
type message struct {
	Reason string `json:"reason,omitempty"`
	// Until is when whoever says it gives up: what a loopd that was stopped finds in
	// its socket when it goes on is not done any more.
	Until time.Time `json:"until,omitzero"`
}

type answer struct {
	Done    string `json:"done,omitempty"`
	Refused string `json:"refused,omitempty"`
}

// Server listens for one state directory until it is closed.
type Server struct {
	http *http.Server
	path string
	wait sync.WaitGroup
}

// Serve opens the socket. Only the holder of the state directory's lock may.
func Serve(dir string, s Service) (*Server, error) {
	l, err := listen(dir)
	if err != nil {
		return nil, err
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /live", func(w http.ResponseWriter, _ *http.Request) { write(w, http.StatusOK, s.Live()) })
	mux.HandleFunc("POST /do/{word}", func(w http.ResponseWriter, r *http.Request) { do(w, r, s) })
	out := &Server{http: &http.Server{Handler: mux, ReadHeaderTimeout: patience, ReadTimeout: patience, IdleTimeout: patience, MaxHeaderBytes: maxBody}, path: l.Addr().String()}
	out.wait.Go(func() { _ = out.http.Serve(l) }) // it ends when the server is closed
	return out, nil
}

func do(w http.ResponseWriter, r *http.Request, s Service) {
	word := Command(r.PathValue("word"))
	var m message
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxBody)).Decode(&m); err != nil || !slices.Contains(Commands(), word) {
		write(w, http.StatusBadRequest, answer{Refused: "not a command of loopd"})
		return
	}
	if !m.Until.IsZero() && time.Now().After(m.Until) {
		write(w, http.StatusConflict, answer{Refused: "said too long ago"})
		return
	}
	// What follows may take longer, and ends when the client goes.
	if err := http.NewResponseController(w).SetReadDeadline(time.Time{}); err != nil {
		write(w, http.StatusConflict, answer{Refused: err.Error()})
		return
	}
	done, err := s.Do(r.Context(), word, m.Reason)
	if err != nil {
		write(w, http.StatusConflict, answer{Refused: err.Error()})
		return
	}
	write(w, http.StatusOK, answer{Done: done})
}

func write(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v) // whoever asked has gone
}

// Close stops listening and removes the socket.
func (s *Server) Close() error {
	err := s.http.Close()
	s.wait.Wait()
	if errors.Is(err, net.ErrClosed) {
		err = nil
	}
	if rm := os.Remove(s.path); rm != nil && !errors.Is(rm, os.ErrNotExist) {
		err = errors.Join(err, rm)
	}
	return err
}
