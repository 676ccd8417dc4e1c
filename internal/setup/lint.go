package setup

import (
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"loopd/harness"
	"loopd/internal/campaign"
	"loopd/internal/trial"
)

// Subject is a suite that may not be whole, with the plugin it is for.
type Subject struct {
	Suite  harness.Suite
	Faults []harness.DraftFault
	Plugin harness.Tree // the plugin's files as a session gets them
	Graphs map[string]harness.Tree
}

// Lint lists everything that can be said of a suite by reading it.
func Lint(s Subject) []Finding {
	out := append(s.suiteFindings(), formatFindings(s.Faults)...)
	n := s.names()
	for _, sc := range s.Suite.Scenarios {
		out = append(out, FillIns(sc)...)
		out = append(out, n.skillFindings(sc)...)
		out = append(out, s.fixtureFindings(sc)...)
		if _, ok := s.Suite.Scenario(sc.Pair); sc.Pair != "" && !unfilled(sc.Pair) && !ok && !s.faulty(sc.Pair) {
			out = append(out, Finding{sc.ID, RulePair, "pair", fmt.Sprintf("the suite has no scenario %q", sc.Pair)})
		}
		out = append(out, n.coaching(sc)...)
		out = append(out, s.echoes(sc)...)
	}
	return sorted(out)
}

// OfScenarios keeps the findings about the scenarios named, all when none is. That the
// suite is for another plugin stays: no run of any scenario can be played then.
func OfScenarios(list []Finding, ids []string) []Finding {
	out := []Finding{}
	for _, f := range list {
		if len(ids) == 0 || slices.Contains(ids, f.Scenario) || f.Scenario == "" && f.Rule == RulePlugin {
			out = append(out, f)
		}
	}
	return out
}

