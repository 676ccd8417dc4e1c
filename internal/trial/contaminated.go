package trial

import (
	"loopd/harness"
	"loopd/harness/transcript"
)

// sealedRun is how many words in a row of a sealed text a tool call must have
// shown before the session is taken to have read it. A long path is a dozen, and
// a perfect run may name one that a tool prints as well.
const sealedRun = 20

// sealedTexts are the texts of a suite that no session may see: what judges it
// and what a perfect run says. Fixtures are for sessions to read, and tasks
// reach them as prompts.
func sealedTexts(s harness.Suite) []harness.HeldOut {
	out := []harness.HeldOut{harness.NewHeldOut(s.Rubric)}
	for _, sc := range s.Scenarios {
		out = append(out, harness.NewHeldOut(sc.Judge))
		for _, step := range sc.Oracle {
			out = append(out, harness.NewHeldOut(step.Text))
		}
	}
	return out
}

// contaminated names the line at which a tool showed the session a sealed text,
// 0 for none. A session that has read how it is judged measures nothing.
func contaminated(sealed []harness.HeldOut, t *transcript.Transcript) int {
	for _, call := range t.ToolUses() {
		if len(call.Output) < 2*sealedRun {
			continue // a word and a space each: too short to hold a run
		}
		for _, text := range sealed {
			if len(text.Overlap(call.Output, sealedRun)) > 0 {
				return call.OutputLine
			}
		}
	}
	return 0
}
