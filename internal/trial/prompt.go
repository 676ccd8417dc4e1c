package trial

import (
	"crypto/rand"
	"strings"

	"loopd/harness/unprompted"
)

// maxJudged is how much of a final message a judge is shown, in bytes.
const maxJudged = 20_000

// JudgePrompt is what a judge reads: the rubric, the question, and the message
// as data between random marker lines, which the message cannot guess and so
// cannot close.
func JudgePrompt(rubric string, q unprompted.Question) string {
	marker := "----- " + rand.Text() + " -----"
	message := shown(q.Message)
	return strings.Join([]string{rubric, "Question: " + q.Text, marker, message, marker, "Answer YES or NO.", ""}, "\n")
}

// shown is the part of a message that a judge sees.
func shown(message string) string {
	if len(message) <= maxJudged {
		return message
	}
	return strings.ToValidUTF8(message[:maxJudged], "") // no half of a character
}
