package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"time"

	"loopd/candidates"
	"loopd/frozen"
	"loopd/harness"
	"loopd/internal/app"
	"loopd/internal/atomicfile"
	"loopd/internal/campaign"
	"loopd/internal/config"
	"loopd/internal/hint"
	"loopd/internal/web"
)

// pageOptions are what pages of a state directory show. Without its plugin, as for
// a rehearsal's, the suite is the one that lies in it.
func pageOptions(e env, home campaign.Home, cfg *config.Loaded, reveal bool) (web.Options, error) {
	token, err := web.Token(home.Dir)
	if err != nil {
		return web.Options{}, err
	}
	sealedDir := home.Suite()
	if cfg != nil && cfg.Config.Suite != config.Bundled {
		sealedDir = cfg.Config.Suite
	}
	o := web.Options{
		Dir: home.Dir, Token: token, SealedDir: sealedDir, Reveal: reveal, Now: time.Now,
		Suite: func() (harness.Suite, error) {
			loaded, err := frozen.Load(sealedDir)
			if err != nil {
				return harness.Suite{}, err
			}
			return harness.ParseSuite(loaded.FS())
		},
	}
	o.Veto = func(ctx context.Context, why string) error { return veto(ctx, home, why) }
	if cfg == nil {
		return o, nil
	}
	o.Adopt = func(ctx context.Context, name, branch string, unconfirmed bool) (web.Adoption, error) {
		return adoptFromPage(ctx, e, adoptOptions{campaign: name, branch: branch, unconfirmed: unconfirmed})
	}
	o.Settings = func() ([]web.Setting, error) {
		l, err := loadConfig(e)
		var out []web.Setting
		for _, s := range l.Settings {
			out = append(out, web.Setting{Key: s.Key, Value: fmt.Sprint(s.Value), Origin: string(s.Origin)})
		}
		return out, err
	}
	o.Lint = func(ctx context.Context, c candidates.Candidate) ([]candidates.Finding, error) {
		return lintOf(ctx, e, home, c)
	}
	o.Drop = home.Undrop
	o.Add = func(ctx context.Context, patch, rationale string) (string, error) {
		return addFromPage(ctx, e, home, patch, rationale)
	}
	return o, nil
}

// addFromPage puts a patch into the spool, by the rules of "loopd candidate add".
func addFromPage(ctx context.Context, e env, home campaign.Home, patch, rationale string) (string, error) {
	d := campaign.Dropped{Patch: patch, Rationale: rationale, Source: candidates.Person}
	c, err := d.Candidate()
	if err != nil {
		return "", err
	}
	found, err := lintOf(ctx, e, home, c)
	if err != nil {
		return "", err
	}
	if len(found) > 0 {
		return "", fmt.Errorf("refused by the lint: %s", lintText(found))
	}
	name, err := home.Drop(d)
	return "queued " + name, err
}

// lintOf lints a candidate as the night would.
func lintOf(ctx context.Context, e env, home campaign.Home, c candidates.Candidate) ([]candidates.Finding, error) {
	w, err := openWorkbench(ctx, e)
	if err != nil {
		return nil, err
	}
	defer w.close()
	inside, err := campaign.InsidePlugin(w.cfg.Plugin, w.dir)
	if err != nil {
		return nil, err
	}
	r, err := openReview(ctx, e, home.Dir)
	if err != nil {
		return nil, err
	}
	fore := campaign.Forelint{Home: home, Plugin: w.cfg.Plugin, Suite: w.subject.Suite, Inside: inside}
	if len(r.states) > 0 {
		fore.Current = r.states[len(r.states)-1]
	}
	return fore.Lint(c)
}

// pagesOf are the options for the plugin in this directory, or for the state
// directory given.
func pagesOf(e env, state string, reveal bool) (web.Options, error) {
	if state != "" {
		return pageOptions(e, campaign.Home{Dir: e.Path(state)}, nil, reveal)
	}
	l, err := loadConfig(e)
	if err != nil {
		return web.Options{}, err
	}
	home, err := app.HomeOf(e.Env, l.Config)
	if err != nil {
		return web.Options{}, err
	}
	if err := home.Make(); err != nil {
		return web.Options{}, err
	}
	return pageOptions(e, home, &l, reveal)
}

// openPages serves the pages until it is interrupted, without a daemon.
func openPages(ctx context.Context, e env, state string, port int, reveal bool) error {
	o, err := pagesOf(e, state, reveal)
	if err != nil {
		return err
	}
	if live, err := liveOf(ctx, o.Dir); err == nil && live != nil && live.Pages != "" {
		link := live.Pages + "login?token=" + o.Token
		fmt.Fprintf(e.stdout, "%s\n\nloopd %s (process %d) serves the pages there.\n", link, live.Verb, live.PID)
		openBrowser(ctx, link)
		return nil
	}
	return serveUntilTold(ctx, e, port, o, "loopd report --open")
}

// serveUntilTold serves pages until it is interrupted. command is what to type
// for them.
func serveUntilTold(ctx context.Context, e env, port int, o web.Options, command string) error {
	s, err := web.Serve(port, o)
	if busy, ok := errors.AsType[*web.BusyError](err); ok {
		return hint.Usagef(fmt.Sprintf("%s --port %d", command, busy.Free), "serve pages: %w", busy)
	}
	if err != nil {
		return err
	}
	defer s.Close()
	fmt.Fprintf(e.stdout, "%s\n\nThis link lets a browser of this machine in. Ctrl-C ends it.\n", s.Link())
	openBrowser(ctx, s.Link())
	select {
	case <-e.drain:
	case <-ctx.Done():
	}
	return nil
}

// openBrowser opens a link where there is a screen. Where there is none the link
// stands on standard output.
func openBrowser(ctx context.Context, link string) {
	program := map[string]string{"darwin": "open", "linux": "xdg-open"}[runtime.GOOS]
	if runtime.GOOS == "linux" && os.Getenv("DISPLAY") == "" && os.Getenv("WAYLAND_DISPLAY") == "" {
		return
	}
	if path, err := exec.LookPath(program); err == nil {
		_ = exec.CommandContext(ctx, path, link).Start() // the link is printed as well
	}
}

// writePage writes the campaign as one file that needs nothing else.
func writePage(ctx context.Context, e env, state, file string, reveal bool) error {
	o, err := pagesOf(e, state, reveal)
	if err != nil {
		return err
	}
	page, err := web.File(ctx, o, "")
	if err != nil {
		return hint.Usagef("loopd plan", "write page: %w", err)
	}
	path := e.Path(file)
	if _, err := os.Stat(filepath.Dir(path)); err != nil {
		return hint.Usagef("loopd report --html report.html", "write page: %w", err)
	}
	if err := atomicfile.WriteFile(path, page, 0o644); err != nil {
		return err
	}
	_, err = fmt.Fprintf(e.stdout, "wrote %s\n", file)
	return err
}
