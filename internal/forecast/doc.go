// Package forecast says before a campaign what a budget can find: how many
// candidates can be looked at, which effects are likely to be kept and confirmed,
// what it costs, and the smallest budget in which anything can be decided.
//
// Every figure is a simulation by stats/sim of the procedure that will decide,
// on rates that were measured in a pilot or are assumed; it says which. It reads
// nothing and starts nothing. The same question has the same answer to the byte.
package forecast
