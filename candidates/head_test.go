package candidates

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"loopd/internal/testenv"
)

// styled is a SKILL.md cut around the value of its description.
type styled struct {
	name, before, value, after string
}

// wild are heads in every style in which skills are found to be written.
func wild() []styled {
	const body = "---\n\n# Ebb\n\nRun it.\n"
	crlf := strings.NewReplacer("\n", "\r\n").Replace
	return []styled{
		{"plain", "---\nname: ebb\ndescription: ", "Says when the water is low.", "\nversion: 1.0\n" + body},
		{"plain with a comment", "---\ndescription: ", "Says when it is low", "   # not of the value\nname: ebb\n" + body},
		{"plain, last key", "---\nname: ebb\ndescription:   ", "Says it's low", "\n" + body},
		{"plain over lines", "---\nname: ebb\ndescription: ", "Says when the water in a harbour is low enough\n  to walk out and how long it will stay so.", "\nallowed-tools:\n- Read\n" + body},
		{"single quotes", "---\nname: ebb\ndescription: ", "'Low water: when, and it''s \"soon\".'", "\nmetadata:\n  author: ann\n" + body},
		{"double quotes", "---\n# of the tides\nname: ebb\ndescription: ", `"Low water: \"when\"."`, "\nallowed-tools: Read, Bash(ebb:*)\n" + body},
		{"double quotes below, over lines", "---\nname: ebb\ndescription:\n  ", "\"Low water in north and south harbours, for (small)\n  boats: says when.\"", "\nversion: 0.1\n" + body},
		{"single quotes over lines", "---\nname: ebb\ndescription: ", "'Low water in north and south harbours: says\n  when.'", "\n" + body},
		{"folded", "---\nname: ebb\ndescription: ", ">-\n  Low water in north and south\n  harbours: says when.", "\ntriggers:\n  - \"low water\"\n" + body},
		{"folded, clipped", "---\nname: ebb\ndescription: ", ">\n    Low water in north.", "\n\n# a comment\nuser-invocable: true\n" + body},
		{"literal", "---\nname: ebb\ndescription: ", "|\n  Low water.\n  USE FOR: \"ebb\", # no comment", "\nversion: \"1.0\"\n" + body},
		{"literal with a comment", "---\nname: ebb\ndescription: ", "|- # as it reads\n  Low water.", "\n" + body},
		{"literal, kept", "---\nname: ebb\ndescription: ", "|+\n  Low water.\n\n", "\nversion: 1\n" + body},
		{"empty", "---\nname: ebb\ndescription:", "", "\nversion: 1\n" + body},
		{"quoted key, no line at the end", "---\nname: ebb\n\"description\": ", "Low water.", "\n---\nRun it."},
		{"literal, CRLF", crlf("---\nname: ebb\ndescription: "), crlf("|\n  Low water.\n  Says when."), crlf("\nmetadata:\n  v: \"1\"\n" + body)},
		{"folded, CRLF", crlf("---\nname: ebb\ndescription: "), crlf(">-\n  Low water in north\n  and south."), crlf("\n" + body)},
		{"plain over lines, CRLF", crlf("---\nname: ebb\ndescription: "), crlf("Says when the water in a harbour is low enough\n  to walk."), crlf("\nversion: 1\n" + body)},
		{"plain, CRLF, mixed body", "---\r\nname: ebb\r\ndescription: ", "Low water.", "\r\n---\r\n\nRun it.\r\nTwice.\n"},
		{"mark", bom + "---\nname: ebb\ndescription: ", "Low water.", "\n" + body},
		{"mark, CRLF, open fence", crlf(bom + "---  \nname: ebb\ndescription: "), "'Low: water.'", crlf("\nversion: 1\n--- \n\nRun it.")},
	}
}

func (s styled) file() []byte { return []byte(s.before + s.value + s.after) }

