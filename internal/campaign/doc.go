// Package campaign wires one campaign's edges together: the ledger, the private
// and the user's repository, the sealed suite, the executor, the spool of
// candidates, and the projections that follow the ledger.
//
// It decides nothing: what comes next is loop's, what a trial means is the
// harness's. It never writes to the user's worktree, index or HEAD; branches
// under refs/heads/loopd/ are all it leaves in their repository. Every file it
// writes beside the ledger can be deleted and is rebuilt to the same bytes.
package campaign
