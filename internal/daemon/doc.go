// Package daemon is the life of a loopd that stays: it opens windows when they
// are due, works on one campaign in each, waits out what lifts by itself,
// carries out the commands that arrive on its socket, and remembers over a
// restart which window it opened last.
//
// It decides nothing about wording and starts no session: a campaign's loop does.
// What it must not forget about a campaign is in the ledger; the one file of its
// own only keeps it from opening a window twice.
package daemon
