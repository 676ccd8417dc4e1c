package trial

import (
	"loopd/harness"
	"loopd/harness/transcript"
)

// sealedRun is how many words in a row of a sealed text a tool call must have
// shown before the session is taken to have read it. A long path is a dozen, and
// a perfect run may name one that a tool prints as well.
const sealedRun = 20

// SealedTexts are the texts of a suite that no session may see: what judges it
// and what a perfect run says. Fixtures are for sessions to read, and tasks
// reach them as prompts.
func SealedTexts(s harness.Suite) *harness.Runs {
	out := []harness.HeldOut{harness.NewHeldOut(s.Rubric)}
	for _, sc := range s.Scenarios {
		out = append(out, harness.NewHeldOut(sc.Judge))
		for _, step := range sc.Oracle {
			out = append(out, harness.NewHeldOut(step.Text))
		}
	}
	for _, g := range s.Gold {
		out = append(out, harness.NewHeldOut(g.Message))
	}
	return harness.NewRuns(out, sealedRun)
}

// contaminated names the line at which a tool showed the session a sealed text,
// 0 for none. A session that has read how it is judged measures nothing.
func contaminated(sealed *harness.Runs, t *transcript.Transcript) int {
	for _, call := range t.ToolUses() {
		if sealed.In(call.Output) {
			return call.OutputLine
		}
	}
	return 0
}
