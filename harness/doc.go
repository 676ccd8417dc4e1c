// Package harness is the vocabulary every measurement shares: scenarios and
// their assertions, cells, slots, specs, trials, checks and results.
//
// It holds values and the readers of a suite's files. It launches nothing,
// scores nothing and decides nothing. Two invariants are kept by its types:
// the text of a held-out task cannot be printed, logged or marshalled
// (HeldOut), and an outcome is one of a closed set in which an instrument that
// broke is never a failure of the agent (Outcome, Class).
package harness
