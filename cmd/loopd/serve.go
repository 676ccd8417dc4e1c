package main

import (
	"context"
	"errors"
	"fmt"
	"html"
	"log/slog"
	"os"
	"runtime/debug"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"loopd/internal/admission"
	"loopd/internal/app"
	"loopd/internal/campaign"
	"loopd/internal/config"
	"loopd/internal/daemon"
	"loopd/internal/hint"
	"loopd/internal/store"
	"loopd/internal/web"
	"loopd/loop"
)

type serveOptions struct {
	start, until string
	sessions     int
	parallel     int
	port         int
	reveal       bool
	now          bool
	noIsolation  bool
	unit         string
}

func newServe(e env) *cobra.Command {
	var o serveOptions
	cmd := &cobra.Command{
		Use: "serve", Short: "stay, and open a window every night", Args: noArgs,
		Long: `  loopd serve --start "30 22 * * *" --until 06:30 --sessions 400

Stays until it is stopped, and opens a window whenever its start comes (serve in
loopd.yaml). A campaign goes on from window to window; a new one is opened where
none is under way and there is something to try. A window that was missed while
the machine slept is opened late, once. "loopd status", "pause", "resume",
"halt", "finish" and "candidate add" speak to it. The first signal lets running
sessions end, the second stops at once.

  loopd serve --unit systemd >~/.config/systemd/user/loopd.service`,
		RunE: func(cmd *cobra.Command, _ []string) error { return runServe(cmd.Context(), e, o) },
	}
	f := cmd.Flags()
	f.StringVar(&o.start, "start", "", "cron spec of a window's start, a semicolon between two; empty for\nserve.start")
	f.StringVar(&o.until, "until", "", "time of day at which a window ends; empty for serve.until")
	flagSessions(cmd, &o.sessions)
	flagParallel(cmd, &o.parallel)
	f.IntVar(&o.port, "port", 0, "port of the pages on this machine; 0 for the setting")
	flagReveal(cmd, &o.reveal)
	f.BoolVar(&o.now, "now", false, "open a window at once as well")
	flagNoIsolation(cmd, &o.noIsolation)
	f.StringVar(&o.unit, "unit", "", "print a service file for systemd or launchd, and stop")
	return cmd
}

// over lays the flags over the settings.
func (o serveOptions) over(cfg config.Config) config.Config {
	if o.start != "" {
		cfg.ServeStart = o.start
	}
	if o.until != "" {
		cfg.ServeUntil = o.until
	}
	if o.sessions > 0 {
		cfg.Sessions = o.sessions
	}
	if cfg.Proposer == config.AutoModel {
		cfg.Proposer = config.BuiltinModel // a night of its own always has work
	}
	if o.port > 0 {
		cfg.ServePort = o.port
	}
	return cfg
}

func runServe(ctx context.Context, e env, o serveOptions) error {
	l, err := loadConfig(e)
	if err != nil {
		return err
	}
	if o.unit != "" {
		return printUnit(e, o.unit)
	}
	cfg := o.over(l.Config)
	windows, err := windowsOf(cfg)
	switch {
	case err != nil:
		return err
	case len(windows.Starts) == 0:
		return hint.Usagef(serveHint, "serve: no window is set")
	case cfg.Sessions <= 0:
		return hint.Usagef(serveHint, "serve: no budget: set sessions in loopd.yaml, or give --sessions")
	}
	home, err := app.HomeOf(e.Env, cfg)
	if err != nil {
		return err
	}
	if o.now {
		windows.Starts = append(windows.Starts, once(time.Now()))
	}
	return serveHome(ctx, e, o, home, cfg, windows, serveLog(e))
}

// once is the schedule of one start.
type once time.Time

// Next is the start, until it is past.
func (o once) Next(after time.Time) time.Time {
	if at := time.Time(o); at.After(after) {
		return at
	}
	return time.Time{}
}

// serveLog is JSON lines, or text for whoever watches.
func serveLog(e env) *slog.Logger {
	if isTerminal(e.stderr) {
		return slog.New(slog.NewTextHandler(e.stderr, nil))
	}
	return slog.New(slog.NewJSONHandler(e.stderr, nil))
}

// serveHome is serve once everything it was given makes sense. Whoever comes
// second to a state directory is sent away with the first one's process number.
func serveHome(ctx context.Context, e env, o serveOptions, home campaign.Home, cfg config.Config, windows daemon.Windows, log *slog.Logger) error {
	if err := home.Make(); err != nil {
		return err
	}
	lock, err := store.Hold(home.Dir, daemon.LockName)
	if err != nil {
		return err
	}
	defer func() { _ = lock.Release() }() // the process ends, and with it the lock
	s := &server{e: e, o: o, home: home, log: log, board: daemon.NewStatus("serve", admission.Wall{}, e.drain)}
	s.e.stderr, s.e.Warn = lineLog{log}, lineLog{log}
	if err := s.preflight(ctx); err != nil {
		return err
	}
	defer s.notices.Wait()
	d, err := daemon.New(daemon.Options{
		Dir: home.Dir, Clock: admission.Wall{}, Windows: windows, Work: s.work, Apply: s.hand, Guard: guarded(log), Notify: s.notify,
		Status: s.board, Drain: e.drain, Log: log,
	})
	if err != nil {
		return err
	}
	socket, err := daemon.Serve(home.Dir, d)
	if err != nil {
		return err
	}
	defer socket.Close()
	pages, err := s.servePages(cfg.ServePort)
	if err != nil {
		return err
	}
	defer pages.Close()
	stop := s.tellSystemd(ctx, d)
	defer stop()
	next, _ := windows.Next(time.Now(), time.Time{})
	log.Info("serving", "pid", os.Getpid(), "state", home.Dir, "next", next.Start)
	err = d.Run(ctx)
	log.Info("stopped")
	return err
}

