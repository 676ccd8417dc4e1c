package plugins_test

import (
	"bytes"
	"encoding/json"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"mvdan.cc/sh/v3/syntax"

	"loopd/internal/testenv"
	"loopd/plugins"
)

// materialise writes the embedded plugin with its modes, as a session gets it.
func materialise(t *testing.T) string {
	t.Helper()
	root := t.TempDir()
	err := fs.WalkDir(plugins.FS(), "os-adr", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		dest := filepath.Join(root, filepath.FromSlash(name))
		if d.IsDir() {
			return os.MkdirAll(dest, 0o755)
		}
		data, err := fs.ReadFile(plugins.FS(), name)
		if err != nil {
			return err
		}
		return os.WriteFile(dest, data, plugins.Mode(name))
	})
	testenv.Must(t, err)
	return filepath.Join(root, "os-adr")
}

// project is a directory to run the plugin's programs in.
type project struct {
	t      *testing.T
	plugin string
	dir    string
}

// newProject returns a project whose records were started by adr-init.
func newProject(t *testing.T) project {
	t.Helper()
	p := project{t: t, plugin: materialise(t), dir: t.TempDir()}
	p.ok("", "adr-init")
	return p
}

type result struct {
	stdout, stderr string
	code           int
}

// run starts a program of the plugin by its name, under the plain C locale.
func (p project) run(stdin, name string, args ...string) result {
	p.t.Helper()
	cmd := exec.CommandContext(p.t.Context(), filepath.Join(p.plugin, "bin", name), args...)
	cmd.Dir = p.dir
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "LC_ALL=C", "ADR_DATE=2031-05-28"}
	return finish(p.t, cmd, stdin)
}

func finish(t *testing.T, cmd *exec.Cmd, stdin string) result {
	t.Helper()
	var stdout, stderr bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(stdin), &stdout, &stderr
	if err := cmd.Run(); err != nil && cmd.ProcessState == nil {
		t.Fatal(err)
	}
	return result{stdout.String(), stderr.String(), cmd.ProcessState.ExitCode()}
}

// ok runs a program that must succeed without a word on stderr.
func (p project) ok(stdin, name string, args ...string) string {
	p.t.Helper()
	r := p.run(stdin, name, args...)
	if r.code != 0 || r.stderr != "" {
		p.t.Fatalf("%s %q: exit %d, stderr %q", name, args, r.code, r.stderr)
	}
	return r.stdout
}

func (p project) read(name string) string {
	p.t.Helper()
	data, err := os.ReadFile(filepath.Join(p.dir, name))
	testenv.Must(p.t, err)
	return string(data)
}

func (p project) write(name, content string) {
	p.t.Helper()
	testenv.Must(p.t, os.WriteFile(filepath.Join(p.dir, name), []byte(content), 0o644))
}

// snapshot returns every file of the project with its content.
func (p project) snapshot() map[string]string {
	p.t.Helper()
	files := map[string]string{}
	err := filepath.WalkDir(p.dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(p.dir, name)
		if err != nil {
			return err
		}
		if d.IsDir() {
			files[rel+"/"] = ""
			return nil
		}
		files[rel] = p.read(rel)
		return nil
	})
	testenv.Must(p.t, err)
	return files
}

// frontMatter decodes the YAML between the first two --- lines into v.
func frontMatter(t *testing.T, text string, v any) {
	t.Helper()
	rest, ok := strings.CutPrefix(text, "---\n")
	front, _, closed := strings.Cut(rest, "\n---\n")
	if !ok || !closed {
		t.Fatalf("no front matter in %q", text)
	}
	if err := yaml.UnmarshalWithOptions([]byte(front), v, yaml.Strict()); err != nil {
		t.Fatalf("front matter: %v", err)
	}
}

// pluginFiles returns the files of the plugin that keeps records, by path.
func pluginFiles(t *testing.T) map[string]string { return filesOf(t, "os-adr") }

// bundled lists the plugins there are.
func bundled(t *testing.T) []string {
	t.Helper()
	dirs, err := fs.ReadDir(plugins.FS(), ".")
	if err != nil || len(dirs) < 2 {
		t.Fatalf("got %d plugins (%v), want 2 and more", len(dirs), err)
	}
	var out []string
	for _, d := range dirs {
		out = append(out, d.Name())
	}
	return out
}

func filesOf(t *testing.T, plugin string) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := fs.WalkDir(plugins.FS(), plugin, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := fs.ReadFile(plugins.FS(), name)
		files[name] = string(data)
		return err
	})
	testenv.Must(t, err)
	if len(files) == 0 {
		t.Fatal("the plugin has no files")
	}
	return files
}

func TestModeMakesExactlyTheProgramsExecutable(t *testing.T) {
	t.Parallel()
	programs := 0
	for _, plugin := range bundled(t) {
		for name, text := range filesOf(t, plugin) {
			want := fs.FileMode(0o644)
			if strings.HasPrefix(text, "#!") {
				want = 0o755
				programs++
			}
			if got := plugins.Mode(name); got != want {
				t.Errorf("Mode(%s): got %v, want %v", name, got, want)
			}
		}
	}
	if programs != 5 {
		t.Errorf("programs: got %d, want 5", programs)
	}
}

