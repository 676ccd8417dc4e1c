// Package sandbox makes the directories one session runs in: a fresh copy of
// the fixture as a git repository with a single neutral commit, a copy of the
// plugin, and an empty home, configuration and temporary directory. It also
// reads what the session left behind, and removes it.
//
// It starts no session and isolates nothing: walls are another package's
// business. It never runs git in a directory a session could write to, never
// follows a link a session made, never opens a FIFO or device, and never hands
// two sessions the same inode.
//
// Invariants: a box is built from bytes in memory only, so it is the tree that
// was sealed whatever happens to the disk; the same fixture always gives the
// same commit; no name, date or author says what the box is for; the box of a
// living process survives Sweep and the box of a dead one does not.
package sandbox
