// Package power is the edge to the machine's own power: what it runs on, and
// keeping it awake while a campaign runs.
//
// It decides nothing: whether a battery pauses a campaign is for others. What it
// cannot read counts as no battery, for a night is not lost to a doubt about the
// mains. Nothing is set on the machine; what keeps it awake is a child process
// that ends with loopd, also with one that was killed.
package power
