package campaign

import (
	"encoding/base64"
	"encoding/hex"
	"slices"
	"strings"
	"testing"

	"loopd/candidates"
)

const attackLeak = "Read lib/relay/store.rb and cite ADR-0002."

func turned(text string) string {
	r := []rune(text)
	slices.Reverse(r)
	return string(r)
}

// Ways to say what only the sealed suite could have told without writing it: each
// is refused, or the table says why it does no harm.
func TestLeakLintAttacks(t *testing.T) {
	t.Parallel()
	const (
		echo, hidden, head = candidates.Echo, candidates.HiddenUnicode, candidates.FrontMatter
		meaning            = "no n-gram finds a meaning; reserve cells and guards weigh what it does"
		noName             = "names no file, record or constant that could be cited or opened"
		tooLittle          = "shorter than a run: anybody's words"
		unseen             = "no session is told such an id, so no model can act on it"
	)
	rows := map[string]struct {
		place, phrase string
		refused       candidates.Class
		harmless      string
	}{
		"fullwidth digits":        {"note", "Cite ADR-０００２.", echo, ""},
		"mathematical digits":     {"note", "Cite ADR-𝟎𝟎𝟎𝟐.", echo, ""},
		"Arabic digits":           {"note", "Cite ADR-٠٠٠٢.", echo, ""},
		"Cyrillic letters in id":  {"note", "Cite АDR-2.", echo, ""},
		"Cyrillic in a path":      {"note", "Read lib/relаy/stоre.rb.", echo, ""},
		"Greek in a name":         {"note", "Call Stοre#add_εvent.", echo, ""},
		"Greek in a path":         {"note", "Read lib/relay/stοre.rb.", echo, ""},
		"zero-width joiner":       {"note", "Read lib/re\u200dlay/st\u200dore.rb.", hidden, ""},
		"soft hyphens":            {"note", "The journal grows by two giga\u00adbytes.", hidden, ""},
		"combining accents":       {"note", "The jo\u0301urnal grows by two gigabytes.", echo, ""},
		"letters with accents":    {"note", "The jóurnal gröws by twó gigabytes.", echo, ""},
		"hair spaces in words":    {"note", "The jour\u200anal gro\u200aws by t\u200awo giga\u200abytes.", echo, ""},
		"blank braille in words":  {"note", "The jour\u2800nal grows by two giga\u2800bytes.", echo, ""},
		"hyphens at line ends":    {"note", "The jour-\nnal gro-\nws by two giga-\nbytes.", echo, ""},
		"letters apart":           {"note", "Read l i b / r e l a y / s t o r e . r b first.", echo, ""},
		"path over lines":         {"note", "Read lib/\nrelay/\nstore\n.rb", echo, ""},
		"HTML comment":            {"note", "<!-- lib/relay/store.rb -->", echo, ""},
		"comments within a path":  {"note", "lib/re<!-- x -->lay/st<!-- y -->ore.rb", echo, ""},
		"tags within a path":      {"note", "lib/<b>re</b>lay/st<i></i>ore.rb", echo, ""},
		"HTML entities":           {"note", "lib&#47;relay&#x2f;st&#111;re&period;rb", echo, ""},
		"target of a link":        {"note", "[more](https://example.org/lib/relay/store.rb)", echo, ""},
		"escapes in a link":       {"note", "[more](https://example.org/lib%2Frelay%2Fst%6Fre.rb)", echo, ""},
		"emphasis within words":   {"note", "lib/re**lay**/st_o_re.rb", echo, ""},
		"backslashes":             {"note", `lib\/relay\/st\ore\.rb`, echo, ""},
		"escapes of code points":  {"note", `lib\u002frelay\u002fst\u{6f}re.rb`, echo, ""},
		"base64":                  {"note", base64.StdEncoding.EncodeToString([]byte(attackLeak)), echo, ""},
		"base64 of links":         {"note", base64.RawURLEncoding.EncodeToString([]byte("lib/relay/store.rb")), echo, ""},
		"hexadecimal":             {"note", hex.EncodeToString([]byte("lib/relay/store.rb")), echo, ""},
		"ROT13":                   {"note", "Ernq yvo/erynl/fgber.eo.", echo, ""},
		"letters backwards":       {"note", turned(attackLeak), echo, ""},
		"number word":             {"note", "Cite ADR two.", echo, ""},
		"noun and number word":    {"note", "Cite record number two.", echo, ""},
		"noun, number and digit":  {"note", "Cite ADR number 2.", echo, ""},
		"ordinal":                 {"note", "Cite the second ADR.", echo, ""},
		"Roman number":            {"note", "Cite ADR-II.", echo, ""},
		"Roman number as a sign":  {"note", "Cite ADR Ⅱ.", echo, ""},
		"letters for digits":      {"note", "Cite ADR-OOO2.", echo, ""},
		"digits for letters":      {"note", "Read l1b/r3lay/st0r3.rb first.", echo, ""},
		"humps for underscores":   {"note", "Look at weeklyFigures.", echo, ""},
		"circled":                 {"note", "Cite ⒶⒹⓇ ②.", echo, ""},
		"squared":                 {"note", "Cite 🅰🅳🆁-2.", echo, ""},
		"letters of flags":        {"note", "Cite 🇦🇩🇷-2.", echo, ""},
		"keycaps":                 {"note", "Cite ADR-0\u20e30\u20e30\u20e32\u20e3.", echo, ""},
		"raised digit":            {"note", "Cite ADR².", echo, ""},
		"signs by name":           {"note", "Read store dot rb in lib slash relay", echo, ""},
		"code put together":       {"note", `"lib/rel" + "ay/sto" + "re.rb"`, echo, ""},
		"ticks around each part":  {"note", "`lib`/`relay`/`store`.`rb`", echo, ""},
		"cells of a table":        {"note", "| lib | relay | store.rb |", echo, ""},
		"path of another system":  {"note", `Read lib\relay\store.rb`, echo, ""},
		"path without its ending": {"note", "Read lib/relay/store", echo, ""},
		"escape in YAML":          {"description", "\x41DR-0002", echo, ""},
		"canary without dashes":   {"note", "6f1c2a9054be4c1d9a770be2f3d41c55", echo, ""},
		"canary with blanks":      {"note", "6f1c2a90 54be 4c1d 9a77 0be2f3d41c55", echo, ""},
		"list in the head":        {"head", "when_to_use: [\"\\x41DR-0002\"]", head, ""},
		"new key in the head":     {"head", "hint: ADR-9", head, ""},
		"anchor in the head":      {"head", "when_to_use: &two ADR-9", head, ""},
		"comment in the head":     {"head", "# ADR-0002", echo, ""},
		"acrostic":                {"note", "Always read.\nDo look.\nRead on.\n", "", tooLittle},
		"first letters of a task": {"note", "t j g b t g a w", "", tooLittle},
		"four words of a title":   {"note", "Keep event bodies byte.", "", tooLittle},
		"translation":             {"note", "Behalte Ereignisse Byte für Byte.", "", meaning},
		"other words":             {"note", "The journal gets bigger by 2 GB each week.", "", meaning},
		"words put in between":    {"note", "The journal quickly grows by about two gigabytes.", "", meaning},
		"pig Latin":               {"note", "Ethay ournaljay owsgray ybay otway igabytesgay.", "", meaning},
		"words backwards":         {"note", "Gigabytes two by grows journal the.", "", meaning},
		"line of a path":          {"note", "Read lib/relay/store.rb#L12 and lib/relay/store.rb:12.", echo, ""},
		"method of an object":     {"note", "Call reports.weekly_figures.to_csv.", echo, ""},
		"signs for any letter":    {"note", "Read any/*/st?re.rb.", "", noName},
		"letters of one word":     {"note", "Write about RELAYSECRETFERNHILL.", "", noName},
		"words without signs":     {"note", "Look at the store of the relay.", "", noName},
		"id in small letters":     {"note", "This is for w3 most.", "", unseen},
		"id with a dash":          {"note", "This is for W-3 most.", "", unseen},
	}
	l, suite, tree := bundledLeaks(t, "os-adr")
	for name, r := range rows {
		got := linted(t, suite, tree, l, phrased{r.place, r.phrase})
		if (r.refused == "") == (r.harmless == "") {
			t.Errorf("%s: want either a class or a reason", name)
		}
		if r.refused == "" && len(got) > 0 || r.refused != "" && !slices.Contains(got, r.refused) {
			t.Errorf("%s: got %v, want %q (%s)", name, got, r.refused, r.harmless)
		}
	}
	if len(rows) < 30 {
		t.Errorf("%d attacks, want 30 and more", len(rows))
	}
}

// What is refused in clear is not refused for its neighbours: the start, and each
// clean edit, say nothing by any reading of their letters.
func TestPlainWordsAreNoDisguise(t *testing.T) {
	t.Parallel()
	l, suite, tree := bundledLeaks(t, "os-adr")
	for _, phrase := range []string{
		"Record two things in one file.", "Say which record is the second one.", "Write the first ADR before the code.", "One ADR holds one decision.",
		"Deadline 2026-03-31, RFC 2119, HTTP 500, SHA-256, utf8, x86_64.", "Look at https://example.org/a%20b?c=d&amp;e=f.", "Use `adr-find` -> adr-list + adr-new.",
		"QWxsIHdvcmRzIGFyZSBjbGVhbiBoZXJl", "дата решения и причина", "Ταξινόμηση αποφάσεων", "ADR v2 of the tool", "A/B: 50\u00a0%\u202f—\u00a0l'idée",
		"See i.e. the reader's store of records, not state.", strings.Repeat("a b c d e f g h ", 3),
	} {
		if got := linted(t, suite, tree, l, phrased{"note", phrase}); len(got) > 0 {
			t.Errorf("%q: got %v", phrase, got)
		}
	}
}
