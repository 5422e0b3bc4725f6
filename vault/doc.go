// Package vault keeps streams of bytes where they outlive the server that they
// came from: in a plain directory, or in a restic repository.
//
// It answers: "is this copy there, whole, and as it was written?" Its main type
// is Vault. What is kept is a set: one or more streams under a name, and a
// manifest with their sums, which is written last. A set without a manifest is
// not whole, and is never listed.
//
// Invariants: a stream whose producer failed never becomes part of a whole set;
// nothing that is there is written over; a sum is compared with what was read
// from the vault, never with what was meant to be there. A plain directory is
// read with zstd and the server's own tools: no Stowage is needed for that.
//
// The package knows no database and no farm.
package vault
