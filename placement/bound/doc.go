// Package bound answers: "which number of bins, which cost, which watts can no
// packing go below, and how can somebody else be sure of that?"
//
// Its door is Lower. It takes a Problem (items with several needs each, types
// of bins with rooms, a largest number of items, prices, and how many there
// are) and returns a Result with a Certificate. The bound is the best of: the
// sums of each need; the number of items; copies of one item; items of which
// no two go together; dual feasible functions; the dual of the configuration
// LP, by column generation; the cheapest mix of types of bins that satisfies
// all of these at once; and the sum over fault domains of what each is forced
// to hold.
//
// Invariants: a problem with a negative or absurd number in it is refused
// before anything is computed; the bound is never below the bound by volume;
// it rests on integers only (floating point numbers steer the search, and what
// they lead to is proved in integers, rounded the safe way); package verify
// proves the certificate again and shares no code with this one. The same
// problem, objective and effort give the same certificate: effort is counted
// in steps and not in seconds.
//
// Groups of items that must be apart limit cliques and copies; the search for
// contents of a bin ignores that two different items of a group exclude each
// other, which makes the bound weaker in places and never wrong.
//
// It never packs anything, and it never says that a bound is the optimum: that
// takes a packing.
package bound
