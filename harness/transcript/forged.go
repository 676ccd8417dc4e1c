package transcript

import (
	"maps"
	"slices"
	"strings"

	"loopd/harness"
)

// notForged asks that the stream shows what the gateway served: nothing more,
// and of what was served whole nothing less. What no answer of the API names,
// the results of tools and the result of the session, is held to how often it
// can occur.
func notForged(t *Transcript, _ Want, ext External) verdict {
	if !ext.GatewayKnown || ext.Served == nil {
		return verdict{}
	}
	for _, forged := range []verdict{unserved(t, ext), answeredTwice(t), resultTwice(t), resultUnsaid(t)} {
		if forged.class != "" {
			return forged
		}
	}
	return verdict{}
}

// unserved compares ids and numbers of blocks. Message ids are asked in one
// direction only, because requests of the CLI's own show no message.
func unserved(t *Transcript, ext External) verdict {
	shown, blocks := make(map[string]bool), make(map[string]int)
	for _, b := range t.Blocks {
		if b.Kind == ToolResult || b.Kind == Injected {
			continue
		}
		if b.Message == "" || b.Kind == ToolUse && b.ID == "" {
			return no(harness.Forged, b.Line, "a block without the id every served one has")
		}
		for _, id := range []string{b.Message, b.ID} {
			if _, served := ext.Served[id]; id != "" && !served {
				return no(harness.Forged, b.Line, "%s was never served in this trial", id)
			}
			shown[id] = true
		}
		if blocks[b.Message]++; ext.Blocks != nil && blocks[b.Message] > ext.Blocks[b.Message] {
			return no(harness.Forged, b.Line, "%s shows more blocks than were served", b.Message)
		}
	}
	if ext.LimitTime {
		return verdict{}
	}
	for _, id := range slices.Sorted(maps.Keys(ext.Served)) {
		if whole := ext.Served[id]; whole && strings.HasPrefix(id, "toolu_") && !shown[id] {
			return no(harness.Forged, 0, "%s was served and the stream does not show it", id)
		}
	}
	return verdict{}
}

// answeredTwice finds a tool call with two results. The CLI gives each call
// one; a line written before it would be taken for what the tool did.
func answeredTwice(t *Transcript) verdict {
	answered := make(map[string]bool)
	for _, b := range t.Blocks {
		if b.Kind != ToolResult || b.ID == "" {
			continue
		}
		if answered[b.ID] {
			return no(harness.Forged, b.Line, "%s has two results", b.ID)
		}
		answered[b.ID] = true
	}
	return verdict{}
}

// resultTwice finds a result too many: each ends a turn, and each turn begins
// with an init line. As the last result decides, one more line would.
func resultTwice(t *Transcript) verdict {
	for i, r := range t.Results {
		begun := 0
		for _, in := range t.Inits {
			if in.Line < r.Line {
				begun++
			}
		}
		if i >= begun {
			return no(harness.Forged, r.Line, "result %d of a session with %d turns", i+1, begun)
		}
	}
	return verdict{}
}

// resultUnsaid finds a result that its turn does not bear out: the main agent
// said nothing in it, or something else at its end. An empty text is what the
// CLI prints when a turn ends without one.
func resultUnsaid(t *Transcript) verdict {
	before := 0
	for _, r := range t.Results {
		said, spoke := "", false
		for _, b := range t.Blocks {
			if b.Line <= before || b.Line >= r.Line || b.Parent != "" || b.Kind == ToolResult || b.Kind == Injected {
				continue
			}
			spoke = true
			if b.Kind == Text {
				said = b.Text
			}
		}
		before = r.Line
		text := strings.TrimSpace(r.Text)
		switch {
		case r.IsError || r.Subtype != "success":
		case !spoke:
			return no(harness.Forged, r.Line, "a result of a turn in which the agent said nothing")
		case text != "" && text != strings.TrimSpace(said):
			return no(harness.Forged, r.Line, "the result holds another text than the agent's last")
		}
	}
	return verdict{}
}
