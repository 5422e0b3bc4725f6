// Package trial measures a matrix: "make each cell, run its barrage, take it
// away; round after round, in an order that chance decides".
//
// Run does it and returns a matrix.Document; Plan says before how long it takes.
//
// What holds: a visit of a cell is a file system made anew (bench/testbed) and one
// run of every step (bench.Run with a round). Every round visits every cell, in
// an order of its own. A cell that is refused, or breaks, keeps the reason and
// is not visited again; the others go on. The document is saved after every run,
// and the next Run with it continues with the visit that was cut short. When Run
// returns, nothing of what it made is left.
package trial
