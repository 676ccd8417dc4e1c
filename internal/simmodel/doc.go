// Package simmodel is a simulated model behind the Messages API, for
// rehearsals and tests on machines without an account or a key.
//
// A session is registered under the dummy credential of one trial, with its
// scenario, cell and draw. The model reads the wording it was actually sent
// (hook note and skill descriptions), turns it into a pass probability that is
// a known pure function (Wording.Rate), and plays the scenario's oracle when
// the draw lies below it, its nop otherwise: one step is one assistant turn.
//
// It refuses to look at the prompt to know the scenario, to hold state beyond
// the count of a session's requests, and to draw random numbers of its own.
// Invariants: the turn follows from the number of assistant messages in the
// request, so retries and parallel sessions are safe; the decision follows
// from the messages before the first assistant message, so it is the same in
// every turn; ids are unique per session, turn and block.
package simmodel
