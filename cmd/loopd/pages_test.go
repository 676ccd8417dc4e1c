package main

import (
	"fmt"
	"html"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"regexp"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"

	"loopd/internal/app"
	"loopd/internal/web"
)

var (
	formAction = regexp.MustCompile(`<form method="post" action="/([^"]*)"`)
	hidden     = regexp.MustCompile(`<input type="hidden" name="([^"]*)" value="([^"]*)">`)
	markup     = regexp.MustCompile(`<[^>]*>`)
)

// askPage is the command "page PATH [NAME=VALUE...]": a browser that was let in
// opens a page of the plugin in the working directory and, with values, sends the
// form on it. It prints the status and the text of where it ends up.
func askPage(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) == 0 {
		ts.Fatalf("usage: page PATH [NAME=VALUE...]")
	}
	e := env{Env: app.Env{Dir: ts.MkAbs(".")}}
	for _, name := range []string{"HOME", "PATH", "XDG_STATE_HOME", "XDG_CACHE_HOME", "GIT_CONFIG_NOSYSTEM", "GIT_CONFIG_GLOBAL"} {
		e.Environ = append(e.Environ, name+"="+ts.Getenv(name))
	}
	o, err := pagesOf(e, "", false)
	ts.Check(err)
	s, err := web.Serve(0, o)
	ts.Check(err)
	defer s.Close()
	jar, err := cookiejar.New(nil)
	ts.Check(err)
	browser := http.Client{Jar: jar}
	ask := func(res *http.Response, err error) (int, string) {
		ts.Check(err)
		defer res.Body.Close()
		text, err := io.ReadAll(res.Body)
		ts.Check(err)
		return res.StatusCode, string(text)
	}
	ask(browser.Get(s.Link()))
	status, page := ask(browser.Get(s.URL() + strings.TrimPrefix(args[0], "/")))
	if action := formAction.FindStringSubmatch(page); len(args) > 1 && action != nil {
		form := url.Values{}
		for _, h := range hidden.FindAllStringSubmatch(page, -1) {
			form.Set(h[1], html.UnescapeString(h[2]))
		}
		for _, arg := range args[1:] {
			name, value, _ := strings.Cut(arg, "=")
			form.Set(name, value)
		}
		status, page = ask(browser.PostForm(s.URL()+action[1], form))
	}
	fmt.Fprintf(ts.Stdout(), "%d\n%s\n", status, html.UnescapeString(markup.ReplaceAllString(page, "")))
}
