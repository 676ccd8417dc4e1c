package setup

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"loopd/harness"
	"loopd/internal/testenv"
)

// tree makes a file system of texts by path.
func tree(files map[string]string) fstest.MapFS {
	out := make(fstest.MapFS)
	for name, text := range files {
		out[name] = &fstest.MapFile{Data: []byte(text), Mode: 0o644}
	}
	return out
}

// with is a sound plugin with files added; an empty text takes one away.
func with(files map[string]string) fstest.MapFS {
	out := tree(map[string]string{
		ManifestPath:              `{"name": "tide", "version": "1.2.0"}`,
		"skills/gauge/SKILL.md":   "---\nname: gauge\ndescription: Reads the tide gauge.\n---\nLook.\n",
		"skills/almanac/SKILL.md": "---\nname: almanac\ndescription: |\n  Looks up\n  high water.\nwhen_to_use: before a landing\n---\nLook.\n",
	})
	for name, text := range files {
		out[name] = &fstest.MapFile{Data: []byte(text), Mode: 0o644}
		if text == "" {
			delete(out, name)
		}
	}
	return out
}

func survey(t *testing.T, files map[string]string) Plugin {
	t.Helper()
	p, err := Survey(with(files))
	testenv.Must(t, err)
	return p
}

func TestReadSurveysASoundPlugin(t *testing.T) {
	t.Parallel()
	got := survey(t, map[string]string{
		"commands/log.md": "---\ndescription: Writes the log.\n---\nWrite.\n", "commands/chart/draw.md": "Draw.\n", "commands/notes.txt": "no command",
		"agents/pilot.md": "---\nname: harbour-pilot\ndescription: Knows the bar.\n---\nYou know.\n", "agents/mate.md": "You help.\n",
		"bin/tide-now": "#!/bin/sh\n", "hooks/hooks.json": start(`"${CLAUDE_PLUGIN_ROOT}/hooks/tell" now`), "hooks/tell": "#!/bin/sh\n# hookSpecificOutput\ncat \"$(dirname \"$0\")/tell.md\"\n",
		"hooks/tell.md": "Mind the tide.\n",
	})
	want := Plugin{
		Name: "tide", Version: "1.2.0",
		Skills: []Skill{
			{Name: "almanac", Path: "skills/almanac/SKILL.md", Description: 20, WhenToUse: 16, Offered: true, Surface: true},
			{Name: "gauge", Path: "skills/gauge/SKILL.md", Description: 21, Offered: true, Surface: true},
		},
		Commands: []string{"chart:draw", "log"}, Agents: []string{"mate", "harbour-pilot"}, Programs: []string{"tide-now"},
		Hook:     Hook{Commands: []string{`"${CLAUDE_PLUGIN_ROOT}/hooks/tell" now`}, Envelope: harness.EnvelopeJSON, Text: "hooks/tell.md"},
		Warnings: []Warning{},
	}
	testenv.Same(t, "result", want, got)
}

// start is a hooks.json that runs commands when a session starts.
func start(commands ...string) string {
	var hooks []string
	for _, c := range commands {
		hooks = append(hooks, fmt.Sprintf(`{"type": "command", "command": %q}`, c))
	}
	return `{"hooks": {"SessionStart": [{"hooks": [` + strings.Join(hooks, ",") + `]}]}}`
}

