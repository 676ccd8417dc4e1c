// Package control is the way to a loopd that runs: a unix socket in its state
// directory, which only its owner can reach.
//
// It carries a few words of a person and what only the running process knows. It
// decides nothing and records nothing: who is asked does. Whatever can be read
// from the ledger is read there, also while nobody runs.
package control
