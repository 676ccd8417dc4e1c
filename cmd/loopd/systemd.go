package main

import (
	"context"
	"sync"
	"time"

	sd "github.com/coreos/go-systemd/v22/daemon"

	"loopd/internal/daemon"
)

// statusEvery is how often systemd is told what goes on, where it wants to know.
const statusEvery = 10 * time.Second

// tellSystemd says that loopd is ready and, until the function it returns is
// called, what it does. Where a watchdog is set it is fed for as long as the loop
// answers. Without systemd nothing is done.
func (s *server) tellSystemd(ctx context.Context, d *daemon.Daemon) func() {
	listens, err := sd.SdNotify(false, sd.SdNotifyReady)
	if err != nil {
		s.log.Warn("systemd does not listen", "error", err)
	}
	if !listens {
		return func() {}
	}
	every := statusEvery
	patience, err := sd.SdWatchdogEnabled(false)
	if err != nil {
		s.log.Warn("no watchdog", "error", err)
	}
	if patience > 0 {
		every = min(every, patience/3)
	}
	ctx, cancel := context.WithCancel(ctx)
	var telling sync.WaitGroup
	telling.Go(func() {
		tick := time.NewTicker(every)
		defer tick.Stop()
		drain := s.e.drain
		for {
			s.feed(ctx, d, patience)
			select {
			case <-tick.C:
			case <-drain: // running sessions end, which takes its time
				drain = nil
				_, _ = sd.SdNotify(false, sd.SdNotifyStopping)
			case <-ctx.Done():
				return
			}
		}
	})
	return func() {
		cancel()
		telling.Wait()
		_, _ = sd.SdNotify(false, sd.SdNotifyStopping) // an end without a signal, too
	}
}

// feed sends one status and, while the loop answers, one sign of life.
func (s *server) feed(ctx context.Context, d *daemon.Daemon, patience time.Duration) {
	_, _ = sd.SdNotify(false, "STATUS="+liveLine(d.Live()))
	if patience <= 0 {
		return
	}
	within, cancel := context.WithTimeout(ctx, patience/3)
	defer cancel()
	if d.Alive(within) {
		_, _ = sd.SdNotify(false, sd.SdNotifyWatchdog)
	}
}