func TestReadRefusesWhatIsNoPlugin(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ manifest, want string }{
		"no manifest":   {"", ".claude-plugin/plugin.json is missing"},
		"no JSON":       {"[", "not valid JSON"},
		"a list":        {"[]", "is an array"},
		"no name":       {"{}", "name: missing"},
		"name a number": {`{"name": 3}`, "name is a number"},
		"name in words": {`{"name": "high tide"}`, `"high tide" has more than letters`},
		"name escapes":  {`{"name": "../up"}`, "has more than letters"},
		"name a flag":   {`{"name": "-rf"}`, "has more than letters"},
		"control":       {"{\"name\": \"a\\u001b[31m\"}", "a\uFFFD[31m"},
	} {
		_, err := Survey(with(map[string]string{ManifestPath: test.manifest}))
		if err == nil || !strings.Contains(err.Error(), test.want) || strings.ContainsRune(err.Error(), 0x1b) {
			t.Errorf("%s: got %v, want %q", name, err, test.want)
		}
		if errors.Is(err, ErrNoPlugin) != (test.manifest == "") {
			t.Errorf("%s: got %v, is ErrNoPlugin: %t", name, err, errors.Is(err, ErrNoPlugin))
		}
	}
	if p, err := Survey(with(map[string]string{ManifestPath: "\ufeff{\"name\": \"tide\", \"version\": 2}"})); err != nil || p.Version != "" {
		t.Errorf("with a byte order mark: got %+v, %v", p, err)
	}
}

// Each fault alone gives its one warning, and is told apart from what makes every
// session void.
func TestReadWarnsOfEachFault(t *testing.T) {
	t.Parallel()
	skill := func(head string) map[string]string {
		return map[string]string{"skills/gauge/SKILL.md": "---\nname: gauge\n" + head + "---\nLook.\n"}
	}
	long := func(n int) string { return "description: " + strings.Repeat("é", n) + "\n" }
	for name, test := range map[string]struct {
		files  map[string]string
		where  string
		what   string
		blocks bool
	}{
		"no front matter":      {map[string]string{"skills/gauge/SKILL.md": "# Gauge\n"}, "skills/gauge/SKILL.md", "has no front matter", true},
		"front matter broken":  {skill("description: \"a\" b\n"), "skills/gauge/SKILL.md", "cannot be read", true},
		"read leniently":       {skill("description: Use when: ebb\n"), "skills/gauge/SKILL.md", "no valid YAML", false},
		"no description":       {skill("triggers:\n  - ebb\n"), "skills/gauge/SKILL.md", "has no description, so it is never offered", false},
		"only when_to_use":     {skill("when_to_use: ebb\n"), "skills/gauge/SKILL.md", "takes a line of its body", false},
		"when with hyphens":    {skill("description: d\nwhen-to-use: ebb\n"), "skills/gauge/SKILL.md", "does not read when-to-use", false},
		"over the standard":    {skill(long(1025)), "skills/gauge/SKILL.md", "1025 characters, over the standard's 1024", false},
		"cut":                  {skill(long(1000) + "when_to_use: " + strings.Repeat("x", 537) + "\n"), "skills/gauge/SKILL.md", "1537 characters, and the agent cuts them at 1536", true},
		"another name":         {map[string]string{"skills/gauge/SKILL.md": "---\nname: meter\ndescription: d\n---\nLook.\n"}, "skills/gauge/SKILL.md", `calls itself "meter"`, false},
		"capitals":             {map[string]string{"skills/Gauge/SKILL.md": "---\nname: Gauge\ndescription: d\n---\nLook.\n"}, "skills/Gauge/SKILL.md", "not lower-case words", false},
		"the agent's own":      {map[string]string{"skills/verify/SKILL.md": "---\nname: verify\ndescription: d\n---\nLook.\n"}, "skills/verify/SKILL.md", "has a verify of its own", false},
		"command, the agent's": {map[string]string{"commands/clear.md": "Clear.\n"}, "commands/clear.md", "has a clear of its own", false},
		"lower-case file":      {map[string]string{"skills/log/skill.md": "x"}, "skills/log/skill.md", "is not read", false},
		"too deep":             {map[string]string{"skills/group/log/SKILL.md": "x"}, "skills/group/log", "too deep", false},
		"outside skills/":      {map[string]string{ManifestPath: `{"name": "tide", "skills": ["./more/log"]}`, "more/log/SKILL.md": "---\ndescription: d\n---\nb"}, "more/log/SKILL.md", "leaves wording outside", false},
		"path not there":       {map[string]string{ManifestPath: `{"name": "tide", "skills": ["./none"]}`}, ManifestPath, `skills: "./none" is not there`, true},
		"path goes up":         {map[string]string{ManifestPath: `{"name": "tide", "commands": "./../x"}`}, ManifestPath, `commands: "./../x" is no path below`, false},
		"commands not there":   {map[string]string{ManifestPath: `{"name": "tide", "commands": ["./none.md"]}`}, ManifestPath, `commands: "./none.md" is not there`, true},
		"hooks broken":         {map[string]string{hooksFile: `{"hooks": {`}, hooksFile, "not valid JSON", true},
		"hooks without key":    {map[string]string{hooksFile: `{"SessionStart": []}`}, hooksFile, "hooks: missing", true},
		"hooks a list":         {map[string]string{hooksFile: `{"hooks": []}`}, hooksFile, "hooks is an array", true},
		"hooks elsewhere":      {map[string]string{ManifestPath: `{"name": "tide", "hooks": "./none.json"}`}, ManifestPath, `hooks: "./none.json" is not there`, true},
		"event's case":         {map[string]string{hooksFile: `{"version": 1, "hooks": {"sessionStart": [{"command": "./x"}]}}`}, hooksFile, `"sessionStart" is no event`, false},
		"event no list":        {map[string]string{hooksFile: `{"hooks": {"SessionStart": 3}}`}, hooksFile, "SessionStart: is a number", false},
		"hook of a prompt":     {map[string]string{hooksFile: `{"hooks": {"SessionStart": [{"hooks": [{"type": "prompt", "prompt": "x"}]}]}}`}, hooksFile, `a hook of type "prompt"`, false},
		"two hooks":            {map[string]string{hooksFile: start("echo a", "echo b")}, hooksFile, "2 programs run when a session starts", true},
		"hook's program":       {map[string]string{hooksFile: start(`sh "${CLAUDE_PLUGIN_ROOT}"/hooks/none.sh`)}, hooksFile, `the hook names "hooks/none.sh", which is not there`, true},
		"server":               {map[string]string{".mcp.json": "{}"}, ".mcp.json", "without MCP servers", false},
		"nothing to change":    {map[string]string{"skills/gauge/SKILL.md": "", "skills/almanac/SKILL.md": "", "commands/log.md": "x"}, ".", "no wording to change", false},
	} {
		got := survey(t, test.files).Warnings
		if len(got) != 1 || got[0].Where != test.where || !strings.Contains(got[0].What, test.what) || got[0].Blocks != test.blocks || got[0].Do == "" {
			t.Errorf("%s: got %+v, want one of %s that says %q, blocks: %t", name, got, test.where, test.what, test.blocks)
		}
	}
}

