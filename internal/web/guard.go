package web

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"loopd/internal/atomicfile"
)

// tokenName is the file of the state directory that holds the token of its pages.
const tokenName = "token"

// Token returns the token of the pages of a state directory: 256 random bits in
// hexadecimal, made at the first call, in a file nobody else may read.
func Token(dir string) (string, error) {
	path := filepath.Join(dir, tokenName)
	data, err := os.ReadFile(path)
	if err == nil && len(strings.TrimSpace(string(data))) == 2*sha256.Size {
		return strings.TrimSpace(string(data)), nil
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("read token: %w", err)
	}
	var b [sha256.Size]byte
	if _, err := rand.Read(b[:]); err != nil {
		return "", fmt.Errorf("make token: %w", err)
	}
	token := hex.EncodeToString(b[:])
	return token, atomicfile.WriteFile(path, []byte(token+"\n"), 0o600)
}

// The names under which a browser shows that it may look, and that a form is ours.
const (
	cookieName = "loopd-"
	formToken  = "token"
)

// derived is a secret for one purpose that does not give the token away.
func derived(token, purpose string) string {
	m := hmac.New(sha256.New, []byte(token))
	m.Write([]byte(purpose))
	return hex.EncodeToString(m.Sum(nil))
}

func same(a, b string) bool { return subtle.ConstantTimeCompare([]byte(a), []byte(b)) == 1 }

// policy keeps a page from doing anything but showing itself.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

// guarded lets through only who names this machine, shows the token, and on a
// change comes from a page of ours.
func (s *Server) guarded(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", policy)
		h.Set("X-Content-Type-Options", "nosniff")
		// Not no-referrer: a browser then names no origin with a form either.
		h.Set("Referrer-Policy", "same-origin")
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("Cache-Control", "no-store")
		if r.Body != http.NoBody { // also where it is refused unread: what is left of it is waited for
			_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(formTime)) // a test's writer has none
		}
		switch {
		case !s.ours(r.Host):
			// A name that was made to point here is another site's.
			http.Error(w, "this server is not called that", http.StatusMisdirectedRequest)
		case r.Method != http.MethodGet && r.Method != http.MethodHead && r.Method != http.MethodPost:
			h.Set("Allow", "GET, HEAD, POST")
			http.Error(w, "method not allowed", http.StatusMethodNotAllowed)
		case open(r):
			next.ServeHTTP(w, r)
		case !s.knows(r):
			http.Error(w, "open the link that loopd printed: it carries the token", http.StatusForbidden)
		case r.Method == http.MethodPost:
			if p := s.refused(w, r); p != nil {
				s.answer(w, r, nil, p)
				return
			}
			next.ServeHTTP(w, r)
		default:
			next.ServeHTTP(w, r)
		}
	})
}

// open says whether a path needs no token: what machines look at, the way in, and
// what every page is drawn with.
func open(r *http.Request) bool {
	if r.Method == http.MethodPost {
		return false
	}
	return slices.Contains([]string{"/healthz", "/metrics", "/login", "/favicon.ico"}, r.URL.Path) || strings.HasPrefix(r.URL.Path, "/static/")
}

// ours says whether a Host names this server on this machine.
func (s *Server) ours(host string) bool {
	name, port, err := net.SplitHostPort(host)
	if err != nil || port != s.port {
		return false
	}
	return name == "127.0.0.1" || strings.EqualFold(name, "localhost") || name == "::1"
}

// cookie is the name of the cookie of this server. It holds the port: browsers send
// a cookie to every port of a host, and a second server would log the first one
// out.
func (s *Server) cookie() string { return cookieName + s.port }

// knows says whether a request shows the token. A server on another port may have
// set a cookie of this name before ours.
func (s *Server) knows(r *http.Request) bool {
	return slices.ContainsFunc(r.CookiesNamed(s.cookie()), func(c *http.Cookie) bool {
		return same(c.Value, derived(s.o.Token, "cookie"))
	})
}

// refused says why a change does not come from a form of ours, nil where it does:
// by its token, and by the origin where the browser names one. What is too large or
// too slow is read no further.
func (s *Server) refused(w http.ResponseWriter, r *http.Request) *problem {
	foreign := &problem{http.StatusForbidden, "This did not come from a page of loopd. Open the page again and send it from there."}
	if from := r.Header.Get("Origin"); from != "" && !strings.EqualFold(from, "http://"+r.Host) {
		return foreign
	}
	if site := r.Header.Get("Sec-Fetch-Site"); site != "" && site != "same-origin" && site != "none" {
		return foreign
	}
	r.Body = http.MaxBytesReader(w, r.Body, maxForm)
	err := r.ParseForm()
	if _, large := errors.AsType[*http.MaxBytesError](err); large {
		return &problem{http.StatusRequestEntityTooLarge, fmt.Sprintf("A form may send %s at most.", bytesText(maxForm))}
	}
	if err != nil || !same(r.PostForm.Get(formToken), derived(s.o.Token, "form")) {
		return foreign
	}
	_ = http.NewResponseController(w).SetReadDeadline(time.Time{}) // it is whole; what is done may take longer
	return nil
}

// maxForm bounds what a form may send: a candidate's patch is the largest.
const maxForm = 2 << 20

// login turns the token of the printed link into a cookie of this browser.
func (s *Server) login(w http.ResponseWriter, r *http.Request) {
	if !same(r.URL.Query().Get("token"), s.o.Token) {
		http.Error(w, "open the link that loopd printed: it carries the token", http.StatusForbidden)
		return
	}
	http.SetCookie(w, &http.Cookie{
		Name: s.cookie(), Value: derived(s.o.Token, "cookie"), Path: "/", HttpOnly: true, SameSite: http.SameSiteStrictMode,
	})
	http.Redirect(w, r, "/", http.StatusSeeOther)
}
