package web

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"

	"loopd/internal/daemon"
	"loopd/internal/store"
	"loopd/internal/testenv"
	"loopd/loop"
)

// attacks are texts that would run something, or load it, where a page took them
// for markup, a script, an address or a style.
var attacks = []string{
	`<script>window.pwned=1</script>`, `</script><script>window.pwned=1</script>`, `<img src=x onerror=window.pwned=1>`, `<svg onload=window.pwned=1>`,
	`<svg><script>window.pwned=1</script></svg>`, `"><img src=x onerror="window.pwned=1">`, `' onmouseover='window.pwned=1`, `" autofocus onfocus="window.pwned=1`,
	`javascript:window.pwned=1`, `<a href="javascript:window.pwned=1">a</a>`, `<iframe srcdoc="<script>parent.pwned=1</script>"></iframe>`, `<iframe src="javascript:parent.pwned=1">`,
	`</pre></li></ol><script>window.pwned=1</script>`, `</title><script>window.pwned=1</script>`, `</style><script>window.pwned=1</script>`, `<!--><script>window.pwned=1</script-->`,
	`<style>@import "http://evil.invalid/x";</style>`, `<link rel=stylesheet href="http://evil.invalid/x">`, `<meta http-equiv=refresh content="0;url=http://evil.invalid/">`,
	`<form action="http://evil.invalid/"><button autofocus>x</button></form>`, `<base href="http://evil.invalid/">`, `<object data="data:text/html,<script>parent.pwned=1</script>"></object>`,
	`{{.Token}}<div hx-get="/settings" hx-trigger="load" hx-sse:connect="http://evil.invalid/"></div>`, `<details open ontoggle=window.pwned=1>`, "<math><mtext></form><form><mglyph><style></math><img src onerror=window.pwned=1>",
}

// attacked is a site with attacks in every text, and which of them its pages show.
type attacked struct {
	site
	b     *browser
	every string // attack, one a line
	shown map[string]bool
}

// look fails where the page that is open took one for markup.
func (a attacked) look(t *testing.T, path string) {
	t.Helper()
	if eval[bool](t, a.b, `window.pwned !== undefined || document.querySelector("main [hx-get], main iframe, main object, main script, main style, main base, main link, main meta, main img, main math, a[href^='javascript:'], [onerror], [onload], [onfocus], [ontoggle], [onmouseover]") !== null`) {
		t.Errorf("%s took a text for markup", path)
	}
	text := eval[string](t, a.b, "document.documentElement.textContent")
	for _, one := range attacks {
		if strings.Contains(text, one) {
			a.shown[one] = true
		}
	}
}

func (a attacked) visit(t *testing.T, path string) {
	t.Helper()
	a.b.do(t, chromedp.Navigate(a.b.address(a.site, path)))
	a.look(t, path)
}

func TestNothingThatWasSaidIsRun(t *testing.T) {
	if len(attacks) != 25 {
		t.Fatalf("%d attacks, want 25", len(attacks))
	}
	b := newBrowser(t)
	dir := privateDir(t)
	n := fabricate(t, dir, plan{candidates: 25, budget: 1500, rich: 80, words: func(i int) string { return attacks[i%25] }, branch: func(i int) string { return attacks[(i+7)%25] }})
	for i, a := range attacks {
		testenv.Write(t, filepath.Join(dir, "spool", fmt.Sprintf("a%02d.yaml", i)), fmt.Sprintf("rationale: %q\nfiles:\n  skills/find/SKILL.md: text\n", a))
	}
	o, every := optionsFor(t, dir), strings.Join(attacks, "\n")
	o.Settings = func() ([]Setting, error) {
		var out []Setting
		for _, a := range attacks {
			out = append(out, Setting{a, a, a})
		}
		return out, nil
	}
	o.Add = func(context.Context, string, string) (string, error) { return "", errors.New(every) }
	o.Adopt = (&asksFor{odd: every}).adopt
	a := attacked{openSite(t, o), b, every, make(map[string]bool)}
	b.do(t, chromedp.Navigate(a.s.Link()))
	for path := range a.crawl(map[string]int{"trial": 30, "pair": 5, "raw": 8}) {
		a.visit(t, path)
	}
	for _, p := range n.state.Trials[:4] {
		a.visit(t, "/trial/"+p.ID+"/raw/stderr.txt")
	}
	a.visit(t, "/confirm/adopt?campaign="+url.QueryEscape(every))
	b.quiet(t, a.site)
	for _, one := range attacks {
		if !a.shown[one] {
			t.Errorf("no page shows %s as the text it is", one)
		}
		a.visit(t, "/queue?said="+url.QueryEscape(one))
	}
	b.quiet(t, a.site)
	a.errors(t)
}

