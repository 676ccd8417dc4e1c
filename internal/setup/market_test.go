package setup

import (
	"errors"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
)

func TestPlacesOfARepository(t *testing.T) {
	t.Parallel()
	one := `{"name": "tide"}`
	for name, test := range map[string]struct {
		files map[string]string
		want  []Place
	}{
		"a plugin": {map[string]string{ManifestPath: one}, []Place{{Name: "tide", Dir: ".", Manifest: true}}},
		"a plugin that lists itself": {
			map[string]string{ManifestPath: one, MarketPath: `{"plugins": [{"name": "tide", "source": "./"}]}`}, []Place{{Name: "tide", Dir: ".", Manifest: true}},
		},
		"a marketplace": {
			map[string]string{
				MarketPath:                     "\ufeff" + `{"plugins": [{"name": "tide", "source": "./plugins/tide"}, {"name": "moon", "source": "./plugins/moon/"}]}`,
				"plugins/tide/" + ManifestPath: one, "plugins/moon/" + ManifestPath: `{"name": "moon-phase"}`,
			},
			[]Place{{Name: "tide", Dir: "plugins/tide", Manifest: true}, {Name: "moon-phase", Dir: "plugins/moon", Manifest: true}},
		},
		"names below a root": {
			map[string]string{MarketPath: `{"metadata": {"pluginRoot": "./plugins"}, "plugins": [{"name": "tide", "source": "tide"}]}`, "plugins/tide/" + ManifestPath: one},
			[]Place{{Name: "tide", Dir: "plugins/tide", Manifest: true}},
		},
		"elsewhere": {
			map[string]string{MarketPath: `{"plugins": [{"name": "far", "source": {"source": "github", "repo": "a/b"}}]}`}, []Place{{Name: "far", Source: "github"}},
		},
		"skills shared by entries": {
			map[string]string{MarketPath: `{"plugins": [{"name": "a", "source": "./", "skills": ["./skills/x"]}, {"name": "b", "source": "./", "skills": ["./skills/y"]}]}`},
			[]Place{{Name: "a", Dir: "."}, {Name: "b", Dir: "."}},
		},
		"entries that lead nowhere": {
			map[string]string{
				MarketPath:            `{"plugins": [{"name": "up", "source": "./../x"}, {"name": "gone", "source": "./gone"}, {"name": "odd", "source": 7}, {"name": "bad", "source": "./bad"}]}`,
				"bad/" + ManifestPath: "{}",
			},
			[]Place{
				{Name: "up", Fault: `source: "./../x" is no path below the repository`}, {Name: "gone", Fault: "source: no directory gone"},
				{Name: "odd", Fault: "source: neither a path nor a place"}, {Name: "bad", Dir: "bad", Fault: "bad: .claude-plugin/plugin.json: name: missing"},
			},
		},
	} {
		got, err := Places(tree(test.files))
		if diff := cmp.Diff(test.want, got); err != nil || diff != "" {
			t.Errorf("%s: %v (-want +got):\n%s", name, err, diff)
		}
	}
}

func TestPlacesRefusesWhatNamesNoPlugin(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		files map[string]string
		want  string
	}{
		"nothing":        {map[string]string{"README.md": "x"}, "plugin.json is missing"},
		"broken":         {map[string]string{MarketPath: "{"}, MarketPath + ": not valid JSON"},
		"empty":          {map[string]string{MarketPath: "{}"}, MarketPath + ": plugins: empty"},
		"without a name": {map[string]string{MarketPath: `{"plugins": [{"source": "./"}]}`}, `plugins: entry 1: "" is no name`},
		"plugin broken":  {map[string]string{ManifestPath: "{", MarketPath: `{"plugins": []}`}, ManifestPath + ": not valid JSON"},
	} {
		got, err := Places(tree(test.files))
		if err == nil || !strings.Contains(err.Error(), test.want) || len(got) != 0 {
			t.Errorf("%s: got %v, %v, want %q", name, got, err, test.want)
		}
		if errors.Is(err, ErrNoPlugin) != (name == "nothing") {
			t.Errorf("%s: is ErrNoPlugin: %t", name, errors.Is(err, ErrNoPlugin))
		}
	}
}

// Whatever stands in a plugin's files, it is surveyed or refused, and what comes
// out can be printed.
func FuzzSurvey(f *testing.F) {
	f.Add(`{"name": "tide", "skills": ["./more"], "hooks": {"SessionStart": []}}`, start("x ${CLAUDE_PLUGIN_ROOT}/hooks/run y"), "---\ndescription: a: b\n---\nb", `{"plugins": [{"name": "a", "source": "./skills"}]}`)
	f.Add(`{"name": "tide", "skills": "./", "commands": ".//x", "agents": "./..", "hooks": "./skills/gauge/SKILL.md"}`, `{"hooks": {"sessionstart": 1}}`, "---\n- a\n---", `{"metadata": {"pluginRoot": "/"}, "plugins": [{"name": "a", "source": "x"}]}`)
	f.Fuzz(func(t *testing.T, manifest, hooks, skill, market string) {
		if len(manifest)+len(hooks)+len(skill)+len(market) > 64<<10 {
			return
		}
		fsys := fstest.MapFS{}
		for name, text := range map[string]string{ManifestPath: manifest, hooksFile: hooks, "skills/gauge/SKILL.md": skill, "hooks/run": skill, MarketPath: market} {
			fsys[name] = &fstest.MapFile{Data: []byte(text), Mode: 0o644}
		}
		places, err := Places(fsys)
		if err == nil && len(places) == 0 {
			t.Error("no place and no error")
		}
		p, err := Survey(fsys)
		if err != nil {
			return
		}
		for _, w := range p.Warnings {
			if w.String() != printable(w.String()) && len([]rune(w.String())) <= longestText {
				t.Errorf("cannot be printed: %q", w)
			}
		}
		if _, err := NewSuite(p); err != nil {
			t.Error(err)
		}
	})
}
