package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// Whatever a session said, the sheet it is put on can be read back: no message
// can end its block, and no label is another item's.
func TestSheetHoldsAnyMessage(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), sheetFile)
	odd := rapid.SampledFrom([]string{
		"  indented\nthen not", "\ttab first\n\t- x", "label: YES\n- number: 9", "---\n...", "# no comment", "\r\nold\r", "|", "> quoted", "\ufeffmark", "\x00\x1b[2J",
		"yes", "1e9", "'", "\"", "key: ffff", "a\n\n\n", "\u2028x\u0085y", "%TAG", "&a *b !c", "\xff\xfe", "- a\n- b", "{a: [", "",
	})
	hold := func(t check, messages []string) {
		out := sheet{Campaign: "c"}
		for i, m := range messages {
			out.Items = append(out.Items, sheetItem{Number: i + 1, Key: strings.Repeat("0", 15) + string('0'+rune(i)), Question: "Does it?", Message: legible(m)})
			if i%2 == 0 {
				out.Items[i].Label = "YES"
			}
		}
		data, err := out.bytes()
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		labels, err := readLabels(path)
		if err != nil {
			t.Fatalf("%v in\n%s", err, data)
		}
		for i, item := range out.Items {
			if yes, ok := labels[item.Key]; ok != (i%2 == 0) || yes != ok {
				t.Fatalf("item %d: got %v, %v in\n%s", i+1, yes, ok, data)
			}
		}
	}
	hold(t, []string{"? A", "? - b", ": c", "?"}) // what the YAML writer would leave without quotes
	any := rapid.OneOf(rapid.String(), odd, rapid.Map(rapid.SliceOfN(odd, 1, 4), func(l []string) string { return strings.Join(l, "\n") }))
	rapid.Check(t, func(t *rapid.T) { hold(t, rapid.SliceOfN(any, 1, 5).Draw(t, "messages")) })
}

// check is what a test and a property have in common.
type check interface {
	Fatal(args ...any)
	Fatalf(format string, args ...any)
}
