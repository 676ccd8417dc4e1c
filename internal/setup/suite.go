package setup

import (
	"bytes"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"regexp"
	"slices"
	"strings"
	"testing/fstest"
	"text/template"

	"loopd/scenarios"
)

//go:embed suite
var suiteFiles embed.FS

// NewSuite writes a suite for a plugin that has none: what is known is filled in,
// what is not is explained. It measures nothing until a person has added a
// scenario and a project.
func NewSuite(p Plugin) (fs.FS, error) {
	launch, err := launchFor(p.Hook)
	if err != nil {
		return nil, fmt.Errorf("word a suite for %s: %w", p.Name, err)
	}
	out := fstest.MapFS{"fixtures": {Mode: fs.ModeDir | 0o755}, "launch.yaml": {Data: launch, Mode: 0o644}}
	known := struct {
		Plugin
		Skill string
	}{Plugin: p}
	known.Programs = slices.DeleteFunc(slices.Clone(p.Programs), func(name string) bool { return !plainFile.MatchString(name) })
	for _, s := range p.Skills {
		if s.Offered && s.Surface && plainName(s.Name) {
			known.Skill = s.Name
			break
		}
	}
	err = fs.WalkDir(suiteFiles, "suite", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		t, err := template.ParseFS(suiteFiles, name)
		if err != nil {
			return err
		}
		var text bytes.Buffer
		err = t.Execute(&text, known)
		out[strings.TrimPrefix(name, "suite/")] = &fstest.MapFile{Data: text.Bytes(), Mode: 0o644}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("word a suite for %s: %w", p.Name, err)
	}
	return out, nil
}

var (
	plainFile = regexp.MustCompile(`^[\w.-]+$`) // a name that is no glob
	noteLine  = regexp.MustCompile(`(?m)^note: .*\n`)
	judgeEnv  = regexp.MustCompile(`(?m)(^# LOOPD_JUDGE_CMD) or the variable named here|, command_env: \w+`)
)

// launchFor is the bundled launch profile with the note of another plugin:
// models and their prices, environment and tools withheld are the same for all.
func launchFor(h Hook) ([]byte, error) {
	bundled, err := fs.ReadFile(scenarios.FS(), scenarios.Default+"/launch.yaml")
	if err != nil {
		return nil, err
	}
	if len(noteLine.FindAll(bundled, -1)) != 1 {
		return nil, errors.New("the bundled launch profile has no one line with the note")
	}
	text := noteLine.ReplaceAllLiteral(bundled, []byte(noteText(h)))
	return judgeEnv.ReplaceAll(text, []byte("$1")), nil
}

// noteText are the lines of the launch profile about the note.
func noteText(h Hook) string {
	switch {
	case len(h.Commands) == 0:
		return "# The plugin has no hook that speaks when a session starts. One that does is\n" +
			"# {kind: file, file: PATH, envelope: json} or {kind: computed, envelope: text}.\n" +
			"note: {kind: none}\n"
	case h.Text == "":
		return "# What the plugin's hook says when a session starts. computed: whatever it prints\n" +
			"# in a fresh copy of the project. Where the text is a file of the plugin's, write\n" +
			"# {kind: file, file: PATH, envelope: ...}, and its wording may be changed too.\n" +
			"# envelope: json for a document with hookSpecificOutput, text for anything else.\n" +
			fmt.Sprintf("note: {kind: computed, envelope: %s}\n", h.Envelope)
	}
	return "# What the plugin's hook says when a session starts. computed: whatever it prints\n" +
		"# in a fresh copy of the project; the wording of the file named may be changed.\n" +
		"# Where the hook prints that file as it is, write kind: file.\n" +
		"# envelope: json for a document with hookSpecificOutput, text for anything else.\n" +
		fmt.Sprintf("note: {kind: computed, file: %q, envelope: %s}\n", h.Text, h.Envelope)
}
