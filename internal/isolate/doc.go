// Package isolate makes what one session runs in: a fresh copy of the fixture
// as a git repository with a single neutral commit, a copy of the plugin, an
// empty home, configuration and temporary directory, and walls around them. It
// also reads what the session left behind, and removes it.
//
// It starts no session: it returns what to start. It never runs git in a
// directory a session could write to, never follows a link a session made,
// never opens a FIFO or device, never hands two sessions the same writable
// inode, and never goes on with weaker walls than it was asked for: which backend
// will do is the caller's decision.
//
// Sandbox are bubblewrap's. Inside there is no user but an ordinary one without
// any capability, no process but the session's, no network but a loopback of
// its own, and no file but the system's programs, read-only, a few files of
// /etc, the agent's program and the plugin, read-only, and the box. The way out
// is one listening socket, which a helper hands over before it becomes the
// agent; loopd's own program, with its suites inside, has no name there and is
// no longer open when the agent starts. The stand-in agent is that program and
// an exception.
//
// Invariants: a box is built from bytes in memory only, so it is the tree that
// was sealed whatever happens to the disk; the same fixture always gives the
// same commit; no name, date or author says what the box is for; the box of a
// living process survives Sweep and the box of a dead one does not; Probe calls
// good only what it has run, with the options a session gets.
package isolate
