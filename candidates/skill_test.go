package candidates

import (
	"strings"
	"testing"
)

// Every odd form of front matter met in public plugins, and what the agent CLI
// lists the skill with (measured on 2.1.332).
func TestReadSkillListsWhatTheCLILists(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ head, want string }{
		"plain":                  {"description: Waters the beds.\n", "Waters the beds."},
		"in double quotes":       {"description: \"Waters: at dawn. Not for: weeds.\"\nallowed-tools: Read, Bash(can:*)\n", "Waters: at dawn. Not for: weeds."},
		"in single quotes":       {"description: 'Says \"dry\" when it''s dry'\nargument-hint: \"[bed]\"\nprovides: [water]\n", "Says \"dry\" when it's dry"},
		"quoted, on later lines": {"description:\n  \"Waters the beds\n  and the pots — all\n  of them.\"\nversion: 0.1.0\n", "Waters the beds and the pots — all of them."},
		"block":                  {"description: |\n  Waters the beds.\n  USE FOR: \"dry\", \"wilted\".\n\n  # not a comment\nmetadata:\n  author: gardener\n", "Waters the beds. USE FOR: \"dry\", \"wilted\". # not a comment"},
		"block, indented":        {"description: |\n  one\n    two  three\n", "one   two  three"},
		"folded":                 {"description: >\n  Waters\n  beds.\n\n  Daily.\n", "Waters beds. Daily."},
		"tabs in the text":       {"description: \"a\\t\\tb\\n \\nc\"\n", "a b   c"},
		"colon without quotes":   {"description: Use when: beds are dry\n", "Use when: beds are dry"},
		"tab that indents":       {"metadata:\n\ta: b\ndescription: Waters.\n", "Waters."},
		"open bracket":           {"description: [dry beds\n", "[dry beds"},
		"at sign":                {"description: @beds first\n", "@beds first"},
		"words after a brace":    {"description: {beds} first\n", "{beds} first"},
		"apostrophe and colon":   {"description: It's: dry\n", "It's: dry"},
		"comment":                {"description: Waters. # daily\n", "Waters."},
		"number":                 {"description: 42\n", "42"},
		"when to use it":         {"description: |\n  Waters.\nwhen_to_use: >\n  dry\n  beds\n", "Waters. - dry beds"},
		"when, with a hyphen":    {"description: Waters.\nwhen-to-use: dry beds\n", "Waters."},
		"keys of other hosts":    {"name: water\ndescription: Waters.\npaths:\n  - '**/*.bed'\nglobs: '*.bed'\nplatforms: [one]\nuser-invocable: false\n", "Waters."},
		"for a user alone":       {"description: Waters.\ndisable-model-invocation: true\n", ""},
		"for a user, as a word":  {"description: Waters.\ndisable-model-invocation: yes\n", ""},
		"for the model":          {"description: Waters.\ndisable-model-invocation: \"no\"\n", "Waters."},
		"no description":         {"name: water\ntriggers:\n  - dry\nwrites: false\n", ""},
		"empty description":      {"description: \"  \"\n", ""},
		"description is a list":  {"description: [a, b]\n", ""},
		"only when":              {"when_to_use: dry beds\n", ""},
	} {
		for end, text := range map[string]string{"": "---\n" + test.head + "---\nBody.\n", " with returns": bom + strings.ReplaceAll("---\n"+test.head+"---\nBody.\n", "\n", "\r\n")} {
			s := ReadSkill([]byte(text))
			if got := s.Listing(); got != test.want || s.Fault != "" || s.Bare {
				t.Errorf("%s%s: got %q (%+v), want %q", name, end, got, s, test.want)
			}
			if strings.TrimSpace(s.Body) != "Body." {
				t.Errorf("%s%s: got the body %q", name, end, s.Body)
			}
		}
	}
}

func TestReadSkillSaysWhatIsWrong(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		text    string
		lenient bool
		fault   bool
		bare    bool
		offered bool
	}{
		"sound":              {"---\ndescription: d\n---\nb", false, false, false, true},
		"read leniently":     {"---\ndescription: a: b\n---\nb", true, false, false, true},
		"only when":          {"---\nwhen_to_use: w\n---\nb", false, false, false, true},
		"no front matter":    {"# Beds\n\nWater them.\n", false, false, true, false},
		"never closed":       {"---\ndescription: d\nb\n", false, false, true, false},
		"empty":              {"", false, false, true, false},
		"quotes, then words": {"---\ndescription: \"a\" b\n---\nb", false, true, false, false},
		"a list":             {"---\n- a\n---\nb", false, true, false, false},
		"colon on two lines": {"---\ndescription: a: b\n  c\n---\nb", false, true, false, false},
	} {
		s := ReadSkill([]byte(test.text))
		if (s.Lenient != "") != test.lenient || (s.Fault != "") != test.fault || s.Bare != test.bare || s.Offered() != test.offered {
			t.Errorf("%s: got %+v, offered %t", name, s, s.Offered())
		}
	}
}

func FuzzReadSkill(f *testing.F) {
	f.Add("---\ndescription: a: b\n---\nbody")
	f.Add(bom + "---\r\ndescription: |\r\n  a\r\n---\r\nbody")
	f.Add("---\n\ta: [\n---\n")
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) > MaxFile {
			return
		}
		s := ReadSkill([]byte(text))
		if strings.ContainsAny(s.Listing(), "\n\r\t") || s.Listing() != "" && !s.Offered() {
			t.Errorf("%q is listed as %q", text, s.Listing())
		}
	})
}
