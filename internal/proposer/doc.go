// Package proposer asks those who propose wording and are no part of this
// program: a command, and the agent CLI in a session without tools. Each is told
// a brief as JSON on standard input and answers with JSON on standard output, by
// the schemas of candidates/propose.
//
// It decides nothing: what comes back is parsed by candidates/propose and goes
// through the lint like any candidate. It refuses to hand on more than the brief:
// a command gets an empty directory, the names of Environ and nothing else of
// loopd's environment; a session gets a directory with the wording alone, no tool
// and a dummy key. Invariants: an ask ends within its time and leaves no process;
// an answer has a bound; an error repeats nothing of what was said.
package proposer
