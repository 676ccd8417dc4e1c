package web

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"loopd/internal/testenv"
)

func TestWhoIsLetIn(t *testing.T) {
	t.Parallel()
	s := openSite(t, optionsFor(t, privateDir(t)))
	ours := "127.0.0.1:" + s.s.port
	// By Host and Origin: GET with the token and without, POST with and without.
	// A GET changes nothing and is answered whoever asks, if it shows the token; a
	// POST that is let through finds no loopd to tell.
	const ok, told, refused, misdirected = http.StatusOK, http.StatusConflict, http.StatusForbidden, http.StatusMisdirectedRequest
	rows := []struct {
		host, origin string
		want         [4]int
	}{
		{ours, "", [4]int{ok, refused, told, refused}},
		{ours, "http://" + ours, [4]int{ok, refused, told, refused}},
		{ours, "http://evil.example", [4]int{ok, refused, refused, refused}},
		{ours, "null", [4]int{ok, refused, refused, refused}},
		{ours, "http://127.0.0.1:1", [4]int{ok, refused, refused, refused}},
		{"evil.example:" + s.s.port, "", [4]int{misdirected, misdirected, misdirected, misdirected}},
		{"evil.example:" + s.s.port, "http://evil.example:" + s.s.port, [4]int{misdirected, misdirected, misdirected, misdirected}},
		{"127.0.0.1:1", "", [4]int{misdirected, misdirected, misdirected, misdirected}},
		{"127.0.0.1", "http://" + ours, [4]int{misdirected, misdirected, misdirected, misdirected}},
		{"", "null", [4]int{misdirected, misdirected, misdirected, misdirected}},
	}
	asked := 0
	for _, row := range rows {
		for i, want := range row.want {
			method, path, body := http.MethodGet, "/settings", ""
			if i >= 2 {
				method, path, body = http.MethodPost, "/do/pause", s.form()
			}
			r := s.request(method, path, body)
			if r.Host = row.host; i%2 == 1 {
				r.Header.Del("Cookie")
			}
			r.Header.Del("Origin")
			if row.origin != "" {
				r.Header.Set("Origin", row.origin)
			}
			if got, _ := s.ask(r); got != want {
				t.Errorf("%s %s as %q from %q, token %v: %d, want %d", method, path, row.host, row.origin, i%2 == 0, got, want)
			}
			asked++
		}
	}
	if asked != 40 {
		t.Errorf("%d requests, want 40", asked)
	}
}

