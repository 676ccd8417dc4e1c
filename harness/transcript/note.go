package transcript

import (
	"encoding/json"
	"slices"
	"strings"
	"unicode/utf8"

	"loopd/harness"
)

const (
	sessionStart = "SessionStart"
	startupHook  = "SessionStart:startup"
	// NoteLimit is the number of characters above which the CLI hands the
	// model a preview instead of the note.
	NoteLimit = 10_000
	// persistedMark starts the preview that replaces a note which was too long.
	persistedMark = "<persisted-output>"
)

// startHooks lists the answers of hooks that ran when the session started.
// The same hook runs again after a compaction under another name.
func startHooks(t *Transcript) []Hook {
	var out []Hook
	for _, h := range t.Hooks {
		if h.Event == sessionStart && (h.Name == startupHook || h.Name == sessionStart || h.Name == "") {
			out = append(out, h)
		}
	}
	return out
}

// ownHookOnly asks that no hook but the plugin's own ran at the start.
func ownHookOnly(t *Transcript, w Want, _ External) verdict {
	hooks := startHooks(t)
	expected := 1
	if w.Note == harness.NoteNone {
		expected = 0
	}
	if len(hooks) > expected {
		return no(harness.ForeignHook, hooks[len(hooks)-1].Line, "%d SessionStart hooks answered, want %d", len(hooks), expected)
	}
	return verdict{}
}

// noteDelivered asks that the hook's answer is one the CLI hands to the model.
// That the hook ran proves nothing: a wrong envelope is dropped in silence.
func noteDelivered(t *Transcript, w Want, _ External) verdict {
	if w.Note == harness.NoteNone {
		return verdict{}
	}
	hooks := startHooks(t)
	if len(hooks) == 0 {
		return no(harness.HookNotDelivered, 0, "no SessionStart hook answered")
	}
	h := hooks[0]
	switch {
	case spokeBefore(t, h.Line):
		return no(harness.HookNotDelivered, h.Line, "the hook answered after the agent had spoken")
	case h.ExitCode != 0 || h.Outcome != "success":
		return no(harness.HookNotDelivered, h.Line, "the hook ended with exit code %d and outcome %q", h.ExitCode, h.Outcome)
	case w.Silent && strings.TrimSpace(h.Output) == "":
		return verdict{}
	case w.Silent:
		return no(harness.HookNotDelivered, h.Line, "the hook spoke in a project it should pass over")
	}
	text, why := noteText(h.Output, w)
	switch {
	case why != "":
		return no(harness.HookNotDelivered, h.Line, "%s", why)
	case strings.Contains(text, persistedMark) || utf8.RuneCountInString(text) > NoteLimit:
		return no(harness.HookTruncated, h.Line, "the note is over %d characters, the model gets a preview", NoteLimit)
	case (w.Pinned || w.NoteText != "") && !w.isNote(text):
		return no(harness.HookNotDelivered, h.Line, "the hook delivered another text than this wording's note")
	}
	return verdict{}
}

// spokeBefore says whether the agent had said or done something by a line: what
// came later was not in its context.
func spokeBefore(t *Transcript, line int) bool {
	return slices.ContainsFunc(t.Blocks, func(b Block) bool { return b.Message != "" && b.Line < line })
}

// noteExposed asks that the gateway saw note and skill descriptions whole.
func noteExposed(_ *Transcript, _ Want, ext External) verdict {
	if ext.GatewayKnown && !ext.Exposed {
		return no(harness.NotExposed, 0, "no request held the note and every skill description uncut")
	}
	return verdict{}
}

// noteVerified reports whether what the hook delivered holds the wanted text
// whole.
func noteVerified(t *Transcript, w Want) bool {
	want := strings.TrimSpace(w.NoteText)
	if want == "" || w.Silent || w.Note == harness.NoteNone {
		return false
	}
	return noteDelivered(t, w, External{}).class == ""
}

// isNote reports whether a delivered text is the wanted one. A hook may put
// words of its own around a file's; of a computed note every word is the hook's
// own, so that it is compared whole.
func (w Want) isNote(text string) bool {
	wanted := strings.TrimSpace(w.NoteText)
	if w.Note == harness.NoteComputed {
		return strings.TrimSpace(text) == wanted
	}
	return strings.Contains(text, wanted)
}

// Delivered reads what the SessionStart hook of a session's one plugin delivered
// to the model, under the conditions any session is held to. Class and why are empty when
// it delivered something.
func Delivered(t *Transcript, envelope harness.Envelope) (text string, class harness.Class, why string) {
	w := Want{Note: harness.NoteFile, Envelope: envelope, Pinned: true}
	for _, ask := range []func(*Transcript, Want, External) verdict{rightPlugins, ownHookOnly, noteDelivered} {
		if v := ask(t, w, External{}); v.class != "" {
			return "", v.class, v.why
		}
	}
	text, _ = noteText(startHooks(t)[0].Output, w)
	return strings.TrimSpace(text), "", ""
}

// noteText opens the envelope. Without pins a plain text is accepted as well,
// for it reaches the model too.
func noteText(output string, w Want) (text, why string) {
	if strings.TrimSpace(output) == "" {
		return "", "the hook printed nothing"
	}
	isJSON := strings.HasPrefix(strings.TrimSpace(output), "{")
	switch {
	case w.Envelope == harness.EnvelopeText && isJSON, w.Envelope == harness.EnvelopeJSON && !isJSON && w.Pinned:
		return "", "the hook's envelope is not the one the campaign started with"
	case !isJSON:
		return output, ""
	}
	return openEnvelope([]byte(output))
}

// Text returns what the hook wants the model to read: the context inside its
// document, or all it printed where that is no such document.
func (h Hook) Text() string {
	if text, why := noteText(h.Output, Want{}); why == "" {
		return text
	}
	return h.Output
}

func openEnvelope(output []byte) (text, why string) {
	if !json.Valid(output) {
		return "", "the hook printed something else than one JSON document"
	}
	document := value(strings.TrimSpace(string(output))).object()
	specific := document.get("hookSpecificOutput").object()
	note := specific.get("additionalContext")
	switch {
	case specific == nil:
		return "", "the hook's document has no hookSpecificOutput, so the CLI drops it"
	case !specific.get("hookEventName").is(sessionStart):
		return "", "the hook's document names another event, so the CLI drops it"
	case strings.TrimSpace(note.text()) == "":
		return "", "the hook's document has no additionalContext"
	}
	for _, o := range []object{document, specific} {
		if key, twice := o.duplicate(); twice {
			return "", "the hook's document has the key " + key + " twice"
		}
	}
	return note.text(), ""
}
