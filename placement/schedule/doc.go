// Package schedule answers: in which order can these moves be made so that no
// host is ever overloaded on the way, how long will each take, and what is it
// that takes so long?
//
// Make orders moves into waves; Time says when each begins and how long it
// takes. Both know nothing of databases: a move takes its needs to another
// host, and until it is done they are on both.
//
// Invariants of what Make returns: at the end of no wave, and at no moment
// inside one, is a host over its limits, counting what has left it only from
// the next stage on (stages are what must be finished before the next begins;
// the waves inside one may overlap as they like); never are both sides of a
// pair in one wave, nor on hosts that must differ; B sides move before their A
// sides, unless that would wait for ever. When no such order exists Make names
// the hosts that wait for each other.
//
// The package is pure and deterministic. It does not search for the shortest
// schedule: it takes what fits, longest first (list scheduling, at most twice
// the shortest, Graham 1966), and prints the bound beside it. Space that waits
// for space is the data migration problem of Hall, Hartline, Karlin, Saia and
// Wilkes (2001).
package schedule
