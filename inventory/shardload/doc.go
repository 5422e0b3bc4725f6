// Package shardload makes measured load of shards out of counters of servers, processes and disks.
//
// It answers: "how much CPU, I/O, memory and disk does each shard use, how was that got, and how sure is it?" Its main
// types are Window, what one instance's counters said at the beginning, in between and at the end; and Report, which
// Assess makes of all windows.
//
// Invariants: a figure that was not measured is no number: Figure.Missing says why, and Figure.Remedy what would make it
// measurable. Every figure has an interval. Sums over shards are compared with counters that were read elsewhere (the
// process, the disk, the machine), and both stand in the report. Counters that went back make no negative load: a server
// that restarted is not measured, a file that was removed counts from zero.
//
// The package is pure: package mysql reads the servers, package host the machines.
package shardload
