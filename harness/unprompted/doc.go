// Package unprompted scores one session on two axes: (a) did the agent consult
// the plugin's records without being told to, (b) did it then do or say the
// specific right thing.
//
// Axis a rests on tool calls alone: skills invoked, programs run, paths read or
// written. Commands are read with a shell parser, so that a path in a commit
// message is prose and a path behind `cd docs &&` is not. Axis b rests on the
// main agent's own text and on the project's files. The scenario says what to
// look for; checker.yaml says what counts as consulting and as citing.
//
// A question that the main agent puts with AskUserQuestion counts as asking,
// whatever became of the call, for without a user nobody answers it. Where a
// judge reads the final message, it reads the questions with it, marked as
// asked; a session that asked is not silent; and asking to have a decision
// recorded is proposing in prose. It is no text: it neither cites nor says, and
// what it would have cited or said is a near miss. A subagent's questions count
// for nothing.
//
// The package asks no model. When only a judge can settle axis b, Evaluate
// returns the Question and is called again with the answer. It knows nothing of
// arms, candidates or campaigns, and whether the session is evidence at all is
// decided before, by transcript.Validity. Its invariants:
//
//   - Prose never consults, and nothing but the main agent's own prose cites.
//   - A call that failed, was denied or was never answered is an attempt.
//   - Every verdict points at what it rests on and at what nearly counted.
package unprompted
