// Package exchange reads evaluation suites written for other programs into
// draft scenarios, and writes scenarios as cases that the agent CLI runs by
// itself.
//
// What is imported is always a draft: it says where it comes from, what a
// person has to look at, and every field of the source that was not carried,
// with its value. Detection goes by content, never by a file's name.
//
// The package refuses to run anything of a suite, to follow a path out of it,
// to loosen a check that does not fit, and to overwrite a file. It never sends a
// task anywhere but into the file of its scenario or case: errors, flags and
// summaries name places and fields, not text.
package exchange
