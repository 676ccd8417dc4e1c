// Package codegraph reads the code graph that graphify writes and answers how
// many hops lie between two files.
//
// The tool's graph has a node for every class and method. Here it is collapsed
// to files, undirected, over the relations that mean one file depends on
// another; which class contains which method says nothing of that. The package
// builds no graph: it refuses to guess an edge that the tool did not write.
//
// Invariants: Hops is symmetric; an edge needs two known nodes in two files; a
// path is the same file however it is written, absolute or with backslashes.
package codegraph
