// Package rival holds the rules others decide by, so that the simulator can say what they would have done on the same
// outcomes: greedy loops that keep whatever scored higher, a fixed-size stratified test, the sequential tests of engine
// testing, a posterior probability, and an e-value for 2x2 tables.
//
// Every rule is a function of counts. The package keeps no state, draws nothing, and nothing in loopd decides by it: it
// is here to be measured. Counts that make no sense are never a keep.
package rival
