// Package setup helps to set loopd up for a plugin, before anything is measured.
// Survey reads what a plugin holds and what will get in the way; NewSuite and
// WriteScenario write files to fill in; Lint says what is wrong with a suite, and
// Play runs each scenario's oracle and nop through the stand-in agent; checks of
// the machine and Probe say whether a campaign can run, and what to type where it
// cannot.
//
// A survey runs nothing and writes nothing. It follows no link, reads only
// regular files up to a bound, and takes any bytes without a panic. What the
// agent CLI would pass over in silence is a Warning; only a plugin that cannot be
// recognised as one is an error. The rules are those of the pinned CLI, measured.
//
// No finding repeats a word of a task, because whoever writes wording may read
// it. Checks repair nothing, spend nothing and contact nobody: Probe's session
// speaks to a simulated model, in the surroundings of an invented user.
package setup