func TestReadWarnsOfTwoSkillsOfOneName(t *testing.T) {
	t.Parallel()
	got := survey(t, map[string]string{ManifestPath: `{"name": "tide", "skills": "./more"}`, "more/gauge/SKILL.md": "---\ndescription: d\n---\nb"}).Warnings
	if len(got) != 2 || !strings.Contains(got[1].What, "has the name of skills/gauge/SKILL.md") {
		t.Errorf("got %+v", got)
	}
}

func TestReadPassesOverWhatIsSound(t *testing.T) {
	t.Parallel()
	for name, files := range map[string]map[string]string{
		"other events":           {hooksFile: `{"description": "d", "hooks": {"PreToolUse": [{"matcher": "Bash", "hooks": [{"type": "prompt"}]}], "Stop": []}}`},
		"another start":          {hooksFile: `{"hooks": {"SessionStart": [{"matcher": "resume|clear", "hooks": [{"type": "command", "command": "x"}]}]}}`},
		"modules":                {hooksFile: `{"modules": ["./x.js"]}`},
		"hooks named twice":      {ManifestPath: `{"name": "tide", "hooks": "./hooks/hooks.json"}`, hooksFile: `{"hooks": {}}`},
		"for a user alone":       {"skills/gauge/SKILL.md": "---\nname: gauge\ndescription: d\ndisable-model-invocation: true\n---\nb"},
		"program by a variable":  {hooksFile: start(`"${CLAUDE_PLUGIN_ROOT}/hooks/run-$(uname)"`)},
		"another host's hooks":   {"hooks/hooks-other.json": `{"version": 1`},
		"files beside skills":    {"skills/README.md": "x", "skills/gauge/references/SKILL-notes.md": "x"},
		"root skill beside dirs": {"SKILL.md": "x"},
		"named by a list":        {ManifestPath: `{"name": "tide", "skills": ["./skills/gauge", 7]}`},
	} {
		if got := survey(t, files).Warnings; len(got) != 0 {
			t.Errorf("%s: got %+v, want no warning", name, got)
		}
	}
}

