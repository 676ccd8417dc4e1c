package report

import (
	"strings"
	"testing"

	"loopd/harness"
	"loopd/loop"
)

// Where no session is evidence the page is the headline, what was invalid and what
// to look at; with one that is, it is the whole report.
func TestNothingMeasuredIsAShortPage(t *testing.T) {
	t.Parallel()
	for _, valid := range []bool{false, true} {
		st := newStory(t)
		set := loop.DefaultSettings(40)
		st.add(loop.Started{
			Campaign: "abc1234-1", Plugin: "os-adr", Instrument: "0123456789abcdef0123", Seal: "fedcba98765432100000", Start: startWording,
			Agent: "standin 2.1.332", Objective: []harness.Cell{cell("R1", "haiku"), cell("R1", "sonnet")}, Settings: set,
		})
		a, b := st.slot(startWording, cell("R1", "haiku")), st.slot(startWording, cell("R1", "sonnet"))
		st.add(loop.Planned{Round: loop.Round{N: 1, Subject: loop.SubjectStart, Purpose: loop.ForPilot, Slots: []harness.Slot{a, b}}})
		st.trial(a, 1, harness.Connection, false)
		st.trial(a, 2, harness.AgentError, false)
		class := harness.Connection
		if valid {
			class = harness.Valid
		}
		st.trial(b, 1, class, false)
		text := string(Build(st.state).Markdown())
		if got := strings.Contains(text, "## Cells"); got != valid {
			t.Errorf("valid %t: the cells are shown: %t", valid, got)
		}
		for _, want := range []string{"## What to do\n\n- `connection`: the service was not reached", "- `agent_error`: read transcript and stderr of a session.", "| start | connection | 2 of 3 |"} {
			if got := strings.Contains(text, want); got == valid {
				t.Errorf("valid %t: %q is said: %t in\n%s", valid, want, got, text)
			}
		}
		for line := range strings.Lines(text) {
			if len([]rune(line)) > 81 {
				t.Errorf("a line of %d characters: %s", len(line), line)
			}
		}
	}
}

func TestWindowsFitTheLine(t *testing.T) {
	t.Parallel()
	w := &Windows{P: .25}
	for range 4 {
		w.Rates = append(w.Rates, Rate{Name: "window", K: 1, N: 2})
	}
	for line := range strings.Lines(wrap(windowsText(w))) {
		if len(line) > 80 {
			t.Errorf("a line of %d characters: %s", len(line), line)
		}
	}
}
