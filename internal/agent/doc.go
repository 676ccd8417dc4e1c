// Package agent runs one agent process tree: it starts it, feeds it the prompt,
// drains its output, watches it by clocks from outside, ends it, and sees to it
// that nothing of it is left running.
//
// It decides nothing about what a session was worth: it says how the process
// ended and, when a clock or the caller ended it, which one. It reads of the
// stream only what tells a start from a result. It knows no credential, inherits
// nothing from loopd's own environment and writes no file but the pinned copy
// of the agent's program.
//
// Invariants: the prompt is never an argument; the environment is exactly what
// was given; output is taken from pipes as it comes, so a session can neither
// rewrite it nor block on it; after Run returns no process of the session is
// alive (Exit.Survivors counts exceptions); no wait status of another child of
// loopd is ever taken.
package agent
