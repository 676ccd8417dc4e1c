// Package rehearsal runs a whole campaign with no account and no key: the real
// loop, git, seal, hooks, sandboxes, checker, statistics and reports, and a
// simulated model whose pass rates are a known function of the wording it was
// sent.
//
// The candidates and faults are planted and their right verdicts are a set
// fixed by their kind before any session; the result says planned against
// actual. It proves the plumbing and the error rate, never that wording gets
// better, and everything it writes is marked simulated. It works in a directory
// of its own and leaves the caller's repositories alone.
package rehearsal