// errors looks at the pages of errors, with attacks in what was asked for and in
// what went wrong.
func (a attacked) errors(t *testing.T) {
	clear(a.shown)
	for _, one := range attacks { // 404
		a.visit(t, "/trial/"+url.PathEscape(one))
	}
	for _, one := range attacks {
		if !a.shown[one] {
			t.Errorf("the page of an error does not show %s", one)
		}
	}
	for _, refused := range []struct{ form, title, says string }{
		{"/queue", "Conflict", a.every},                                     // 409
		{"/queue?" + url.QueryEscape(a.every), "Forbidden", "did not come"}, // 403: without the form's token
	} {
		a.visit(t, "/queue")
		a.b.do(t, chromedp.Evaluate[chromedp.Void](fmt.Sprintf(`{const f = document.querySelector("form.add"); f.noValidate = true; f.action = %q; if (%q === "Forbidden") f.token.value = %q; f.requestSubmit()}`, refused.form, refused.title, a.every)))
		a.b.until(t, fmt.Sprintf("document.title.startsWith(%q)", refused.title))
		a.look(t, "the answer "+refused.title)
		if text := eval[string](t, a.b, "document.querySelector('main').textContent"); !strings.Contains(text, refused.says) {
			t.Errorf("%s: %s", refused.title, text)
		}
	}
	a.b.quiet(t, a.site, "Failed to load resource")
	broken := privateDir(t) // 500
	l, err := store.Open(broken)
	testenv.Must(t, err)
	testenv.Must(t, errorsOf(l.Append(t.Context(), store.Record{Time: nightLooked, Kind: a.every, Payload: []byte("{}")}), l.Close()))
	a.site = openSite(t, optionsFor(t, broken))
	a.b.do(t, chromedp.Navigate(a.s.Link()))
	a.visit(t, "/")
	if title := eval[string](t, a.b, "document.title"); !strings.HasPrefix(title, "Internal Server Error") {
		t.Errorf("a broken ledger: %s", title)
	}
	a.b.quiet(t, a.site, "Failed to load resource")
}

// keptUpToDate looks at a page that is open while loopd goes on.
func keptUpToDate(t *testing.T, b *browser, s site, dir string, n *night) {
	runs := &told{live: daemon.Live{PID: 4711, Verb: "serve", Phase: daemon.Running, Sessions: []daemon.Session{{Cell: "R1/haiku", Rep: 3, Attempt: 1, Since: nightLooked}}}}
	b.do(t, chromedp.Navigate(b.address(s, "/")))
	b.until(t, `document.querySelector("#now").innerText.includes("Not running since")`)
	c, err := daemon.Serve(dir, runs)
	testenv.Must(t, err)
	defer c.Close()
	b.until(t, `document.querySelector("#now").innerText.includes("R1/haiku rep 3")`)
	if len(eval[string](t, b, `document.querySelector("#now h2").innerText`)) == 0 {
		t.Error("what is new lacks its heading")
	}
	// What is recorded shows too: a second campaign has begun.
	l, err := store.Open(dir)
	testenv.Must(t, err)
	next := n.state.Started
	next.Campaign, next.Settings.Budget = "0a1b2c3-2", 777
	data, err := json.Marshal(next)
	testenv.Must(t, err)
	err = l.Append(t.Context(), store.Record{Time: nightLooked, Kind: string(loop.KindStarted), Payload: data})
	testenv.Must(t, errorsOf(err, l.Close()))
	b.until(t, `document.querySelector("#now").innerText.includes("0 of 777 sessions")`)
	b.quiet(t, s)
}

func errorsOf(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// pictures writes what the README shows, and what a person looks at, to a folder.
func pictures(t *testing.T, b *browser, s site, n *night, to string) {
	campaign := "/campaign/" + n.state.Started.Campaign
	kept := candidatePath(n.state.Started.Campaign, n.state.Kept[0])
	pair := links.FindAllStringSubmatch(s.want(kept), -1)
	pages := map[string]string{"campaign": campaign, "candidate": kept, "queue": "/queue", "settings": "/settings", "frozen": "/frozen", "confirm": "/confirm/halt", "adopt": "/confirm/adopt?campaign=" + n.state.Started.Campaign, "veto": "/confirm/veto", "problem": "/trial/none", "session": "/trial/" + n.state.Trials[3].ID}
	for _, m := range pair {
		if strings.HasPrefix(m[1], "/pair/") {
			pages["pair"] = m[1]
			break
		}
	}
	before, after := evaluations(t)
	base := keep(t, s.s.o.Dir, before)
	pages["evaluation"] = "/eval/" + keep(t, s.s.o.Dir, after)
	pages["evaluations"], pages["comparison"] = "/eval", pages["evaluation"]+"/beside/"+base
	for name, path := range pages {
		for _, scheme := range []string{"light", "dark"} {
			b.scheme(t, scheme)
			b.do(t, chromedp.Navigate(b.address(s, path)))
			shoot(t, b, chromedp.CaptureScreenshot(), filepath.Join(to, name+"-"+scheme+".png"))
			shoot(t, b, chromedp.FullScreenshot(100), filepath.Join(to, "full-"+name+"-"+scheme+".png"))
		}
	}
	b.scheme(t, "light")
	for name, media := range map[string]string{"print": "print", "narrow": "screen"} {
		b.do(t, chromedp.Navigate(b.address(s, campaign)), chromedp.Func(func(ctx context.Context, tab *chromedp.Target) error {
			_, err := cdp.Call(ctx, tab, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Media: media})
			return err
		}))
		if name == "narrow" {
			b.do(t, chromedp.EmulateViewport(400, 800))
		}
		shoot(t, b, chromedp.FullScreenshot(100), filepath.Join(to, "full-"+name+".png"))
	}
	b.scheme(t, "light")
	b.do(t, chromedp.EmulateViewport(1100, 900))
	for _, odd := range oddCampaigns() {
		s, path := odd.open(t)
		b.do(t, chromedp.Navigate(s.s.Link()), chromedp.Navigate(b.address(s, path)))
		shoot(t, b, chromedp.FullScreenshot(100), filepath.Join(to, "odd-"+strings.ReplaceAll(odd.name, " ", "-")+".png"))
	}
	b.do(t, chromedp.Navigate(s.s.Link()))
	b.forget()
}

func shoot(t *testing.T, b *browser, a chromedp.Action[[]byte], path string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, time.Minute)
	defer cancel()
	data, err := chromedp.Run(ctx, a)
	if err != nil { // a page of another server may just be taking its place
		data, err = chromedp.Run(ctx, a)
	}
	if err == nil {
		err = os.WriteFile(path, data, 0o644)
	}
	testenv.Must(t, err)
}
