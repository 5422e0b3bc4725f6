// Package compare proves that a server holds what another holds, row by row, at one position that both have reached.
//
// It answers: "is this copy equal to that server?" for a new instance of a move, and for a side whose tables were changed. Its main type is Verification.
//
// Invariants: the server that serves is only read; the copy's replication is stopped when it returns, and starting that again is the caller's; nothing is repaired unless that was asked for.
package compare