func TestReadWarnsOfTheListsBudget(t *testing.T) {
	t.Parallel()
	files := make(map[string]string)
	for i := range 8 {
		files[fmt.Sprintf("skills/s%d/SKILL.md", i)] = "---\ndescription: " + strings.Repeat("x", 990) + "\n---\nb"
	}
	files["skills/aside/SKILL.md"] = "---\ndescription: " + strings.Repeat("x", 990) + "\ndisable-model-invocation: true\n---\nb"
	if got := survey(t, files).Warnings; len(got) != 0 {
		t.Errorf("7,977 characters: got %+v, want no warning", got)
	}
	files["commands/log.md"] = "---\ndescription: " + strings.Repeat("x", 40) + "\n---\nb"
	if got := survey(t, files).Warnings; len(got) != 1 || !strings.Contains(got[0].What, "8017 characters") {
		t.Errorf("8,017 characters: got %+v, want one warning", got)
	}
}

func TestReadFindsASkillInTheRoot(t *testing.T) {
	t.Parallel()
	p, err := Survey(tree(map[string]string{ManifestPath: `{"name": "tide"}`, skillFile: "---\nname: gauge\ndescription: d\n---\nb"}))
	want := []Skill{{Name: "gauge", Path: skillFile, Description: 1, Offered: true}}
	if diff := cmp.Diff(want, p.Skills); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
}

func TestHookIsFoundWhereverItStands(t *testing.T) {
	t.Parallel()
	program := "${CLAUDE_PLUGIN_ROOT}/hooks/run"
	for name, test := range map[string]struct {
		files map[string]string
		want  Hook
	}{
		"none":                     {nil, Hook{Commands: []string{}}},
		"not at the start":         {map[string]string{hooksFile: strings.Replace(start("echo a"), `{"hooks": [`, `{"matcher": "resume|clear", "hooks": [`, 1)}, Hook{Commands: []string{}}},
		"plain text":               {map[string]string{hooksFile: start("echo Mind the tide.")}, Hook{Commands: []string{"echo Mind the tide."}, Envelope: harness.EnvelopeText}},
		"document in the line":     {map[string]string{hooksFile: start(`printf '{"hookSpecificOutput":1}'`)}, Hook{Commands: []string{`printf '{"hookSpecificOutput":1}'`}, Envelope: harness.EnvelopeJSON}},
		"in the manifest":          {map[string]string{ManifestPath: `{"name": "tide", "hooks": {"SessionStart": [{"matcher": "*", "hooks": [{"type": "command", "command": "echo a"}]}]}}`}, Hook{Commands: []string{"echo a"}, Envelope: harness.EnvelopeText}},
		"elsewhere":                {map[string]string{ManifestPath: `{"name": "tide", "hooks": ["./own.json"]}`, "own.json": start("echo a")}, Hook{Commands: []string{"echo a"}, Envelope: harness.EnvelopeText}},
		"matched by an expression": {map[string]string{hooksFile: strings.Replace(start("echo a"), `{"hooks": [`, `{"matcher": "^start.*$", "hooks": [`, 1)}, Hook{Commands: []string{"echo a"}, Envelope: harness.EnvelopeText}},
		"program named by another": {
			map[string]string{hooksFile: start(`"` + program + `.cmd" begin`), "hooks/run.cmd": "exec", "hooks/begin": "print hookSpecificOutput from notes/a.txt", "notes/a.txt": "x"},
			Hook{Commands: []string{`"` + program + `.cmd" begin`}, Envelope: harness.EnvelopeJSON, Text: "notes/a.txt"},
		},
		"two texts":   {map[string]string{hooksFile: start(program), "hooks/run": "a.md b.md", "hooks/a.md": "x", "hooks/b.md": "x"}, Hook{Commands: []string{program}, Envelope: harness.EnvelopeText}},
		"a skill":     {map[string]string{hooksFile: start(program), "hooks/run": "cat skills/gauge/SKILL.md"}, Hook{Commands: []string{program}, Envelope: harness.EnvelopeText}},
		"text is out": {map[string]string{hooksFile: start(program), "hooks/run": "cat ../../etc/motd.txt"}, Hook{Commands: []string{program}, Envelope: harness.EnvelopeText}},
	} {
		testenv.Same(t, name, test.want, survey(t, test.files).Hook)
	}
}

