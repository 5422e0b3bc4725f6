// Package schema holds what tables are: their columns, keys, constraints and options, and the difference between two of them.
//
// It answers: "does this shard have the tables that it should have; if not, which differ, in what, and which ALTER makes them equal?"
//
// Invariants: pure, it asks nobody. Definitions come from SHOW CREATE TABLE; two servers of one version write the same text for the same table, so text decides, part by part. The counter of
// AUTO_INCREMENT is no part of a definition. An ALTER is printed only where every difference is covered by it.
package schema
