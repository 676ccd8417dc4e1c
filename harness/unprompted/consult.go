package unprompted

import (
	"path"
	"regexp"
	"strings"

	"loopd/harness"
	"loopd/harness/transcript"
)

// proposal recognises a wish to have a decision written down, in general words
// or by the suite's name for a record.
func proposal(form harness.Citation) *regexp.Regexp {
	down := `record\w*|document\w*|captur\w*|write (it|this|that) (down|up)`
	if form.Prefix != "" {
		down += "|" + regexp.QuoteMeta(form.Prefix)
	}
	return regexp.MustCompile(`(?i)\b(shall|should|could|want me to|would you like|happy to|worth|suggest\w*|propos\w+|recommend\w*)\b.{0,90}\b(` + down + `)\b`)
}

// actKind is what an assertion of checker.yaml can name.
type actKind string

const (
	ranSkill   actKind = "skill"
	ranProgram actKind = "command"
	touched    actKind = "touches"
)

// act is one thing a tool call did: a skill it invoked, a program it ran or a
// path of the project it read or wrote.
type act struct {
	kind actKind
	name string
	call *transcript.Call
}

func (a act) evidence(prefix string) harness.Evidence {
	what := prefix + string(a.kind) + " " + a.name
	if a.call.Status != transcript.CallOK {
		what += " (" + string(a.call.Status) + ")"
	}
	return harness.Evidence{Line: a.call.Line, Block: a.call.ID, What: what}
}

func (a act) matches(as harness.Assertion) bool {
	var glob string
	switch a.kind {
	case touched:
		return as.Touches != "" && harness.MatchPath(as.Touches, a.name)
	case ranSkill:
		glob = as.Skill
	case ranProgram:
		glob = as.Command
	}
	ok, _ := path.Match(glob, a.name) // a bad pattern matches nothing
	return ok && glob != ""
}

func (a act) matchesAny(as []harness.Assertion) bool {
	for _, one := range as {
		if a.matches(one) {
			return true
		}
	}
	return false
}

// did looks for calls that did one of the wanted things and succeeded.
func (s *session) did(want []harness.Assertion) finding {
	f := finding{reason: ReasonNoConsult}
	var attempts []harness.Evidence
	byMain := false
	for _, a := range s.consult {
		switch {
		case !a.matchesAny(want):
		case a.call.Status != transcript.CallOK:
			attempts = append(attempts, a.evidence("attempt: "))
		default:
			f.evidence = append(f.evidence, a.evidence(""))
			byMain = byMain || !a.call.Subagent()
		}
	}
	switch {
	case byMain:
		f.ok, f.reason = true, ""
	case len(f.evidence) > 0:
		f.ok, f.reason = true, ReasonBySubagent
	case len(attempts) > 0:
		f.reason = ReasonAttemptedOnly
	case s.proposes():
		f.reason = ReasonProposedOnly
	}
	return f
}

// noDetour holds when the session left the records system alone.
func (s *session) noDetour() finding {
	f := s.did(s.Checker.Consult)
	if f.ok {
		return finding{reason: ReasonDetour, evidence: f.evidence}
	}
	return finding{ok: true}
}

// observe lists what every tool call did, and what nearly consulted. The
// working directory of the main agent's shell outlives a call.
func (s *session) observe() {
	cwd := s.Project
	for i := range s.calls {
		c, start := &s.calls[i], cwd
		if c.Subagent() {
			start = s.Project
		}
		acts, end := s.acts(c, start)
		if !c.Subagent() && c.Status == transcript.CallOK {
			cwd = end
		}
		s.consult = append(s.consult, acts...)
		s.near = append(s.near, s.nearMisses(c, acts)...)
	}
}

