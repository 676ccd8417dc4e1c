package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"

	"loopd/loop"
)

// notice is what the webhook is told, as JSON on its standard input.
type notice struct {
	Event    string    `json:"event"` // promoted, unconfirmed, no_change, nothing_measured, halted, paused, failed
	Campaign string    `json:"campaign,omitempty"`
	Why      string    `json:"why"`
	At       time.Time `json:"at"`
	Next     string    `json:"next"` // what to type
}

// webhookTime is how long a webhook may take.
const webhookTime = 30 * time.Second

// notices runs the webhook beside everything else. What goes wrong with it is
// said and stops nothing.
type notices struct {
	mu      sync.Mutex
	command string
	running sync.WaitGroup
}

// use has a command run for every notice from now on, none where it is empty.
func (n *notices) use(command string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.command = command
}

func (n *notices) now() string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.command
}

// Wait returns when every webhook has ended.
func (n *notices) Wait() { n.running.Wait() }

// observe notices what the owner should know.
func (s *server) observe(st *loop.State, e loop.Event) {
	n := notice{Campaign: st.Started.Campaign, At: e.Time.UTC(), Next: nextAfter(st)}
	switch p := e.Payload.(type) {
	case loop.Ended:
		n.Event, n.Why = string(p.Outcome), p.Why
	case loop.Halted:
		n.Event, n.Why = "halted", p.Reason
	case loop.Paused:
		if p.Lifts() && p.Until.Sub(e.Time) < briefPause {
			return
		}
		n.Event, n.Why = "paused", p.Reason
	default:
		return
	}
	s.send(n)
}

// briefPause is a pause that lifts before anybody could do something about it.
const briefPause = 30 * time.Minute

// notify is told of what befalls a window as a whole.
func (s *server) notify(kind, why string) {
	s.send(notice{Event: kind, Why: why, At: time.Now().UTC(), Next: "loopd doctor"})
}

func (s *server) send(n notice) {
	s.log.Info("notice", "event", n.Event, "campaign", n.Campaign, "why", n.Why, "next", n.Next)
	command := s.notices.now()
	if command == "" {
		return
	}
	s.notices.running.Go(func() {
		if err := runWebhook(command, s.e, n, webhookTime); err != nil {
			s.log.Warn("webhook failed", "command", command, "error", err)
		}
	})
}

// runWebhook runs the command in the shell, with the notice on its standard input
// and in its environment. All it started ends with it.
func runWebhook(command string, e env, n notice, limit time.Duration) error {
	data, err := marshal(n)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	cmd := exec.CommandContext(ctx, "sh", "-c", command)
	cmd.Dir, cmd.Stdin = e.Dir, strings.NewReader(string(data))
	cmd.Env = append(os.Environ(), "LOOPD_EVENT="+n.Event, "LOOPD_CAMPAIGN="+n.Campaign, "LOOPD_WHY="+n.Why)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = time.Second
	out, err := cmd.CombinedOutput()
	if err != nil && len(out) > 0 {
		return fmt.Errorf("%w: %s", err, strings.TrimSpace(string(out[:min(len(out), 200)])))
	}
	return err
}
