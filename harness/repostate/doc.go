// Package repostate says whether a task on a repository was done: it compares
// the whole state afterwards with the expected one, or searches the final report
// for required facts.
//
// It takes snapshots and texts and returns results; it captures nothing, asks no
// model and reads no file. What differs is named in both directions, the change
// that is missing and the damage beside it, because an agent that does the task
// and something else has not done the task. A submission of the wrong kind is an
// error of whoever handed it in and never a failure of the agent.
package repostate
