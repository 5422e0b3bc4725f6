// Package load is the demo's traffic: clients that follow routing.json, write
// and read in every shard, and keep a ledger of every write they were
// acknowledged, which is checked against the databases afterwards.
//
// It answers: "did any client lose a write, see one twice, read something
// old, get an error, or wait too long?" Load runs the clients; Summary is what
// they met, Verdict what the databases say about the ledger.
//
// Invariants: a client follows docs/reference/routing.md to the letter and runs one
// transaction at a time; a write is in the ledger only after the server has
// acknowledged it, and before the client does anything else; an error is
// counted once and never hidden; a commit whose answer was lost is read back,
// never guessed.
//
// It never changes routing, replication or schema. It speaks SQL itself, with
// the Go driver, as any program outside Stowage would: package mysql is the
// door through which Stowage acts on a farm, this package is a client of the
// farm and must not share its code or its mistakes.
package load
