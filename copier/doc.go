// Package copier carries one database from a live server into another live
// server that already holds others, by its rows and by the binary log.
//
// It answers: "how does this logical shard get over there while clients write
// to it, with every value as it was, and how does it get back?" Its main type
// is Copy; Fence is the short time at the end in which nobody writes.
//
// The order: a place in the binary log is marked first, then rows are copied
// in chunks of the key while every change behind that place is applied as the
// row it left behind. Nothing is dropped because it "will be copied later",
// and no row is read again to find out what a change did: a transaction is in
// the binary log before readers can see it. Chunks are read with shared locks
// for the same reason, and while one is on its way, no change that is younger
// than its reading is applied (hold). Where the copier stands is written on the
// target in the transaction that carries the data, together with the epoch of
// the copier that wrote it, so that it can be killed at any moment.
//
// Invariants: a row is on the target as of the mark or later, never earlier;
// what a copier that was killed has sent is there before its successor reads
// the mark, or never; between Rename and the first client on the target
// everything the source acknowledged is there; the fence does not outlive its
// session.
//
// The package never decides which side serves: Unfence belongs before the
// route is flipped, FenceBack behind. It writes no SQL, which is in mysql.
// Names of phases and guards are those of models/copier.pml.
package copier