func TestOddRequestsAreRefused(t *testing.T) {
	t.Parallel()
	s := openSite(t, optionsFor(t, privateDir(t)))
	tests := []struct {
		name, method, path, body string
		change                   func(r *http.Request)
		want                     int
	}{
		{"another method", http.MethodPut, "/", "", nil, http.StatusMethodNotAllowed},
		{"a method of scripts", http.MethodOptions, "/do/pause", "", nil, http.StatusMethodNotAllowed},
		{"a change by GET", http.MethodGet, "/do/pause", "", nil, http.StatusMethodNotAllowed},
		{"no form token", http.MethodPost, "/do/pause", "reason=x", nil, http.StatusForbidden},
		{"a wrong form token", http.MethodPost, "/do/pause", "token=" + s.s.o.Token, nil, http.StatusForbidden},
		{"the form token in the address", http.MethodPost, "/do/pause?" + s.form(), "", nil, http.StatusForbidden},
		{"the token as cookie", http.MethodGet, "/", "", func(r *http.Request) {
			r.Header.Set("Cookie", s.s.cookie()+"="+s.s.o.Token)
		}, http.StatusForbidden},
		{"from another site, as the browser says", http.MethodPost, "/do/pause", s.form(), func(r *http.Request) {
			r.Header.Set("Sec-Fetch-Site", "cross-site")
		}, http.StatusForbidden},
		{"from another port, as the browser says", http.MethodPost, "/do/pause", s.form(), func(r *http.Request) {
			r.Header.Set("Sec-Fetch-Site", "same-site")
		}, http.StatusForbidden},
		{"a form of many parts", http.MethodPost, "/do/pause", s.form(), func(r *http.Request) {
			r.Header.Set("Content-Type", "multipart/form-data; boundary=x")
		}, http.StatusForbidden},
		{"too large a form", http.MethodPost, "/queue", s.form("patch", strings.Repeat("x", maxForm)), nil, http.StatusRequestEntityTooLarge},
		{"a word nobody knows", http.MethodPost, "/do/explode", s.form(), nil, http.StatusNotFound},
		{"a wrong token in the link", http.MethodGet, "/login?token=0", "", nil, http.StatusForbidden},
		{"no token in the link", http.MethodGet, "/login", "", nil, http.StatusForbidden},
		{"localhost is this machine", http.MethodGet, "/settings", "", func(r *http.Request) { r.Host = "localhost:" + s.s.port }, http.StatusOK},
		{"whatever its case", http.MethodGet, "/settings", "", func(r *http.Request) { r.Host = "LocalHost:" + s.s.port }, http.StatusOK},
		{"a dot at the end is another name", http.MethodGet, "/settings", "", func(r *http.Request) { r.Host = "localhost.:" + s.s.port }, http.StatusMisdirectedRequest},
		{"an address without its port", http.MethodGet, "/settings", "", func(r *http.Request) { r.Host = "[::1]" }, http.StatusMisdirectedRequest},
		{"an address written otherwise", http.MethodGet, "/settings", "", func(r *http.Request) { r.Host = "[::ffff:127.0.0.1]:" + s.s.port }, http.StatusMisdirectedRequest},
		{"a port written otherwise", http.MethodGet, "/settings", "", func(r *http.Request) { r.Host = "127.0.0.1:0" + s.s.port }, http.StatusMisdirectedRequest},
		{"a cookie of another server before ours", http.MethodGet, "/settings", "", func(r *http.Request) {
			r.Header.Set("Cookie", s.s.cookie()+"=x; "+r.Header.Get("Cookie"))
		}, http.StatusOK},
		{"so is its other address", http.MethodGet, "/settings", "", func(r *http.Request) { r.Host = "[::1]:" + s.s.port }, http.StatusOK},
		{"health needs no token", http.MethodGet, "/healthz", "", func(r *http.Request) { r.Header.Del("Cookie") }, http.StatusOK},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := s.request(tt.method, tt.path, tt.body)
			if tt.change != nil {
				tt.change(r)
			}
			if got, body := s.ask(r); got != tt.want {
				t.Errorf("got %d, want %d: %s", got, tt.want, body)
			}
		})
	}
}

func TestLoginAndHeaders(t *testing.T) {
	t.Parallel()
	s := openSite(t, optionsFor(t, privateDir(t)))
	r := s.request(http.MethodGet, "/login?token="+s.s.o.Token, "")
	r.Header.Del("Cookie")
	w := httptest.NewRecorder()
	s.h.ServeHTTP(w, r)
	if w.Code != http.StatusSeeOther || w.Header().Get("Location") != "/" {
		t.Fatalf("login: %d to %q", w.Code, w.Header().Get("Location"))
	}
	cookies := w.Result().Cookies()
	if len(cookies) != 1 {
		t.Fatalf("%d cookies, want 1", len(cookies))
	}
	if c := cookies[0]; !c.HttpOnly || c.SameSite != http.SameSiteStrictMode || c.Value == s.s.o.Token || c.Domain != "" {
		t.Errorf("cookie %+v: want HttpOnly, SameSite=Strict, no domain, and not the token", c)
	}
	w = httptest.NewRecorder()
	s.h.ServeHTTP(w, s.request(http.MethodGet, "/", ""))
	want := map[string]string{
		"Content-Security-Policy":      "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
		"X-Content-Type-Options":       "nosniff",
		"Referrer-Policy":              "same-origin",
		"Cross-Origin-Opener-Policy":   "same-origin",
		"Cross-Origin-Resource-Policy": "same-origin",
		"Cache-Control":                "no-store",
		"Content-Type":                 "text/html; charset=utf-8",
	}
	for name, value := range want {
		if got := w.Header().Get(name); got != value {
			t.Errorf("%s: %q, want %q", name, got, value)
		}
	}
}