// IDs lists the scenarios of the suite, also those that cannot be read.
func (s Subject) IDs() []string {
	var out []string
	for _, sc := range s.Suite.Scenarios {
		out = append(out, sc.ID)
	}
	for _, f := range s.Faults {
		if f.Scenario != "" {
			out = append(out, f.Scenario)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

func (s Subject) faulty(id string) bool {
	return slices.ContainsFunc(s.Faults, func(f harness.DraftFault) bool { return f.Scenario == id })
}

func formatFindings(faults []harness.DraftFault) []Finding {
	var out []Finding
	for _, f := range faults {
		place, rule := "scenarios/"+f.Scenario+".md", RuleFormat
		if f.Scenario == "" {
			place = "gold.yaml"
		}
		text := strings.TrimPrefix(f.Err.Error(), "read scenario "+place+": ")
		if rest, none := strings.CutPrefix(text, "scenarios: "); none {
			place, text = "scenarios", rest
		}
		if _, ok := errors.AsType[*harness.PatternError](f.Err); ok {
			rule, text = RulePattern, text+" (patterns are RE2, as Go's regexp takes them)"
		}
		out = append(out, Finding{f.Scenario, rule, place, strings.ReplaceAll(text, "\n", "; ")})
	}
	return out
}

func (s Subject) suiteFindings() []Finding {
	var out []Finding
	// A scenario that cannot be read may be the objective one.
	if len(s.Suite.Cells(harness.Objective)) == 0 && !slices.ContainsFunc(s.Faults, func(f harness.DraftFault) bool { return f.Scenario != "" }) {
		out = append(out, Finding{"", RuleObjective, "scenarios", "none has the role objective, so nothing enters the metric"})
	}
	name, c := s.names().plugin, s.Suite.Checker
	if c.Plugin != name {
		out = append(out, Finding{"", RulePlugin, "checker.yaml", fmt.Sprintf("plugin: is %s, and this plugin is %s", c.Plugin, name)})
	}
	for i, a := range c.Consult {
		if other, _, qualified := strings.Cut(a.Skill, ":"); qualified && !globMatches(other, name) {
			out = append(out, Finding{"", RulePlugin, "checker.yaml", fmt.Sprintf("consult[%d].skill: %q is a skill of another plugin than %s", i, a.Skill, name)})
		}
	}
	if note := s.Suite.Launch.Note.File; note != "" && !has(s.Plugin, note) {
		out = append(out, Finding{"", RulePlugin, "launch.yaml", fmt.Sprintf("note.file: the plugin %s has no %s", name, note)})
	}
	if _, err := campaign.WordingOf(s.Plugin, harness.Note{Kind: harness.NoteNone}); err != nil {
		out = append(out, Finding{"", RulePlugin, "skills", err.Error()})
	}
	return out
}

func has(t harness.Tree, name string) bool {
	_, ok := t[name]
	return ok
}

func globMatches(glob, name string) bool {
	ok, err := path.Match(glob, name)
	return err == nil && ok
}

// names are what the plugin and its parts are called.
type pluginNames struct {
	plugin   string
	skills   []string // by folder, sorted
	commands []string // programs and slash commands
}

func (s Subject) names() pluginNames {
	var manifest struct{ Name string }
	// A plugin whose manifest cannot be read has no name, and the suite is for
	// another one.
	_ = json.Unmarshal(s.Plugin[".claude-plugin/plugin.json"].Data, &manifest)
	out := pluginNames{plugin: manifest.Name, skills: SkillNames(s.Plugin), commands: trial.Programs(s.Plugin)}
	for _, name := range s.Plugin.Paths() {
		if ok, _ := path.Match("commands/*.md", name); ok {
			out.commands = append(out.commands, strings.TrimSuffix(path.Base(name), ".md"))
		}
	}
	return out
}

// SkillNames lists the names of a plugin's skills, sorted.
func SkillNames(plugin harness.Tree) []string {
	var out []string
	for _, name := range plugin.Paths() {
		if ok, _ := path.Match("skills/*/SKILL.md", name); ok {
			out = append(out, path.Base(path.Dir(name)))
		}
	}
	return out
}

func (n pluginNames) skillFindings(sc harness.Scenario) []Finding {
	var out []Finding
	lacks := func(place, skill string) {
		bare := strings.TrimPrefix(skill, n.plugin+":")
		if skill != "" && !unfilled(skill) && !slices.Contains(n.skills, bare) {
			out = append(out, Finding{sc.ID, RuleSkill, place, fmt.Sprintf("the plugin has no skill %q", skill)})
		}
	}
	lacks("skill", sc.Skill)
	for i, st := range sc.Oracle {
		lacks(fmt.Sprintf("oracle[%d].skill", i), st.Skill)
	}
	for i, a := range sc.Expect.A {
		if other, _, qualified := strings.Cut(a.Skill, ":"); qualified && !globMatches(other, n.plugin) {
			out = append(out, Finding{sc.ID, RulePlugin, fmt.Sprintf("expect.a[%d].skill", i), fmt.Sprintf("%q is a skill of another plugin than %s", a.Skill, n.plugin)})
		}
	}
	return out
}

// coaching looks for names in the task. What was found is not said: the rule is
// enough for whoever wrote the task, and too little for anybody else.
func (n pluginNames) coaching(sc harness.Scenario) []Finding {
	var out []Finding
	say := func(what string, phrases []string) {
		if slices.ContainsFunc(phrases, sc.TaskSays) {
			out = append(out, Finding{sc.ID, RuleCoaching, "## Task", what})
		}
	}
	say("names the plugin", []string{n.plugin})
	say("names a skill of the plugin", called(n.skills, "skill"))
	say("names a command of the plugin", called(n.commands, "command", "program", "tool"))
	say("says a phrase of never_say", sc.NeverSay)
	return out
}

// called are the phrases by which something is named. A name of one word may be
// an everyday word and names nothing unless it is called what it is, or is to be
// used.
func called(list []string, kinds ...string) []string {
	var out []string
	for _, name := range list {
		if strings.ContainsFunc(name, func(r rune) bool { return r == '-' || r == '_' || r == '.' }) {
			out = append(out, name)
			continue
		}
		for _, kind := range kinds {
			out = append(out, name+" "+kind, kind+" "+name)
		}
		for _, verb := range []string{"use", "run", "invoke"} {
			out = append(out, verb+" "+name)
		}
	}
	return out
}

// echoes compares the task with what a session is shown of the plugin unasked.
func (s Subject) echoes(sc harness.Scenario) []Finding {
	longest := 0
	for _, text := range s.shown() {
		longest = max(longest, sc.TaskEchoes(text, campaign.EchoWords))
	}
	if longest == 0 {
		return nil
	}
	return []Finding{{sc.ID, RuleEcho, "## Task", fmt.Sprintf("%d words in a row are also in a description or the note", longest)}}
}

// shown are the skills' descriptions and the hook's note. A description that
// cannot be read is none, and a finding of its own.
func (s Subject) shown() []string {
	w, _ := campaign.WordingOf(s.Plugin, harness.Note{Kind: harness.NoteNone})
	out := w.Descriptions
	if note := s.Suite.Launch.Note.File; note != "" {
		out = append(out, string(s.Plugin[note].Data))
	}
	return out
}
