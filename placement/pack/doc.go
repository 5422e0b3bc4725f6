// Package pack answers: "which item goes into which bin, so that few, cheap or
// frugal bins are enough and little has to move?"
//
// Its main type is Problem: items with a demand by dimension, bins that exist
// and types of bins that may be opened, and rules about who may be where.
// Solve makes a Solution of it. ReadVBP reads the public instances that other
// packers are measured with.
//
// Invariants of every Solution: no bin holds more than its capacity in any
// dimension, and every rule of the problem holds, also when some items found
// no place (Solution.Unplaced) and when the search was stopped. Only frozen
// items are exempt: they are facts. The sums are exact.
//
// Solve is deterministic: the same problem, options and seed give the same
// solution on any number of cores, because searches are counted in work and
// not in time. Only Options.Stop can change that.
//
// How it searches:
//
//	model      dimensions that cannot decide anything are dropped
//	mix        how many bins of each type could carry the totals at least price
//	ladder     sets of bins, from what the volume allows upwards
//	spread     everything over a set, largest first, each where it adds least load^6
//	repair     moves and swaps until no bin is overfull
//	eject      what is left over pushes smaller things out, until it all fits
//	repack     two bins at a time, exactly
//	descend    one bin less, or a cheaper one, and again
//	home       as good a layout that moves less
//	exact      all layouts, where there are few
//
// It proves no more than the volume bound, and never reads a clock, a file or
// a server. What a demand means, headroom, growth and the room needed while
// things move are the caller's.
package pack
