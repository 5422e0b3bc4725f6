// Package feed reads the changes of one database out of a server's binary log,
// behind a position and in order.
//
// It answers: "what was written to these tables since then, transaction by
// transaction?" Its main type is Reader, which is opened with a Source and
// hands out Pieces of transactions.
//
// Invariants: a piece is handed out only when everything before it was. A
// transaction is handed out whole, or, above PieceRows rows, in pieces of which
// only the last has a position. A lost connection is mended inside: the Source
// is asked for its server again, so that a reader follows a restart, a swing or
// a move; what it was in the middle of comes again from its first piece. What
// rows do not show ends the reading with an error (Stopped): a definition that
// was changed, a statement that wrote rows, rows of an XA transaction.
//
// The package never decides what becomes of a change, writes to no server and
// knows neither routing nor marks: transactions of the copier's own come
// without changes.
package feed
