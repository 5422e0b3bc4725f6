// Package store keeps results that last: runs of acts, their events, and
// documents such as inventories, digests and measurements.
//
// It answers: "what happened, and what did we find out?" Its main type is
// Store, one SQLite file (.stowage/stowage.db) in write-ahead mode, so that
// `stowage status` reads while a move writes.
//
// Invariants: events are only ever appended; a document is never changed, a
// newer one of the same kind and name is beside it. Nothing here is
// needed to finish or undo an act: the truth is in the databases.
package store
