// Package propose is about whoever proposes the next wording change: the Brief it is told, the answer it gives, and the
// model that needs no account, Builtin, which changes the wording by fixed operators.
//
// It refuses to know how anything is measured. A Brief is plain values; no scenario, no task, no title and no id of a
// scenario has a place in it, and the package never imports the harness, directly or through another. It starts no
// process and asks nothing over the network: models that do live in internal/app.
//
// Invariants: every function is a pure function of its arguments; a Refusal says in our own words what was wrong and
// repeats nothing of the answer; the same seed and number of the ask give the same candidate of Builtin, whose wording
// was never tried before and passes the lint.
package propose
