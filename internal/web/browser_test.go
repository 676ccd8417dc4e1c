package web

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	cdplog "github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"loopd/internal/testenv"
)

// browser is a Chromium with one tab, and what its pages complained of.
type browser struct {
	ctx context.Context
	t   *testing.T

	mu       sync.Mutex
	told     []string // errors, warnings, exceptions and dialogs
	requests []string
}

func newBrowser(t *testing.T) *browser {
	t.Helper()
	path, err := exec.LookPath("chromium")
	for _, name := range []string{"chromium-browser", "google-chrome"} {
		if err != nil {
			path, err = exec.LookPath(name)
		}
	}
	testenv.Need(t, "chromium", err)
	options := append(slices.Clone(chromedp.DefaultExecAllocatorOptions[:]), chromedp.ExecPath(path), chromedp.DisableGPU, chromedp.WindowSize(1100, 900), chromedp.WSURLReadTimeout(time.Minute))
	if os.Getuid() == 0 {
		options = append(options, chromedp.NoSandbox)
	}
	ctx, stop := chromedp.NewExecAllocator(t.Context(), options...)
	t.Cleanup(stop)
	ctx, cancel := chromedp.NewContext(ctx)
	t.Cleanup(cancel)
	b := &browser{ctx: ctx, t: t}
	testenv.Must(t, chromedp.Do(ctx))
	if _, err := chromedp.Call(ctx, network.Enable, network.EnableParams{}); err != nil {
		t.Fatal(err)
	}
	// A page in the background lets go of its live part: this one is looked at.
	if _, err := chromedp.Call(ctx, emulation.SetFocusEmulationEnabled, emulation.SetFocusEmulationEnabledParams{Enabled: true}); err != nil {
		t.Fatal(err)
	}
	testenv.Must(t, chromedp.Listen(ctx, b.hear))
	return b
}

func (b *browser) hear(ev any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch e := ev.(type) {
	case *network.EventRequestWillBeSent:
		b.requests = append(b.requests, e.Request.URL)
	case *runtime.EventConsoleAPICalled:
		b.told = append(b.told, fmt.Sprintf("console.%s", e.Type))
	case *runtime.EventExceptionThrown:
		b.told = append(b.told, "exception: "+e.ExceptionDetails.Text)
	case *cdplog.EventEntryAdded:
		b.told = append(b.told, fmt.Sprintf("%s: %s %s", e.Entry.Level, e.Entry.Text, e.Entry.URL))
	case *page.EventJavascriptDialogOpening:
		b.told = append(b.told, "dialog: "+e.Message)
	}
}

// do takes steps, within a bound.
func (b *browser) do(t *testing.T, steps ...chromedp.Action[chromedp.Void]) {
	t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, 30*time.Second)
	defer cancel()
	testenv.Must(t, chromedp.Do(ctx, steps...))
}

// eval is what an expression is on the page that is open.
func eval[T any](t *testing.T, b *browser, expression string) T {
	t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, 30*time.Second)
	defer cancel()
	v, err := chromedp.Run(ctx, chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise))
	if err != nil {
		t.Fatalf("%.200s: %v", expression, err)
	}
	return v
}

// until waits for an expression to hold.
func (b *browser) until(t *testing.T, expression string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, 30*time.Second)
	defer cancel()
	// A page that goes away while it is asked gives an error, and the next is asked.
	for ctx.Err() == nil {
		if _, err := chromedp.Run(ctx, chromedp.Poll[bool](expression, chromedp.WithPollingTimeout(5*time.Second))); err == nil {
			return
		}
	}
	t.Logf("the server says now: %s", eval[string](t, b, "fetch('/now').then(r => r.text())"))
	t.Logf("the page is %s: %.600s", eval[string](t, b, "document.visibilityState"), eval[string](t, b, "document.querySelector('main').outerHTML"))
	t.Fatalf("never: %s\n%.600s", expression, eval[string](t, b, "document.body.innerText"))
}

// quiet fails where a page complained of something but what is meant, or asked
// anybody but this server.
func (b *browser) quiet(t *testing.T, s site, but ...string) {
	t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, text := range b.told {
		if !slices.ContainsFunc(but, func(part string) bool { return strings.Contains(text, part) }) {
			t.Errorf("the browser says: %s", text)
		}
	}
	for _, address := range b.requests {
		u, err := url.Parse(address)
		if err != nil || u.Host != "127.0.0.1:"+s.s.port && u.Scheme != "data" {
			t.Errorf("it asked for %s", address)
		}
	}
	if len(b.requests) == 0 {
		t.Error("not one request was seen")
	}
	b.told, b.requests = nil, nil
}

// forget takes what was complained of so far as meant.
func (b *browser) forget() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.told, b.requests = nil, nil
}

func (b *browser) address(s site, path string) string {
	return strings.TrimSuffix(s.s.URL(), "/") + path
}

// scheme makes the browser ask for light or dark.
func (b *browser) scheme(t *testing.T, name string) {
	t.Helper()
	b.do(t, chromedp.Func(func(ctx context.Context, tab *chromedp.Target) error {
		_, err := cdp.Call(ctx, tab, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: name}}})
		return err
	}))
}

// axe is the script with the rules.
func axe(t *testing.T) string {
	t.Helper()
	path := os.Getenv("LOOPD_AXE")
	if path == "" {
		path = filepath.Join("..", "..", ".tools", "axe", "node_modules", "axe-core", "axe.min.js")
	}
	data, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		err = fmt.Errorf("%w; make setup", err)
	}
	testenv.Need(t, "chromium", err)
	return string(data)
}