// nearMisses says why a call that has to do with the records is no consult.
func (s *session) nearMisses(c *transcript.Call, acts []act) []harness.Evidence {
	var out []harness.Evidence
	for _, a := range acts {
		if !a.matchesAny(s.Checker.Consult) {
			continue
		}
		if c.Status == transcript.CallOK {
			return nil
		}
		out = append(out, a.evidence("attempt: "))
	}
	if len(out) > 0 {
		return out
	}
	at := func(what string) []harness.Evidence {
		return []harness.Evidence{{Line: c.Line, Block: c.ID, What: what}}
	}
	switch dir := s.Checker.Records.Dir; {
	case dir == "":
		return nil
	case strings.Contains(string(c.Input), dir):
		return at("mentioned: " + c.Name + " names " + dir + " without reading it")
	case strings.Contains(c.Output, dir+"/"):
		return at("listed: output of " + c.Name + " names files in " + dir)
	}
	return nil
}

// acts reads one tool call. It returns the shell's working directory after it.
func (s *session) acts(c *transcript.Call, cwd string) ([]act, string) {
	switch c.Name {
	case "Skill", "SlashCommand":
		return s.skillActs(c), cwd
	case "Bash":
		command, _ := c.Arg("command")
		sh := readShell(command, s.Project, cwd)
		var acts []act
		for _, p := range sh.programs {
			acts = append(acts, act{ranProgram, p, c})
		}
		for _, p := range sh.paths {
			acts = append(acts, act{touched, p, c})
		}
		return acts, sh.cwd
	default:
		var acts []act
		for _, p := range fileArguments(c) {
			if rel, ok := below(s.Project, cwd, p); ok {
				acts = append(acts, act{touched, rel, c})
			}
		}
		return acts, cwd
	}
}

// fileArguments lists the arguments of a file tool that say where it looks. A
// search pattern is not among them.
func fileArguments(c *transcript.Call) []string {
	arg := func(name string) string { v, _ := c.Arg(name); return v }
	switch c.Name {
	case "Read", "Write", "Edit", "MultiEdit":
		return []string{arg("file_path")}
	case "NotebookEdit", "NotebookRead":
		return []string{arg("notebook_path")}
	case "LS":
		return []string{arg("path")}
	case "Glob":
		return []string{joinGlob(arg("path"), arg("pattern")), arg("path")}
	case "Grep":
		return []string{arg("path"), joinGlob(arg("path"), arg("glob"))}
	default:
		return nil
	}
}

// joinGlob puts a glob below the directory it is looked for in.
func joinGlob(dir, glob string) string {
	if glob == "" || path.IsAbs(glob) {
		return glob
	}
	return path.Join(dir, glob)
}

// skillActs names the skill of a call in its full form. The tool's key was
// command in older CLIs; arguments are never looked at.
func (s *session) skillActs(c *transcript.Call) []act {
	name, ok := c.Arg("skill")
	if !ok {
		name, _ = c.Arg("command")
	}
	fields := strings.Fields(name)
	if len(fields) == 0 {
		return nil
	}
	return []act{{ranSkill, s.fullSkill(strings.TrimPrefix(fields[0], "/")), c}}
}

// fullSkill adds the plugin to a bare name that the session lists as the
// plugin's, unless a skill of exactly the bare name exists as well.
func (s *session) fullSkill(name string) string {
	full := s.Checker.Plugin + ":" + name
	listed := false
	for _, in := range s.Transcript.Inits {
		for _, skill := range in.Skills {
			if skill == name {
				return name
			}
			listed = listed || skill == full
		}
	}
	if listed {
		return full
	}
	return name
}

// below resolves a path as the session would and returns it relative to the
// project; ok is false when it lies elsewhere or cannot be resolved. A negated
// glob leaves out, and so looks nowhere.
func below(project, cwd, p string) (string, bool) {
	if p == "" || strings.HasPrefix(p, unknown) || strings.HasPrefix(p, "~") || strings.HasPrefix(p, "!") {
		return "", false
	}
	if !path.IsAbs(p) {
		if cwd == "" || strings.Contains(cwd, unknown) {
			return "", false
		}
		p = path.Join(cwd, p)
	}
	p, root := path.Clean(p), path.Clean(project)
	if p == root {
		return ".", true
	}
	return strings.CutPrefix(p, strings.TrimSuffix(root, "/")+"/")
}
