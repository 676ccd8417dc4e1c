// Package draft helps to write a suite: it makes new scenario files to fill in
// and says what is wrong with the ones there are, before anything is sealed.
//
// Lint is a function of the suite's and the plugin's files. Perform plays each
// scenario's oracle and nop through the stand-in agent. Neither asks a model,
// and neither changes a file. Findings say which rule and which scenario; no
// finding repeats a word of a task, because whoever writes wording may read them.
package draft
