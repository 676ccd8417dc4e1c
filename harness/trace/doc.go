// Package trace holds saved traces of a diagnosis agent against cases with fixed
// rules: which tools must appear, what the answer must and must not say, which
// verdicts are right, and whether the chain from executor to answer is closed.
//
// It reads bytes and returns results. It runs no agent, asks no model and needs
// no service, so the same trace always comes to the same result. A trace that
// cannot be read fails by name and never ends a run: nothing in it is fatal. What
// a check would look at and is not there makes the check not_run, never a pass.
package trace
