// Package stats decides how much the trials of a candidate say about it: intervals for rates, the e-process
// that says when a candidate may be kept, the futility rule that says when to stop paying for it, the guards
// that look at single cells, and the exact tests that compare two arms of the instrument with each other.
//
// Everything is plain numbers in and values out. The package refuses to look anything up, to draw a random
// number, to read a clock, and to fail: an input that makes no sense (a negative count, a weight that is not a
// number) places no bet, clears no guard and returns its doubt as a warning beside the value. When in doubt a
// candidate is not kept.
//
// Invariants:
//   - Bets are a function of what earlier rounds showed; nothing of the round they are placed for goes in.
//   - Under "the weighted mean of the cells does not rise by more than D0" the evidence is a nonnegative
//     supermartingale, so it reaches 1/alpha with a chance of at most alpha however often one looks.
//   - Every factor of a round is above zero.
//   - The same input gives the same bits: sums run in cell order and no product is fused into a sum.
//
// The inference is conditional on the cells given. It says nothing about scenarios outside them.
package stats
