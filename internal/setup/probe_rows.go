package setup

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"loopd/harness"
	"loopd/harness/transcript"
	"loopd/internal/fake"
	"loopd/internal/trial"
)

// rows says what the probe came to.
func (p *probe) rows(refusesBase bool) []Row {
	t, _ := transcript.Parse(strings.NewReader(p.kept[trial.TranscriptFile]), transcript.Limits{}) // unreadable is the session's class
	if t == nil {
		t = &transcript.Transcript{}
	}
	rows := []Row{p.session()}
	for _, place := range origins() {
		rows = append(rows, p.leak(place, refusesBase))
	}
	return append(rows, p.note(), p.descriptions(), p.hook(t), p.tools(), p.credential())
}

// knownCLI is the command that helps where the agent does otherwise than the one
// loopd was recorded with.
func knownCLI() string { return "npm install -g @anthropic-ai/claude-code@" + fake.AgentVersion }

func row(name string, bad bool, fix, format string, args ...any) Row {
	r := Row{Name: "probe: " + name, Health: HealthOK, Detail: fmt.Sprintf(format, args...)}
	if bad {
		r.Health, r.Fix = HealthBad, fix
	}
	return r
}

// session wants evidence: what a session that was none saw proves nothing.
func (p *probe) session() Row {
	looked := slices.ContainsFunc(p.witness.sent, func(text string) bool { return strings.Contains(text, `looked"`) || strings.Contains(text, `looked\n`) })
	detail := fmt.Sprintf("%s, CLI %s, isolation %s, %d requests", p.trial.Class, p.trial.CLI, p.trial.Isolation, len(p.witness.sent))
	if p.trial.Why != "" {
		detail += ": " + p.trial.Why
	}
	if p.trial.Class == harness.Valid && !looked {
		detail += ", but it did not look around"
	}
	return row("session", p.trial.Class != harness.Valid || !looked, knownCLI(), "%s", detail)
}

// everywhere is every request and every file kept of the session.
func (p *probe) everywhere() []string {
	return append(slices.Clone(p.witness.sent), slices.Collect(maps.Values(p.kept))...)
}

// leak says whether a canary of the place reached the session, or anything of the
// user's was started.
func (p *probe) leak(place origin, refusesBase bool) Row {
	name, total := "user's "+string(place), p.poison.count(place)
	if place == fromAbove || place == fromEnvironment {
		name = string(place)
	}
	_, err := os.Stat(p.poison.ran(place))
	before, where := wheres(p.poison.in(place, p.witness.first...)), wheres(p.poison.in(place, p.everywhere()...))
	fix := "apt-get install bubblewrap"
	if p.walled() {
		fix = knownCLI()
	}
	switch {
	case len(p.witness.sent) == 0:
		return row(name, true, knownCLI(), "the session asked nothing, so nothing is known")
	case len(where) > 0:
		return row(name, true, fix, "%d of %d canaries reached the session (%s), %d of them before its first answer (%s)",
			len(where), total, strings.Join(where, ", "), len(before), strings.Join(before, ", "))
	case err == nil:
		return row(name, true, fix, "the session started something of the user's")
	case place == fromAbove && !refusesBase:
		return row(name, true, "mv CLAUDE.md AGENTS.md ELSEWHERE", "a sandbox below instructions is not refused")
	case place == fromAbove && total == 0:
		return row(name, false, "", "a sandbox below instructions is refused; not tried from within, for want of walls")
	}
	return row(name, false, "", "0 of %d canaries in %d requests", total, len(p.witness.sent))
}

func wheres(found []canary) []string {
	out := []string{}
	for _, c := range found {
		out = append(out, c.where)
	}
	return out
}

// note wants the hook's text whole in the first request.
func (p *probe) note() Row {
	text := p.o.Wording.Note
	switch p.o.Suite.Launch.Note.Kind {
	case harness.NoteNone:
		return row("note", false, "", "the plugin has none")
	case harness.NoteComputed:
		text = strings.TrimSuffix(p.kept[trial.NoteFile], "\n")
	}
	if text == "" || !p.witness.whole(text) {
		return row("note", true, knownCLI(), "%d characters are not whole in the first request", len([]rune(text)))
	}
	return row("note", false, "", "%d characters whole in the first request", len([]rune(text)))
}

// descriptions wants each skill's, whole, in the first request.
func (p *probe) descriptions() Row {
	var cut []string
	for _, d := range p.o.Wording.Descriptions {
		if !p.witness.whole(d) {
			head := []rune(d)
			cut = append(cut, fmt.Sprintf("%q…", string(head[:min(len(head), 40)])))
		}
	}
	n := len(p.o.Wording.Descriptions)
	if n == 0 || len(cut) > 0 {
		return row("skill descriptions", true, knownCLI(), "%d of %d are not whole in the first request: %s", len(cut), n, strings.Join(cut, ", "))
	}
	return row("skill descriptions", false, "", "%d whole in the first request", n)
}

// hook wants the plugin's SessionStart hook to have run once and well.
func (p *probe) hook(t *transcript.Transcript) Row {
	ran, well := 0, 0
	for _, h := range t.Hooks {
		if ran++; h.Event == "SessionStart" && h.ExitCode == 0 {
			well++
		}
	}
	want := 1
	if p.o.Suite.Launch.Note.Kind == harness.NoteNone {
		want = ran // a plugin without a note may have any
	}
	return row("hook", ran != want || well != want, knownCLI(), "%d ran, %d of them at the session's start and with exit code 0; want %d", ran, well, want)
}

// tools names the tools and the digests of what the CLI adds to a request.
func (p *probe) tools() Row {
	f := p.trial.Fingerprint
	if f == nil {
		return row("tools", true, knownCLI(), "no request handed tools to the model")
	}
	var wrong []string
	for _, name := range f.Names {
		if strings.HasPrefix(name, "mcp__") || slices.Contains(p.o.Suite.Launch.DisallowedTools, name) {
			wrong = append(wrong, name)
		}
	}
	if len(wrong) > 0 {
		return row("tools", true, knownCLI(), "the session has %s, which the launch profile withholds", strings.Join(wrong, ", "))
	}
	return row("tools", false, "", "%s; system %s, tools %s, deferred %s, betas %s, settings %s",
		strings.Join(f.Names, " "), f.System, f.Tools, f.Deferred, f.Betas, f.Settings)
}

// credential wants the key in the gateway's header and nowhere else.
func (p *probe) credential() Row {
	seen := 0
	for _, text := range p.everywhere() {
		if slices.ContainsFunc(append([]string{p.core}, p.o.Secrets...), func(s string) bool { return s != "" && strings.Contains(text, s) }) {
			seen++
		}
	}
	n := len(p.witness.sent)
	switch {
	case seen > 0:
		return row("credential", true, "loopd login", "a real key is in %d of %d requests and kept files", seen, n+len(p.kept))
	case n == 0 || p.witness.keyed != n:
		return row("credential", true, "loopd login", "the gateway showed the key for %d of %d requests", p.witness.keyed, n)
	}
	return row("credential", false, "", "shown by the gateway for %d of %d requests; in no request, file or variable of the session", p.witness.keyed, n)
}
