package harness

import (
	"bytes"
	"encoding/gob"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"pgregory.net/rapid"
)

const secret = "please shorten the window before the parcels are picked up again"

func TestHeldOutCannotBePrinted(t *testing.T) { // req 40
	h := NewHeldOut(secret)
	type holder struct {
		Task  HeldOut
		Inner *HeldOut
		own   HeldOut
		list  []HeldOut
		named map[string]HeldOut
	}
	v := holder{h, &h, h, []HeldOut{h}, map[string]HeldOut{"a": h}}
	var log bytes.Buffer
	slog.New(slog.NewTextHandler(&log, nil)).Info("m", "task", h, "holder", v)
	texts := []string{h.String(), h.GoString(), log.String(), fmt.Sprint(v), fmt.Errorf("run: %v", h).Error()}
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "%d", "%T", "%20.3s"} {
		texts = append(texts, fmt.Sprintf(verb, h), fmt.Sprintf(verb, v))
	}
	for _, text := range texts {
		if strings.Contains(text, "parcels") || strings.Contains(text, fmt.Sprintf("%x", "parcels")) {
			t.Errorf("held-out text was printed: %.60q", text)
		}
	}
}

func TestHeldOutCannotBeMarshalled(t *testing.T) { // req 40
	h := NewHeldOut(secret)
	if out, err := json.Marshal(struct{ T HeldOut }{h}); !errors.Is(err, ErrHeldOut) || out != nil {
		t.Errorf("json: got %q, %v", out, err)
	}
	if out, err := yaml.Marshal(map[string]HeldOut{"t": h}); err == nil || strings.Contains(string(out), "parcels") {
		t.Errorf("yaml: got %q, %v", out, err)
	}
	var b bytes.Buffer
	if err := gob.NewEncoder(&b).Encode(h); err == nil || strings.Contains(b.String(), "parcels") {
		t.Errorf("gob: got %q, %v", b.String(), err)
	}
	if out, err := h.MarshalText(); !errors.Is(err, ErrHeldOut) || out != nil {
		t.Errorf("text: got %q, %v", out, err)
	}
}

func TestOverlap(t *testing.T) {
	h := NewHeldOut(secret)
	for _, tc := range []struct {
		text string
		want []string
	}{
		{"nothing alike here at all", nil},
		{"Shorten the\n  WINDOW, before... the day", []string{"Shorten the\n  WINDOW, before... the"}},
		{"x shorten the window before the parcels y", []string{"shorten the window before the parcels"}},
		{"shorten the window", nil},
	} {
		var got []string
		for _, sp := range h.Overlap(tc.text, 5) {
			got = append(got, tc.text[sp.Start:sp.End])
		}
		if fmt.Sprint(got) != fmt.Sprint(tc.want) {
			t.Errorf("%q: got %q, want %q", tc.text, got, tc.want)
		}
	}
	if got := h.Overlap(secret, 0); got != nil {
		t.Errorf("runs of no words overlap: %v", got)
	}
}

// Every five-word run of the text is found wherever it is put, and the spans
// stay within the other text.
func TestOverlapFindsEveryRun(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		own := strings.Fields(secret)
		at := rapid.IntRange(0, len(own)-5).Draw(t, "at")
		text := rapid.StringMatching(`[a-z ]{0,20}`).Draw(t, "before") + " | " + strings.Join(own[at:at+5], " ") + " | " +
			rapid.String().Draw(t, "after")
		spans := NewHeldOut(secret).Overlap(text, 5)
		if len(spans) == 0 {
			t.Fatalf("no overlap found in %q", text)
		}
		for _, sp := range spans {
			if sp.Start < 0 || sp.End > len(text) || sp.Start >= sp.End {
				t.Fatalf("span %v outside %d bytes", sp, len(text))
			}
		}
	})
}