// violations are the rules a page breaks, with where.
const violations = `axe.run(document, {resultTypes: ["violations"]}).then(r => r.violations.map(v => v.id + " (" + v.help + "): " + v.nodes.map(n => n.html.slice(0, 160) + " " + n.failureSummary).join(" | ").slice(0, 600)))`

func TestInABrowser(t *testing.T) {
	b, rules := newBrowser(t), axe(t)
	dir := privateDir(t)
	n := fabricate(t, dir, plan{candidates: 20, budget: 1500, rich: -1})
	testenv.Write(t, filepath.Join(dir, "spool", "ab12.yaml"), "rationale: shorter\nfiles:\n  skills/find/SKILL.md: text\n")
	o := sealed(t, optionsFor(t, dir))
	o.Add = func(context.Context, string, string) (string, error) { return "queued it", nil }
	o.Adopt = (&asksFor{}).adopt
	s := openSite(t, o)
	b.do(t, chromedp.Navigate(s.s.Link()))
	t.Run("the rules find what is wrong", func(t *testing.T) {
		b.do(t, chromedp.Evaluate[chromedp.Void](rules), chromedp.Evaluate[chromedp.Void](`document.documentElement.removeAttribute("lang"); document.querySelector("main").innerHTML = "<img src='data:,'><button></button>"`))
		if found := eval[[]string](t, b, violations); len(found) < 3 {
			t.Errorf("a page without language, description and label: %q", found)
		}
		b.do(t, chromedp.Navigate(b.address(s, "/")))
		b.forget()
	})
	t.Run("every page", func(t *testing.T) {
		bounds := map[string]int{"trial": 3, "pair": 2, "candidate": 4, "raw": 0, "campaign": 0}
		pages := s.crawl(bounds)
		for _, path := range []string{"/confirm/adopt?campaign=0a1b2c3-1", "/confirm/veto", "/confirm/halt"} {
			pages[path] = s.want(path)
		}
		for path := range pages {
			if strings.HasPrefix(path, "/static/") {
				continue
			}
			for _, scheme := range []string{"light", "dark"}[:testenv.Count(1, 2)] {
				b.scheme(t, scheme)
				b.do(t, chromedp.Navigate(b.address(s, path)), chromedp.Evaluate[chromedp.Void](rules))
				for _, v := range eval[[]string](t, b, violations) {
					t.Errorf("%s, %s: %s", path, scheme, v)
				}
			}
			if wide := eval[bool](t, b, "document.documentElement.scrollWidth > document.documentElement.clientWidth"); wide {
				t.Errorf("%s is wider than its window", path)
			}
		}
		b.scheme(t, "light")
		b.quiet(t, s)
	})
	t.Run("clicked through to a line", func(t *testing.T) {
		kept := n.state.Kept[0]
		b.do(t, chromedp.Navigate(b.address(s, "/")), chromedp.Click(chromedp.CSS(`th a[href$="/candidate/`+kept+`"]`)))
		b.until(t, `document.title.startsWith("Candidate `+kept+`")`)
		b.do(t, chromedp.Click(chromedp.CSS(`th a[href^="/trial/"]`)))
		b.until(t, `document.title.startsWith("Trial ")`)
		b.do(t, chromedp.Click(chromedp.CSS(`.checks a[href="#L8"]`)))
		b.until(t, `location.hash === "#L8" && document.querySelector("#L8:target") !== null`)
		b.quiet(t, s)
	})
	t.Run("by the keyboard alone", func(t *testing.T) {
		b.do(t, chromedp.Navigate(b.address(s, "/")))
		press(t, b, `document.activeElement.classList.contains("skip")`)
		press(t, b, `document.activeElement.getAttribute("href") === "/queue"`)
		press(t, b, `document.activeElement.matches("th a[href*='/candidate/c001']")`)
		if style := eval[string](t, b, "getComputedStyle(document.activeElement).outlineStyle"); style == "none" {
			t.Error("where one is cannot be seen")
		}
		b.do(t, chromedp.KeyEvent("\r"))
		b.until(t, `document.title.startsWith("Candidate c001")`)
		press(t, b, `document.activeElement.matches("th a[href^='/trial/']")`)
		b.do(t, chromedp.KeyEvent("\r"))
		b.until(t, `document.title.startsWith("Trial ")`)
		press(t, b, `document.activeElement.matches(".checks a")`)
		b.do(t, chromedp.KeyEvent("\r"))
		b.until(t, `location.hash.startsWith("#L")`)
		b.quiet(t, s)
	})
	t.Run("on paper", func(t *testing.T) {
		printed(t, b, s, "/", candidatePath(n.state.Started.Campaign, n.state.Kept[0]), "/trial/"+n.state.Trials[3].ID, "/frozen")
	})
	t.Run("without scripts", func(t *testing.T) { withoutScripts(t, b, s, dir) })
	if to := os.Getenv("LOOPD_SHOTS"); to != "" {
		t.Run("pictures", func(t *testing.T) { pictures(t, b, s, n, to) })
	}
	t.Run("kept up to date", func(t *testing.T) { keptUpToDate(t, b, s, dir, n) })
	t.Run("any name fits", func(t *testing.T) { anyNameFits(t, b) })
}

// press goes on by the tabulator until an expression holds.
func press(t *testing.T, b *browser, until string) {
	t.Helper()
	for range 200 {
		b.do(t, chromedp.KeyEvent("\t"))
		if eval[bool](t, b, until) {
			return
		}
	}
	t.Fatalf("the tabulator never gets to where %s", until)
}