// servePages serves the pages for as long as serve lives. The link with the token
// goes to a person, not into a log: loopd report --open prints it.
func (s *server) servePages(port int) (*web.Server, error) {
	o, err := pagesOf(s.e, "", s.o.reveal)
	if err != nil {
		return nil, err
	}
	pages, err := web.Serve(port, o)
	if busy, ok := errors.AsType[*web.BusyError](err); ok {
		return nil, hint.Usagef(fmt.Sprintf("loopd serve --port %d", busy.Free), "serve pages: %w", busy)
	}
	if err != nil {
		return nil, err
	}
	s.board.Set(func(l *daemon.Live) { l.Pages = pages.URL() })
	s.log.Info("pages", "address", pages.URL(), "reveal", s.o.reveal, "link", "loopd report --open")
	return pages, nil
}

// server is what serve needs in every window.
type server struct {
	e       env
	o       serveOptions
	home    campaign.Home
	log     *slog.Logger
	board   *daemon.Status
	notices notices
}

// open opens the campaign with the settings as they are now.
func (s *server) open(ctx context.Context) (*app.Night, error) {
	l, err := loadConfig(s.e)
	if err != nil {
		return nil, err
	}
	cfg := s.o.over(l.Config)
	s.notices.use(cfg.ServeWebhook)
	return openNight(ctx, s.e, cfg, runOptions{Ask: app.Ask{Parallel: s.o.parallel, NoIsolation: s.o.noIsolation, Locked: true}})
}

// preflight opens everything once, so that what is missing is said now and not at
// half past ten.
func (s *server) preflight(ctx context.Context) error {
	n, err := s.open(ctx)
	if err != nil {
		return err
	}
	return n.Close()
}

// work is one window.
func (s *server) work(ctx context.Context, w daemon.Window, drain <-chan struct{}, asks <-chan loop.Request) (string, error) {
	n, err := s.open(ctx)
	if err != nil {
		return "", err
	}
	defer debug.FreeOSMemory() // a loopd that waits takes little
	defer n.Close()
	st := n.Campaign.Current()
	switch {
	case st != nil && st.Ended == nil && st.Halted != nil:
		return daemon.Stopped(st), nil
	case st != nil && st.Ended == nil && st.Paused != nil && st.Paused.ByHand:
		return daemon.Stopped(st), nil
	}
	idle, err := n.Idle()
	if err != nil || idle != "" {
		return idle, err
	}
	n.Budget.Deadline = w.End
	if err := n.Begin(ctx); err != nil {
		return "", err
	}
	warnOfNone(s.e, n)
	err = n.Run(ctx, drain, w.End, app.Watch{Asks: asks, Status: s.board, Observe: s.observe, Say: func(until time.Time) {
		sayPaused(ctx, s.e, n.Campaign.Current(), w.End, until, true)
	}})
	if errors.Is(err, loop.ErrDrained) {
		err = nil // a signal
	}
	return daemon.Stopped(n.Campaign.Current()), err
}

// hand does a person's word to the campaign under way between two windows.
func (s *server) hand(ctx context.Context, p loop.Payload) (bool, error) {
	n, err := s.open(ctx)
	if err != nil {
		return false, err
	}
	defer n.Close()
	if st := n.Campaign.Current(); st == nil || st.Ended != nil {
		return false, nil
	}
	return true, n.Campaign.Grant(ctx, p)
}

// lineLog turns lines for people into records of a log.
type lineLog struct{ log *slog.Logger }

// Write logs what is said at once as one record, however many lines it takes.
func (l lineLog) Write(p []byte) (int, error) {
	var said []string
	for line := range strings.Lines(string(p)) {
		said = append(said, strings.TrimPrefix(strings.TrimSpace(line), "loopd: "))
	}
	text := strings.TrimSpace(strings.Join(said, " "))
	if warning, ok := strings.CutPrefix(text, "warning: "); ok {
		l.log.Warn(warning)
	} else if text != "" {
		l.log.Info(text)
	}
	return len(p), nil
}

// systemdText keeps systemd from reading a specifier in a path.
func systemdText(path string) string { return strings.ReplaceAll(path, "%", "%%") }

// printUnit prints a service file for this machine.
func printUnit(e env, manager string) error {
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("print service file: %w", err)
	}
	text, ok := map[string]string{"systemd": systemdUnit, "launchd": launchdPlist}[manager]
	if !ok {
		return hint.Usagef("loopd serve --unit systemd", "--unit %q is neither systemd nor launchd", manager)
	}
	escape := map[string]func(string) string{"systemd": systemdText, "launchd": html.EscapeString}[manager]
	program := escape(self)
	if manager == "systemd" {
		program = strconv.Quote(program)
	}
	_, err = fmt.Fprint(e.stdout, strings.NewReplacer("{{program}}", program, "{{dir}}", escape(e.Dir)).Replace(text))
	return err
}
