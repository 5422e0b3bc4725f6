// Package window says how long a backup of a whole farm takes, on paper: which
// side of each pair is read, when each backup runs, and what it is that takes so
// long.
//
// It answers: "does the night suffice, and what would have to be faster?" Its
// main type is Window. A Window has the shortest time that disks and links
// allow, whatever the order and the sides, and which of them set it.
//
// Invariants: at no moment does a host, a link, a rack or a vault carry more than
// its rate, or more streams than it may; every pair is read once. The package is
// pure and deterministic.
//
// The bound is a fractional one: each pair may be read from all of its sides at
// once. It is found as a maximum flow whose smallest cut names what binds
// (Ford and Fulkerson 1956; the time by Newton's method, Dinkelbach 1967).
package window
