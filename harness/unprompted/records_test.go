package unprompted

import (
	"slices"
	"strings"
	"testing"

	"loopd/harness"
)

// What counts among the new files, one rule at a time.
func TestNewRecords(t *testing.T) {
	plain := checker()
	plain.Records.File = "*.md"
	body := "Every crossing is paid with a printed slip."
	for _, c := range []struct {
		name       string
		checker    harness.Checker
		start, end map[string]string
		glob       string
		fresh      string
		near       string
	}{
		{"a record of another folder sets no number", checker(), map[string]string{"lib/adr/0009-x.md": "x"}, map[string]string{"docs/adr/0005-paper.md": topical}, "docs/adr/*.md", "docs/adr/0005-paper.md", ""},
		{"another kind of file sets no number", checker(), map[string]string{"docs/adr/0009.txt": "x"}, map[string]string{"docs/adr/0005-paper.md": topical}, "docs/adr/*.md", "docs/adr/0005-paper.md", ""},
		{"a file without a number is no record", plain, nil, map[string]string{"docs/adr/notes.md": body}, "docs/adr/*.md", "docs/adr/notes.md", ""},
		{"the same name while the old one stays", checker(), nil, map[string]string{"docs/adr/0005-night-rate.md": topical}, "docs/adr/*.md", "docs/adr/0005-night-rate.md", ""},
		{"another name where an old one went", checker(), nil, map[string]string{"docs/adr/0004-night-rate.md": "", "docs/adr/0005-paper.md": topical}, "docs/adr/*.md", "docs/adr/0005-paper.md", ""},
		{"a renamed record", checker(), nil, map[string]string{"docs/adr/0004-night-rate.md": "", "docs/adr/0005-night-rate.md": topical}, "docs/adr/*.md", "", "copy of an old record: docs/adr/0005-night-rate.md"},
		{"a file that is no record", checker(), nil, map[string]string{"lib/boat.rb": "x"}, "lib/*.rb", "lib/boat.rb", ""},
		{"a file that is no record, called like one", checker(), nil, map[string]string{"lib/0001-flat-fare.md": "x"}, "lib/*", "lib/0001-flat-fare.md", ""},
		{"a record without a word", checker(), nil, map[string]string{"docs/adr/0005-paper.md": "# 5"}, "docs/adr/*.md", "docs/adr/0005-paper.md", ""},
		{"half of an old record's lines", checker(), map[string]string{"docs/adr/0001-flat-fare.md": "a\nb\nc\nd\ne\n"}, map[string]string{"docs/adr/0001-flat-fare.md": "a\nb\nc\nd\ne\n", "docs/adr/0005-p.md": "a\nb\nc\nx\ny\n"}, "docs/adr/*.md", "docs/adr/0005-p.md", ""},
		{"four fifths of an old record's lines", checker(), map[string]string{"docs/adr/0001-flat-fare.md": "a\nb\nc\nd\ne\n"}, map[string]string{"docs/adr/0001-flat-fare.md": "a\nb\nc\nd\ne\n", "docs/adr/0005-p.md": "a\nb\nc\nd\ny\n"}, "docs/adr/*.md", "", "copy of an old record: docs/adr/0005-p.md"},
	} {
		before := with(c.start)
		after := with(c.start)
		for p, s := range c.end {
			if delete(after, p); s != "" {
				after[p] = text(s)
			}
		}
		s := &session{Input: Input{Checker: c.checker, Start: before, End: after}}
		fresh, near := s.newFiles(c.glob)
		if strings.Join(fresh, " ") != c.fresh || whats(near) != c.near {
			t.Errorf("%s: got %v, near %v", c.name, fresh, near)
		}
	}
}

func TestProse(t *testing.T) {
	for in, want := range map[string][]string{
		"---\nid: 1\n---\n\n# 1. Title\n\nA line of 7.\n":     {"A line of ."},
		"---\r\nid: 1\r\n---\r\nA line.\r\n":                  {"A line."},
		"---\nno end\nA line.\n":                              {"---", "no end", "A line."},
		"A line.\n---\nid: x\n---\n":                          {"A line.", "---", "id: x", "---"},
		"  12  \n\tA line \n":                                 {"A line"},
		"## Heading\ntext # with a mark\n---\nafter a rule\n": {"text # with a mark", "---", "after a rule"},
	} {
		if got := prose(in); !slices.Equal(got, want) {
			t.Errorf("%q: got %q, want %q", in, got, want)
		}
	}
}

func TestTopics(t *testing.T) {
	for _, c := range []struct {
		text  string
		words []string
		want  bool
	}{
		{"a pass", []string{"pass"}, true}, {"two passes", []string{"pass"}, true}, {"tickets", []string{"ticket"}, true},
		{"compass", []string{"pass"}, false}, {"passed", []string{"pass"}, false}, {"ISO-8601", []string{"iso 8601"}, true},
		{"ISO-8601", []string{"iso 8602"}, false}, {"Card!", []string{"paper", "card"}, true},
	} {
		if got := onTopic(c.text, [][]string{c.words}); got != c.want {
			t.Errorf("%q %v: got %v, want %v", c.text, c.words, got, c.want)
		}
	}
}

func TestDiffs(t *testing.T) {
	for _, c := range []struct {
		name  string
		want  harness.Diff
		end   harness.Tree
		where string
	}{
		{"any change", harness.Diff{Path: "lib/*"}, with(map[string]string{"lib/ferry.rb": "x"}), "changed lib/ferry.rb: "},
		{"no change", harness.Diff{Path: "lib/*"}, start(), ""},
		{"another file", harness.Diff{Path: "test/*"}, with(map[string]string{"lib/ferry.rb": "x"}), ""},
		{"new file", harness.Diff{Path: "test/*", Adds: "x"}, with(map[string]string{"test/a": "x"}), "changed test/a: x"},
		{"removed file", harness.Diff{Path: "lib/*", Removes: "FARE"}, with(map[string]string{"lib/ferry.rb": ""}), "changed lib/ferry.rb: FARE = 3"},
		{"added and removed", harness.Diff{Path: "lib/*", Adds: "4", Removes: "3"}, with(map[string]string{"lib/ferry.rb": "FARE = 4\nBOATS = 2\n"}), "changed lib/ferry.rb: FARE = 4 FARE = 3"},
		{"a pattern that is none", harness.Diff{Path: "lib/*", Adds: "["}, with(map[string]string{"lib/ferry.rb": "["}), ""},
	} {
		s := &session{Input: Input{Start: start(), End: c.end}}
		if where, ok := s.diff(c.want); where != c.where || ok != (c.where != "") {
			t.Errorf("%s: got %q %v, want %q", c.name, where, ok, c.where)
		}
	}
}

func TestEvidenceOfFiles(t *testing.T) {
	b := evaluate(t, writing(), streamOf(say("Done.")), with(map[string]string{"docs/adr/0005-paper-tickets.md": topical})).Result.Check(harness.AxisB)
	if whats(b.Evidence) != "created docs/adr/0005-paper-tickets.md" {
		t.Errorf("got %v", b.Evidence)
	}
	sc := consulting()
	sc.Expect.B = []harness.Assertion{{Changed: &harness.Diff{Path: "lib/*", Adds: "9"}}}
	b = evaluate(t, sc, streamOf(say("Done.")), with(map[string]string{"lib/ferry.rb": "FARE = 9\n"})).Result.Check(harness.AxisB)
	if whats(b.Evidence) != "changed lib/ferry.rb: FARE = 9" {
		t.Errorf("got %v", b.Evidence)
	}
}
