// Package gateway stands between sessions and the Messages API, on loopback. A
// session knows a dummy key only; the gateway swaps it for the real credential
// and writes down what passed: whether the wording under test was in a request
// whole, which ids and models were served, and when the session last did
// something.
//
// It decides nothing about a trial, retries nothing and changes nothing of a
// request but its credential and the encodings it accepts, so that answers can
// be read in passing. It serves nobody without a key it gave out, listens on
// 127.0.0.1 only, and keeps no text of requests or answers. A session without a
// network comes over a socket of its own, where nobody else's key is good.
//
// Invariants: an answer is passed on as it arrives, never after it was looked
// at whole; an id is written down before the session can see it; the real
// credential is in no report, error or answer of the gateway's own.
package gateway