// check puts a text into a file and wants it back, and every other byte as it
// was.
func (s styled) check(t rapid.TB, text string) string {
	t.Helper()
	got, err := SetDescription(s.file(), text)
	if err != nil {
		t.Fatalf("%s: %q: %v", s.name, text, err)
	}
	if read, err := Description(got); err != nil || read != text {
		t.Fatalf("%s: got %q back, %v, want %q\n%s", s.name, read, err, text, got)
	}
	rest, ok := strings.CutPrefix(string(got), s.before)
	value, all := strings.CutSuffix(rest, s.after)
	if !ok || !all {
		t.Fatalf("%s: %q changed something else:\n%q", s.name, text, got)
	}
	if strings.Contains(s.before, "\r\n") && strings.Contains(strings.ReplaceAll(value, "\r\n", ""), "\n") {
		t.Fatalf("%s: a bare line feed in %q", s.name, value)
	}
	return value
}

// The style of the value stays for a text that it can hold.
func TestSetDescriptionKeepsTheStyle(t *testing.T) {
	t.Parallel()
	const text = "Tells how long the water stays low and whether a boat of some size can leave"
	const long = "Tells how long the water stays low and whether\n  a boat of some size can leave"
	want := map[string]string{
		"plain": text, "plain with a comment": text, "plain, last key": text, "empty": " " + text, "mark": text, "plain, CRLF, mixed body": text,
		"quoted key, no line at the end": text, "single quotes": "'" + text + "'", "double quotes": `"` + text + `"`,
		"mark, CRLF, open fence":          "'" + text + "'",
		"plain over lines":                long,
		"single quotes over lines":        "'Tells how long the water stays low and\n  whether a boat of some size can leave'",
		"double quotes below, over lines": "\"Tells how long the water stays low and whether a\n  boat of some size can leave\"",
		"plain over lines, CRLF":          strings.ReplaceAll(long, "\n", "\r\n"),
		"folded":                          ">-\n  Tells how long the water stays low and\n  whether a boat of some size can leave",
		"folded, CRLF":                    ">-\r\n  Tells how long the water stays low and\r\n  whether a boat of some size can leave",
		"folded, clipped":                 ">-\n    " + text,
		"literal":                         "|-\n  " + text, "literal, kept": "|-\n  " + text, "literal with a comment": "|- # as it reads\n  " + text,
		"literal, CRLF": "|-\r\n  " + text,
	}
	for _, s := range wild() {
		if got := s.check(t, text); got != want[s.name] {
			t.Errorf("%s: got %q, want %q", s.name, got, want[s.name])
		}
	}
}

// A value is quoted, or quoted otherwise, only where the text needs it.
func TestSetDescriptionQuotesWhereNeeded(t *testing.T) {
	t.Parallel()
	named := func(name string) styled {
		for _, s := range wild() {
			if s.name == name {
				return s
			}
		}
		t.Fatalf("no style %s", name)
		return styled{}
	}
	for _, tc := range []struct{ style, text, want string }{
		{"plain", "low: water", "'low: water'"},
		{"plain", "low #water", "'low #water'"},
		{"plain", "it's low", "it's low"},
		{"plain", "2 boats leave", "2 boats leave"},
		{"plain", "0003", "'0003'"},
		{"plain", "yes", "'yes'"},
		{"plain", "- low", "'- low'"},
		{"plain", "", "''"},
		{"plain", " low", "' low'"},
		{"plain", "low\nwater", `"low\nwater"`},
		{"plain", "low\u2028water\u200b", `"low\u2028water\u200b"`},
		{"single quotes", "it's \\low", `'it''s \low'`},
		{"single quotes", "low\twater", `"low\twater"`},
		{"double quotes", "a \"b\" \\c\r\n", `"a \"b\" \\c\x0d\n"`},
		{"folded", "low\nwater: # high", ">-\n  low\n\n  water: # high"},
		{"folded", "low\n\nwater\n", ">\n  low\n\n\n  water"},
		{"folded", " low", `" low"`},
		{"literal", "low\n\nwater\n", "|\n  low\n\n  water"},
		{"literal", "low \nwater", `"low \nwater"`},
		{"literal, CRLF", "low\nwater\n", "|\r\n  low\r\n  water"},
	} {
		if got := named(tc.style).check(t, tc.text); got != tc.want {
			t.Errorf("%s, %q: got %q, want %q", tc.style, tc.text, got, tc.want)
		}
	}
}

