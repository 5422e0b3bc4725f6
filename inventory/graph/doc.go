// Package graph answers: which source is made of which, what rests on each, and what breaks if one is wrong?
//
// Of makes a Graph of a report of package claims and of what inventory.yaml declares. Graph.If says what follows from a mistake in one
// source. Graph.DOT and Graph.WriteText are two forms of it; package report draws the third.
//
// Invariants: pure. An edge says how it is known. A direction that nothing tells is not guessed: the edge then has none. Equal reports make
// equal graphs.
package graph