// A real directory: links are not followed, and what would block is not opened.
func TestReadFollowsNoLinkAndBlocksOnNothing(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("no links or pipes")
	}
	outside, dir := t.TempDir(), t.TempDir()
	put := func(name, text string) {
		path := filepath.Join(dir, name)
		testenv.Must(t, errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644)))
	}
	put(ManifestPath, `{"name": "tide"}`)
	put("skills/pipe/x", "")
	put("texts/a.md", "---\ndescription: d\n---\nb")
	secret := filepath.Join(outside, "SKILL.md")
	err := errors.Join(
		os.WriteFile(secret, []byte("---\nname: secret\ndescription: of another place\n---\nb"), 0o644),
		os.Symlink(outside, filepath.Join(dir, "skills", "away")), os.Mkdir(filepath.Join(dir, "skills", "file"), 0o755),
		os.Symlink(secret, filepath.Join(dir, "skills", "file", skillFile)), syscall.Mkfifo(filepath.Join(dir, "skills", "pipe", skillFile), 0o644),
		os.Symlink(outside, filepath.Join(dir, "commands")), os.Symlink("texts", filepath.Join(dir, "agents")), os.Symlink("texts", filepath.Join(dir, "bin")),
		os.Mkdir(filepath.Join(dir, "skills", "near"), 0o755), os.Symlink("../../texts/a.md", filepath.Join(dir, "skills", "near", skillFile)),
		os.Mkdir(filepath.Join(dir, hooksFile[:5]), 0o755), os.Mkdir(filepath.Join(dir, hooksFile), 0o755),
	)
	testenv.Must(t, err)
	root, err := os.OpenRoot(dir)
	testenv.Must(t, err)
	defer root.Close()
	p, err := Survey(root.FS())
	if err != nil || len(p.Skills) != 0 || len(p.Commands)+len(p.Agents)+len(p.Programs) != 0 {
		t.Fatalf("got %+v, %v, want nothing in it", p, err)
	}
	var where []string
	for _, w := range p.Warnings {
		where = append(where, w.Where)
	}
	want := []string{"hooks/hooks.json", "agents", "bin", "commands", ".", "skills/file/SKILL.md", "skills/near/SKILL.md", "skills/pipe/SKILL.md", "."}
	slices.Sort(where)
	slices.Sort(want)
	if diff := cmp.Diff(want, where); diff != "" {
		t.Errorf("(-want +got):\n%s\n%+v", diff, p.Warnings)
	}
}

func TestReadIsBounded(t *testing.T) {
	t.Parallel()
	p := survey(t, map[string]string{"skills/gauge/SKILL.md": "---\ndescription: d\n---\n" + strings.Repeat("x", maxFile)})
	if len(p.Warnings) != 1 || !strings.Contains(p.Warnings[0].What, "over the limit") {
		t.Errorf("a large file: got %+v", p.Warnings)
	}
	if s := printable(strings.Repeat("x", 500)); len(s) > longestText+2 {
		t.Errorf("a long name is shown with %d characters", len(s))
	}
}