func TestSetHeadRefuses(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct{ content, key, text, want string }{
		"another key":         {"---\nname: ebb\n---\nx\n", "name", "y", "only description"},
		"no front matter":     {"# Ebb\n", "description", "y", "first line is not ---"},
		"no such key":         {"---\nname: ebb\n---\nx\n", "description", "y", "no such key"},
		"one of another map":  {"---\nmeta:\n  description: z\n---\nx\n", "description", "y", "no such key"},
		"in braces":           {"---\n{name: ebb, description: z}\n---\nx\n", "description", "y", "no such key"},
		"a list":              {"---\ndescription: [a]\n---\nx\n", "description", "y", "no text"},
		"a list below":        {"---\ndescription:\n- a\n---\nx\n", "description", "y", "no text"},
		"a number":            {"---\ndescription: 7\n---\nx\n", "description", "y", "no text"},
		"not text":            {"---\ndescription: z\n---\nx\n", "description", "\xff", "UTF-8"},
		"an anchor":           {"---\ndescription: &a z\n---\nx\n", "description", "y", "anchors"},
		"over the head limit": {"---\ndescription: z\n---\nx\n", "description", strings.Repeat("y", maxHead), "no spelling"},
	} {
		if got, err := SetHead([]byte(tc.content), tc.key, tc.text); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: got %q, %v, want %q in the error", name, got, err, tc.want)
		}
	}
	got, err := SetHead([]byte("---\ndescription: z\nwhen_to_use: 'at ebb'\n---\nx\n"), "when_to_use", "at flood")
	if want := "---\ndescription: z\nwhen_to_use: 'at flood'\n---\nx\n"; err != nil || string(got) != want {
		t.Errorf("got %q, %v, want %q", got, err, want)
	}
}

// TestSetDescriptionChangesTheValueOnly puts any text into a file of any style.
func TestSetDescriptionChangesTheValueOnly(t *testing.T) {
	t.Parallel()
	pieces := []string{
		"low", "water", "a", "it's", "\"boat\"", ":", ": ", " #", "#", "- ", "-", "---", " ", "  ", "\n", "\n\n", "\t", "\\", "\\n", ">", "|", "{", "]", "&a", "*a",
		"!t", "%", "@", "`", "~", "null", "true", "0x1", "1e3", "2026-01-01", "\r", "\r\n", "\u00a0", "\u2028", "\ufeff", "\x00", "\x7f", "ü", "—", "🌊", "\U000e0041", "?",
	}
	rapid.Check(t, func(r *rapid.T) {
		s := rapid.SampledFrom(wild()).Draw(r, "file")
		words := rapid.OneOf(rapid.SampledFrom(pieces), rapid.StringMatching(`[a-z]{1,9} `))
		s.check(r, strings.Join(rapid.SliceOfN(words, 0, 40).Draw(r, "text"), ""))
	})
}

// FuzzSetDescription never panics, and where it answers the text reads back and
// the body is the same.
func FuzzSetDescription(f *testing.F) {
	for _, s := range wild() {
		f.Add(s.file(), "Low: water # 'now'\nand \"then\"")
	}
	f.Fuzz(func(t *testing.T, content []byte, text string) {
		got, err := SetDescription(content, text)
		if err != nil {
			return
		}
		if read, err := Description(got); err != nil || read != text {
			t.Fatalf("got %q back, %v, want %q", read, err, text)
		}
		_, was, err := splitSkill(string(content))
		testenv.Must(t, err)
		if _, is, err := splitSkill(string(got)); err != nil || is != was {
			t.Fatalf("the body was %q and is %q, %v", was, is, err)
		}
		if bytesOf(content, '\r') == 0 && bytesOf(got, '\r') != 0 {
			t.Fatalf("carriage returns in a file that had none: %q", got)
		}
	})
}

func bytesOf(content []byte, c byte) int { return strings.Count(string(content), string(c)) }