// Two state directories may be looked at in one browser: cookies know no ports.
func TestTwoServersDoNotLogEachOtherOut(t *testing.T) {
	t.Parallel()
	a, b := openSite(t, optionsFor(t, privateDir(t))), openSite(t, optionsFor(t, privateDir(t)))
	if a.s.cookie() == b.s.cookie() {
		t.Errorf("both keep their cookie as %q", a.s.cookie())
	}
}

func TestToken(t *testing.T) {
	t.Parallel()
	dir := privateDir(t)
	first, err := Token(dir)
	testenv.Must(t, err)
	if again, err := Token(dir); err != nil || again != first || len(first) != 64 {
		t.Errorf("token %q, then %q (%v): want the same 64 digits", first, again, err)
	}
	info, err := os.Stat(filepath.Join(dir, tokenName))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v (%v), want 0600", info.Mode(), err)
	}
	if other, err := Token(privateDir(t)); err != nil || other == first {
		t.Errorf("another directory has the token %q too (%v)", other, err)
	}
}

func TestNoWayOutOfTheDirectory(t *testing.T) {
	t.Parallel()
	dir := privateDir(t)
	n := fabricate(t, dir, plan{candidates: 2, budget: 200, rich: 3})
	s := openSite(t, optionsFor(t, dir))
	id, none := n.state.Trials[0].ID, n.state.Trials[1].ID
	const canary = "canary-of-another-file"
	for _, name := range []string{"secret.txt", "trials/secret.txt"} {
		testenv.Write(t, filepath.Join(dir, name), canary)
	}
	stderr := filepath.Join(dir, "trials", none, "stderr.txt")
	testenv.Must(t, os.Remove(stderr))
	testenv.Must(t, os.Symlink(filepath.Join(dir, "secret.txt"), stderr))
	up := "%2e%2e%2f"
	paths := []string{
		"/trial/" + none + "/raw/stderr.txt", "/trial/" + id + "/raw/" + up + "secret.txt", "/trial/" + id + "/raw/" + up + up + "secret.txt", "/trial/" + id + "/raw/../../secret.txt",
		"/trial/" + id + "/raw/..%5csecret.txt", "/trial/" + id + "/raw/%2fetc%2fpasswd", "/trial/" + id + "/raw/transcript.jsonl%00.txt", "/trial/" + id + "/raw/secret.txt",
		"/trial/" + up + "secret.txt/raw/transcript.jsonl", "/trial/../raw/transcript.jsonl", "/trial/" + up, "/trial/.", "/trial/..", "/trial/%2e%2e/raw/transcript.jsonl",
		"/trial/.%2f" + id, "/static/" + up + "secret.txt", "/static/../secret.txt", "/campaign/0a1b2c3-1/candidate/" + up + up + "secret", "/campaign/" + up + "secret.txt",
		"/pair/" + up + "secret.txt/" + id,
	}
	if len(paths) != 20 {
		t.Fatalf("%d paths, want 20", len(paths))
	}
	for _, path := range paths {
		r := s.request(http.MethodGet, "/", "")
		r.URL.Path, r.URL.RawPath, r.RequestURI = unescaped(t, path), path, path
		if code, body := s.ask(r); code == http.StatusOK || strings.Contains(body, canary) || strings.Contains(body, "root:") {
			t.Errorf("%s: %d\n%s", path, code, body)
		}
	}
	s.want("/trial/" + id + "/raw/stderr.txt")
}

func TestLookingChangesNothing(t *testing.T) {
	t.Parallel()
	dir := privateDir(t)
	fabricate(t, dir, plan{candidates: 3, budget: 200, rich: 5})
	testenv.Write(t, filepath.Join(dir, "spool", "ab12.yaml"), "rationale: shorter\nfiles:\n  skills/find/SKILL.md: text\n")
	o := optionsFor(t, dir)
	o.Drop = func(name string) error { t.Errorf("dropped %s", name); return nil }
	s := openSite(t, o)
	s.want("/")
	before := tree(t, dir)
	pages := s.crawl(map[string]int{"trial": 10, "raw": 10, "pair": 5})
	for _, word := range []string{"pause", "resume", "halt", "finish"} {
		s.want("/confirm/" + word)
	}
	if len(pages) < 10 {
		t.Errorf("%d pages were looked at", len(pages))
	}
	if after := tree(t, dir); !slices.Equal(before, after) {
		t.Errorf("before %v\nafter %v", before, after)
	}
}
