// Package mutants shows that the tests of the rules would notice if a rule were
// gone: it switches off one condition, one row of a table or one alternative of
// a pattern at a time and wants a test to fail.
//
// All mutants of a package are built into one test binary. A condition c is
// compiled as mutant(7, 8, c), which is true when LOOPD_MUTANT is 7 and false
// when it is 8, so that a mutant costs one run of the quick table tests and no
// compilation. The everyday test runs a sample that the text of the rules
// chooses, so that it is the same for one commit and moves with every change of
// a rule; "make nightly" runs all of them, and those of the two evaluators.
//
// A survivor is a mutant no test tells from the original. Each must be listed
// in testdata/survivors.txt with the reason why no input could tell; an entry
// that names no mutant, or one that is killed, is an error too.
//
// The package is a folder of its own because it works on several packages alike
// and belongs to none. It holds tests alone: nothing imports it, and it never
// writes below the checkout.
package mutants
