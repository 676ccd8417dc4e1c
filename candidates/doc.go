// Package candidates holds one proposed wording change from the moment it is queued to the moment it may cost a
// session: the Candidate with its Edits, the Surface on which wording may move, the lint, the queue order and the
// commit message.
//
// It refuses everything that is not wording: a path off the Surface, a new, deleted or renamed file, a mode, a binary,
// a front-matter key that is not text for the model. It never imports the harness, so no held-out text can reach
// whoever proposes wording through it; the echo check is a function handed in by the caller.
//
// Invariants: every function is a pure function of its arguments (no disk, no clock, no randomness) and leaves its
// inputs as they were; the same input gives the same findings in the same order; a path is compared byte for byte with
// the allow-list and is never interpreted. A proposer is told the Class of a Finding and nothing else, because a
// detail about a held-out text would be a way of asking for it.
package candidates
