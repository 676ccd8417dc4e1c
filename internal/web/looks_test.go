package web

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"

	"loopd/internal/daemon"
	"loopd/internal/testenv"
)

// unkind is a name as nobody should give: long, from right to left, with what has
// no width, and with a mark that turns what follows it around.
var unkind = "-\u202eשלום\u200b\u200d👩\u200d🔬" + strings.Repeat("n", 290)

// anyNameFits looks whether a page stays as wide as its window whatever the names
// on it.
func anyNameFits(t *testing.T, b *browser) {
	dir := privateDir(t)
	fabricate(t, dir, plan{candidates: 4, budget: 300, rich: 8, suffix: unkind, words: func(int) string { return unkind + " " + strings.Repeat("word ", 40) }})
	testenv.Write(t, dir+"/spool/ab12.yaml", fmt.Sprintf("rationale: %q\nfiles:\n  skills/find/SKILL.md: text\n", unkind))
	o := optionsFor(t, dir)
	o.Adopt = (&asksFor{odd: unkind}).adopt
	s := openSite(t, o)
	b.do(t, chromedp.Navigate(s.s.Link()))
	looked := 0
	for path := range s.crawl(map[string]int{"trial": 2, "pair": 1, "candidate": 2, "raw": 0, "campaign": 0, "static": 0}) {
		looked += b.fits(t, s, path)
	}
	for _, path := range []string{"/confirm/adopt?campaign=x", "/queue?said=" + strings.Repeat("n", 300)} {
		looked += b.fits(t, s, path)
	}
	if looked < 8 {
		t.Errorf("%d pages were looked at", looked)
	}
	b.do(t, chromedp.EmulateViewport(1100, 900))
	b.quiet(t, s)
}

// fits opens a page in a wide and in a narrow window.
func (b *browser) fits(t *testing.T, s site, path string) int {
	t.Helper()
	for _, wide := range []int64{1280, 390} {
		b.do(t, chromedp.EmulateViewport(wide, 900), chromedp.Navigate(b.address(s, path)))
		b.until(t, `document.readyState === "complete" && document.querySelector("main") !== null`)
		if got := eval[int](t, b, "document.documentElement.scrollWidth"); got > int(wide) {
			t.Errorf("%.60s is %d wide in a window of %d: %s", path, got, wide, eval[string](t, b, tooWide))
		}
	}
	return 1
}

// tooWide names what sticks out of a window.
const tooWide = `[...document.querySelectorAll("main *")].filter(e => e.getBoundingClientRect().right > innerWidth && !e.closest(".wide, .diff, pre, svg")).map(e => e.tagName + " " + e.className + " " + e.textContent.trim().slice(0, 30)).slice(0, 5).join("; ")`

// media makes the browser show pages as on a screen or on paper, to somebody who
// likes them dark.
func (b *browser) media(t *testing.T, name string) {
	t.Helper()
	b.do(t, chromedp.Func(func(ctx context.Context, tab *chromedp.Target) error {
		_, err := cdp.Call(ctx, tab, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Media: name, Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: "dark"}}})
		return err
	}))
}

// lostOnPaper lists what a sheet of paper would lose of a page.
const lostOnPaper = `[
	...[...document.querySelectorAll("header nav, form, .skip")].filter(e => e.getClientRects().length).map(e => "there is " + e.tagName + " " + e.className),
	...[...document.querySelectorAll("details")].filter(d => ![...d.children].slice(1).some(c => c.getBoundingClientRect().height > 0 && c.checkVisibility({contentVisibilityAuto: true}))).map(d => "folded: " + d.textContent.slice(0, 40)),
	...[...document.querySelectorAll(".wide, .diff, pre")].filter(e => e.scrollWidth > e.clientWidth + 1).map(e => "cut: " + e.scrollWidth + " of " + e.clientWidth + " " + e.ariaLabel + " " + e.textContent.slice(0, 40)),
	...(document.documentElement.scrollWidth > innerWidth ? ["it is wider than the paper"] : []),
	...(getComputedStyle(document.body).backgroundColor !== "rgb(255, 255, 255)" ? ["dark"] : []),
]`

// printed looks whether paper shows all of a page.
func printed(t *testing.T, b *browser, s site, paths ...string) {
	for _, path := range paths {
		b.do(t, chromedp.Navigate(b.address(s, path)))
		b.media(t, "")
		if eval[string](t, b, "getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)" {
			t.Error("the dark page is white")
		}
		if path == paths[0] && len(eval[[]string](t, b, lostOnPaper)) < 3 {
			t.Error("nothing is found to be lost of a page on a screen")
		}
		b.media(t, "print")
		b.do(t, chromedp.EmulateViewport(700, 1000)) // a sheet of A4 within its margins
		for _, lost := range eval[[]string](t, b, lostOnPaper) {
			t.Errorf("%s on paper: %s", path, lost)
		}
		sheet, err := chromedp.Call(b.ctx, page.PrintToPDF, page.PrintToPDFParams{})
		testenv.Must(t, err)
		if n := bytes.Count(sheet.Data, []byte("/Type /Page\n")); !bytes.HasPrefix(sheet.Data, []byte("%PDF-")) || len(sheet.Data) < 20<<10 || n < 2 {
			t.Errorf("%s: %d bytes and %d sheets", path, len(sheet.Data), n)
		}
		b.do(t, chromedp.EmulateViewport(1100, 900))
	}
	b.scheme(t, "light")
	b.quiet(t, s)
}

// withoutScripts goes through what pages are for in a browser that runs no script:
// every page shows the same, and forms reach the loopd that runs.
func withoutScripts(t *testing.T, b *browser, s site, dir string) {
	runs := &told{live: daemon.Live{PID: 4711, Verb: "serve", Phase: daemon.Idle}}
	c, err := daemon.Serve(dir, runs)
	testenv.Must(t, err)
	defer c.Close()
	scripts := func(off bool) {
		if _, err := chromedp.Call(b.ctx, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: off}); err != nil {
			t.Fatal(err)
		}
	}
	scripts(true)
	defer scripts(false)
	for path := range s.crawl(map[string]int{"trial": 1, "pair": 1, "candidate": 1, "raw": 0, "campaign": 0, "static": 0}) {
		b.do(t, chromedp.Navigate(b.address(s, path)))
		if eval[int](t, b, `document.querySelector("main").innerText.length`) < 40 {
			t.Errorf("%s is empty without scripts", path)
		}
	}
	arrives := func(what string) {
		t.Helper()
		for range 1000 {
			if eval[bool](t, b, fmt.Sprintf("document.readyState === 'complete' && document.body.innerText.includes(%q)", what)) {
				return
			}
		}
		t.Fatalf("no %q on\n%s", what, eval[string](t, b, "document.body.innerText"))
	}
	b.do(t, chromedp.Navigate(b.address(s, "/")), chromedp.Click(chromedp.CSS(`form[action="/confirm/pause"] button`)))
	arrives("Really pause?")
	b.do(t, chromedp.SendKeys(chromedp.CSS("#reason"), "lunch"), chromedp.Click(chromedp.CSS(`form[action="/do/pause"] button`)))
	arrives("pause it is")
	b.do(t, chromedp.Click(chromedp.CSS(`form[action="/confirm/adopt"] button`)))
	arrives("Adopt the wording of")
	b.do(t, chromedp.Click(chromedp.CSS(`form[action="/do/adopt"] button`)))
	arrives("wrote branch adopt-0a1b2c3-1")
	if got := strings.Join(runs.said, "; "); got != "pause lunch" {
		t.Errorf("the loopd that runs was told %q", got)
	}
	b.quiet(t, s)
}
