package web

import (
	"context"
	"crypto/sha256"
	"fmt"
	"html"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"loopd/candidates"
	"loopd/harness"
	"loopd/internal/campaign"
	"loopd/internal/testenv"
)

// site is the pages of a state directory, asked without a network.
type site struct {
	t testing.TB
	s *Server
	h http.Handler
}

// optionsFor are those of a state directory with the bundled suite and a fixed
// clock.
func optionsFor(tb testing.TB, dir string) Options {
	tb.Helper()
	token, err := Token(dir)
	testenv.Must(tb, err)
	return Options{
		Dir: dir, Token: token, Now: func() time.Time { return nightLooked },
		Suite: func() (harness.Suite, error) { return campaign.ReadBundled(campaign.BundledSuite) },
		Settings: func() ([]Setting, error) {
			return []Setting{
				{"plugin", "./os-adr", "loopd.yaml"}, {"suite", "bundled", "default"}, {"profile", "fast", "default"}, {"sessions", "1500", "loopd.yaml"}, {"parallel", "2", "default"},
				{"tiers", "[haiku sonnet]", "loopd.yaml"}, {"proposer", "builtin", "default"}, {"serve.start", "30 22 * * *", "loopd.yaml"}, {"serve.until", "06:30", "loopd.yaml"},
			}, nil
		},
		Lint: func(context.Context, candidates.Candidate) ([]candidates.Finding, error) { return nil, nil },
	}
}

// openSite serves a state directory for a test.
func openSite(tb testing.TB, o Options) site {
	tb.Helper()
	s, err := Serve(0, o)
	testenv.Must(tb, err)
	tb.Cleanup(func() {
		if err := s.Close(); err != nil {
			tb.Error(err)
		}
	})
	return site{tb, s, s.Handler()}
}

// request is one as a browser that was let in sends it.
func (s site) request(method, path, body string) *http.Request {
	r := httptest.NewRequest(method, path, strings.NewReader(body))
	r.Host = "127.0.0.1:" + s.s.port
	r.AddCookie(&http.Cookie{Name: s.s.cookie(), Value: derived(s.s.o.Token, "cookie")})
	if method == http.MethodPost {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		r.Header.Set("Origin", "http://"+r.Host)
	}
	return r
}

func (s site) ask(r *http.Request) (int, string) {
	w := httptest.NewRecorder()
	s.h.ServeHTTP(w, r)
	return w.Code, w.Body.String()
}

func (s site) get(path string) (int, string) {
	return s.ask(s.request(http.MethodGet, path, ""))
}

// want asks for a page that must be there and returns its text.
func (s site) want(path string) string {
	s.t.Helper()
	code, body := s.get(path)
	if code != http.StatusOK {
		s.t.Fatalf("GET %s: %d\n%s", path, code, plainText(body))
	}
	return body
}

// form is the body of a form of ours.
func (s site) form(pairs ...string) string {
	v := url.Values{formToken: {derived(s.s.o.Token, "form")}}
	for i := 0; i < len(pairs); i += 2 {
		v.Set(pairs[i], pairs[i+1])
	}
	return v.Encode()
}

var links = regexp.MustCompile(`href="(/[^"#]*)"`)

// crawl follows every link from a page, at most so many of each kind, and hands
// on what it found by address.
func (s site) crawl(of map[string]int) map[string]string {
	s.t.Helper()
	out := make(map[string]string)
	todo := []string{"/"}
	for len(todo) > 0 {
		path := todo[0]
		todo = todo[1:]
		if _, seen := out[path]; seen {
			continue
		}
		kind := strings.Split(strings.TrimPrefix(path, "/"), "/")[0]
		if strings.Contains(path, "/candidate/") {
			kind = "candidate"
		} else if strings.Contains(path, "/raw/") {
			kind = "raw"
		}
		if left, bounded := of[kind]; bounded && left <= 0 {
			continue
		} else if bounded {
			of[kind]--
		}
		code, body := s.get(path)
		if code != http.StatusOK {
			s.t.Errorf("GET %s: %d", path, code)
		}
		out[path] = body
		if kind == "raw" || kind == "static" {
			continue // no page
		}
		for _, m := range links.FindAllStringSubmatch(body, -1) {
			todo = append(todo, html.UnescapeString(m[1]))
		}
	}
	return out
}

var tags = regexp.MustCompile(`(?s)<style>.*?</style>|<[^>]*>`)

// plainText is what a page says, without its markup.
func plainText(page string) string {
	return strings.Join(strings.Fields(html.UnescapeString(tags.ReplaceAllString(page, " "))), " ")
}

// privateDir is a new directory as state directories are.
func privateDir(tb testing.TB) string {
	tb.Helper()
	dir := tb.TempDir()
	testenv.Must(tb, os.Chmod(dir, 0o700))
	return dir
}

func unescaped(tb testing.TB, path string) string {
	tb.Helper()
	out, err := url.PathUnescape(path)
	testenv.Must(tb, err)
	return out
}

// tree lists every file of a directory with its bytes' digest and its mode. What
// SQLite keeps beside a ledger that somebody reads is left out.
func tree(tb testing.TB, dir string) []string {
	tb.Helper()
	var out []string
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || strings.HasSuffix(path, "-shm") || strings.HasSuffix(path, "-wal") {
			return err
		}
		data, err := os.ReadFile(path)
		out = append(out, fmt.Sprintf("%s %v %x", path, d.Type(), sha256.Sum256(data)))
		return err
	})
	testenv.Must(tb, err)
	return out
}
