// Package standin is a stand-in agent CLI for machines without the real one.
//
// It takes the command line of the launch contract, loads the plugin, really
// runs its SessionStart hook, sends the same shape of request to the Messages
// API, executes the tool calls of the answers in the working directory, and
// prints the same stream-json lines in the same order and with the same field
// names as the pinned CLI. What it knows of that CLI was measured on it: how a
// hook's output is read, which retries are made, which exit codes are used.
//
// It refuses unknown flags, has no interactive mode, no permissions to ask
// for, no subagents, no settings and no background tasks, and contacts nothing
// but ANTHROPIC_BASE_URL. Unlike the real CLI it accepts being run as root,
// lists only the tools and skills it really has, its back-off is short, and a
// hook that takes its time prints no hook_progress lines.
// Invariants: a session that is cancelled prints no result line and exits 143;
// every tool_use is answered by exactly one tool_result; a note the real CLI
// would not deliver is not delivered here.
package standin