func TestProgramsAreSyntacticallyPosix(t *testing.T) {
	t.Parallel()
	parser := syntax.NewParser(syntax.Variant(syntax.LangPOSIX))
	for name, text := range pluginFiles(t) {
		if plugins.Mode(name) != 0o755 && path.Ext(name) != ".sh" {
			continue
		}
		if _, err := parser.Parse(strings.NewReader(text), name); err != nil {
			t.Error(err)
		}
		for _, word := range []string{"local ", "echo -", "function ", "$RANDOM", "pipefail", "jq ", "python"} {
			for line := range strings.SplitSeq(text, "\n") {
				isAwk := strings.Contains(line, "(") && word == "function "
				if strings.HasPrefix(strings.TrimSpace(line), word) && !isAwk {
					t.Errorf("%s: %q is not in every sh", name, line)
				}
			}
		}
	}
}

// answers are what the wording of a plugin may not say: the names of the project
// its scenarios play in, and what they ask for there.
var answers = map[string]*regexp.Regexp{
	"os-adr":   regexp.MustCompile(`\b0\d{3}\b|lib/relay|(?i:webhook|\bUTC\b|ISO-8601|back.?off|sqlite)`),
	"quayside": regexp.MustCompile(`(?i)rakeup|platformdirs|by-month|disk|symbolic|nothing to do|webp|\b1\.\d+\b|\bexits\.py|pyproject|\.spec\b`),
}

func TestWordingHoldsNoAnswer(t *testing.T) {
	t.Parallel()
	for _, plugin := range bundled(t) {
		answers := answers[plugin]
		if answers == nil {
			t.Fatalf("nobody has said what would be an answer in %s", plugin)
		}
		for name, text := range filesOf(t, plugin) {
			if path.Ext(name) == ".sh" {
				continue // never shown to a session
			}
			if got := answers.FindString(text); got != "" {
				t.Errorf("%s says %q", name, got)
			}
		}
	}
	if !answers["os-adr"].MatchString("see 0003") || !answers["os-adr"].MatchString("edit lib/relay/queue.rb") {
		t.Error("a planted answer is not found")
	}
	if !answers["quayside"].MatchString("such as rakeup/cli.py") || !answers["quayside"].MatchString("until 1.11") {
		t.Error("a planted answer is not found")
	}
}

func TestSkillsHaveNameAndDescription(t *testing.T) {
	t.Parallel()
	for plugin, want := range map[string]int{"os-adr": 3, "quayside": 9} {
		names, err := fs.Glob(plugins.FS(), plugin+"/skills/*/SKILL.md")
		if err != nil || len(names) != want {
			t.Fatalf("skills of %s: got %v (%v), want %d", plugin, names, err, want)
		}
		for _, name := range names {
			var head struct{ Name, Description string }
			text, err := fs.ReadFile(plugins.FS(), name)
			testenv.Must(t, err)
			frontMatter(t, string(text), &head)
			if want := path.Base(path.Dir(name)); head.Name != want {
				t.Errorf("%s: name is %q, want %q", name, head.Name, want)
			}
			if n := len(head.Description); n == 0 || n > 1024 || strings.ContainsAny(head.Description, "<>") {
				t.Errorf("%s: description is unusable: %q", name, head.Description)
			}
		}
	}
}

// A plugin's manifest names it as its directory does.
func TestManifestsNameTheirDirectory(t *testing.T) {
	t.Parallel()
	for _, plugin := range bundled(t) {
		var manifest struct{ Name, Version, Description string }
		testenv.Must(t, json.Unmarshal([]byte(filesOf(t, plugin)[plugin+"/.claude-plugin/plugin.json"]), &manifest))
		if manifest.Name != plugin || manifest.Version == "" || manifest.Description == "" {
			t.Errorf("%s: manifest %+v", plugin, manifest)
		}
	}
}

// The nine skills come with a command and an agent, and with nothing that runs
// by itself: no hook, no program, no server.
func TestNineSkillsAndNothingThatRuns(t *testing.T) {
	t.Parallel()
	got := map[string]int{}
	for name := range filesOf(t, "quayside") {
		got[strings.Split(name, "/")[1]]++
	}
	want := map[string]int{".claude-plugin": 1, "README.md": 1, "agents": 1, "commands": 1, "skills": 9}
	testenv.Same(t, "files", want, got)
	for _, name := range []string{"agents/notes-reader.md", "commands/what-is-due.md"} {
		var head struct{ Name, Description, Tools string }
		frontMatter(t, filesOf(t, "quayside")["quayside/"+name], &head)
		if head.Description == "" {
			t.Errorf("%s has no description", name)
		}
	}
}

func TestHooksAreTheShapeTheCLIReads(t *testing.T) {
	t.Parallel()
	files := pluginFiles(t)
	type handler struct{ Type, Command string }
	var hooks struct {
		Hooks map[string][]struct{ Hooks []handler }
	}
	testenv.Must(t, json.Unmarshal([]byte(files["os-adr/hooks/hooks.json"]), &hooks))
	groups := hooks.Hooks["SessionStart"]
	if len(hooks.Hooks) != 1 || len(groups) != 1 || len(groups[0].Hooks) != 1 {
		t.Fatalf("hooks: got %+v, want one SessionStart command", hooks)
	}
	want := handler{"command", `"${CLAUDE_PLUGIN_ROOT}/hooks/session-start"`}
	testenv.Same(t, "result", want, groups[0].Hooks[0])
}
