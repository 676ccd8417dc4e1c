// Package loop is the campaign as a state machine: events, the state they add
// up to, what comes next and which verdict follows.
//
// State.Apply, Next and Decide are pure: the same events give the same state,
// the same next step and the same verdict, bit for bit, on any machine. Loop
// drives them: one goroutine owns ledger and state, appends an event before it
// applies it, and hands specs to an Executor. The package launches nothing,
// reads no clock of its own and draws no randomness but from the campaign's
// recorded seed.
//
// Invariants:
//   - A slot counts at most once, and an invalid trial never counts.
//   - The bets of a round are recorded before its first session is handed out.
//   - A verdict is only reached on completed rounds and on a verified seal.
//   - After a halt nothing is started and nothing is scored.
package loop
