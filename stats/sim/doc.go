// Package sim measures the decision procedure on made-up worlds: how often it keeps what it should not, what a
// decision costs, what a whole campaign gains, beside the rules others use. It is where the numbers come from that
// the report and the plan promise.
//
// What is measured is the code that decides: every bet, every factor, every look and every guard is a call into
// package stats, in the order package loop makes them. The package refuses to keep single runs (its memory does not
// grow with their number), to read a clock, and to draw a number that does not come from the seed.
//
// Invariants:
//   - Run number i of a check draws from a generator made of the seed, the check and i alone, and sums are merged in a
//     fixed order, so the same seed gives the same bits however many workers there are.
//   - The procedure never sees a true rate; only outcomes drawn from it.
//   - A bet is placed before the outcomes it is settled with are drawn.
//
// Worlds are assumptions. They say how the procedure behaves where they hold, not how a real model does.
package sim
