// Package fake holds the other ends of a session that need no account and no
// network: an agent CLI, a model and fabricated runs.
//
// AgentMain is a stand-in agent CLI for machines without the real one. It takes
// the command line of the launch contract, loads the plugin, really runs its
// SessionStart hook, sends the same shape of request to the Messages API,
// executes the tool calls of the answers in the working directory, and prints
// the same stream-json lines in the same order and with the same field names as
// the pinned CLI. What it knows of that CLI was measured on it: how a hook's
// output is read, which retries are made, which exit codes are used. It refuses
// unknown flags, has no interactive mode, no permissions to ask for, no
// subagents, no settings and no background tasks, and contacts nothing but
// ANTHROPIC_BASE_URL. Unlike the real CLI it accepts being run as root, lists
// only the tools and skills it really has, its back-off is short, and a hook
// that takes its time prints no hook_progress lines. Invariants: a session that
// is cancelled prints no result line and exits 143; every tool_use is answered
// by exactly one tool_result; a note the real CLI would not deliver is not
// delivered here.
//
// Model is a simulated model behind the Messages API. A session is registered
// under the dummy credential of one trial, with its scenario, cell and draw. The
// model reads the wording it was actually sent (hook note and skill
// descriptions), turns it into a pass probability that is a known pure function
// (Wording.Rate), and plays the scenario's oracle when the draw lies below it,
// its nop otherwise: one step is one assistant turn. It refuses to look at the
// prompt to know the scenario, to hold state beyond the count of a session's
// requests, and to draw random numbers of its own. Invariants: the turn follows
// from the number of assistant messages in the request, so retries and parallel
// sessions are safe; the decision follows from the messages before the first
// assistant message, so it is the same in every turn; ids are unique per
// session, turn and block.
//
// Damages and Attempts make fabricated runs of a scenario that deserve no pass:
// good runs with one thing damaged, and wrong runs that try to look right. They
// know what an optimiser could find that sees nothing but pass and fail, and
// what a session could print into its own stream. Every run is a mutation of the
// two runs of the scenario that the stand-in really left, and of what the suite
// says of records, citations and programs, so that it fits any suite. They score
// nothing: the caller sends the runs through the same steps as a real session.
// They never read a task. A run that a reader would call right is not among the
// exploits, however the agent came by it.
package fake
