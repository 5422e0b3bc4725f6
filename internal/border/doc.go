// Package border lets a test kill the program at a border between two steps.
//
// It answers: "how does a test make the program, its engine, or both die, or
// one step fail, or everything wait, at exactly this point?" Its main function
// is Ordered: the border that the environment orders. Release lets a program
// that waits go on.
//
// Invariants: without an order in the environment there is no border; the
// program that is shipped is built without this package (tag livetest), so
// that no environment can kill it.
package border
