package fake_test

import (
	"strings"
	"testing"

	"loopd/candidates"
	"loopd/harness"
)

// listedSkills are skills by directory: their front matter, and the text the
// real CLI lists them with, empty for none. Their bodies say BODY.
func listedSkills() map[string]struct{ head, want string } {
	return map[string]struct{ head, want string }{
		"block":   {"description: |\n  Looks up.\n    USE FOR: \"ebb\"\n\n  # landings\n", `Looks up.   USE FOR: "ebb" # landings`},
		"folded":  {"description: >\n  Looks\n  up.\n", "Looks up."},
		"colon":   {"description: Use when: the ebb runs\n", "Use when: the ebb runs"},
		"tab":     {"metadata:\n\ta: b\ndescription: Waits.\n", "Waits."},
		"bracket": {"description: [dry beds\n", "[dry beds"},
		"number":  {"description: 42\n", "42"},
		"when":    {"description: |\n  Waits.\nwhen_to_use: >\n  at low\n  water\n", "Waits. - at low water"},
		"hyphens": {"description: Waits long.\nwhen-to-use: at low water\n", "Waits long."},
		"user":    {"description: Clears.\ndisable-model-invocation: yes\n", ""},
		"model":   {"description: Clears it.\nuser-invocable: false\n", "Clears it."},
		"silent":  {"name: silent\n", ""},
		"list":    {"description: [a, b]\n", ""},
		"quotes":  {"description: \"a\" b\n", ""},
	}
}

func checkListing(t *testing.T, run agent) {
	t.Helper()
	r := newRig(t, goodHook)
	for name, s := range listedSkills() {
		r.put("plugin/skills/"+name+"/SKILL.md", "---\n"+s.head+"---\nBODY\n", 0o644)
	}
	r.session.Scenario.Oracle = []harness.Step{{Text: "end"}}
	if o := run(r); o.code != 0 {
		t.Fatalf("exit %d: %s", o.code, o.stderr)
	}
	sent := strings.Split(r.sent(), "\n")
	for name, s := range listedSkills() {
		got := ""
		for _, line := range sent {
			if text, ok := strings.CutPrefix(line, "- tiny:"+name+": "); ok {
				got = strings.TrimSpace(text)
			}
		}
		if got != s.want {
			t.Errorf("%s: listed as %q, want %q", name, got, s.want)
		}
		if read := candidates.ReadSkill([]byte("---\n" + s.head + "---\nBODY\n")).Listing(); read != s.want {
			t.Errorf("%s: read as %q, want %q", name, read, s.want)
		}
	}
}

func TestSkillsAreListedInEveryForm(t *testing.T) {
	t.Parallel()
	checkListing(t, inProcess)
}

// TestRealListing shows that the forms are the real CLI's.
func TestRealListing(t *testing.T) {
	t.Parallel()
	checkListing(t, realCLI(t))
}
