// Package latest reads and writes the columns that a reshape carries from the latest child of each parent onto the parent's row.
//
// It answers: "what is the latest child of this parent, and does the parent's row say so?" Its main type is Shape, a spec.Spec that is complete; its methods are the statements of a reshape:
// columns and triggers, filling in, comparing, flags, and the two queries for what a tenant has.
//
// Invariants: a row is filled in under its lock, from children that are read with locks, in one statement; filling in never waits for a lock, so no client is ever the victim of a deadlock with
// it; a trigger locks the parent before it reads its children; a flag is set in the transaction that has compared all rows of its tenant.
package latest
