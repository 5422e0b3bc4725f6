// Package domains leads pairs out of a GTID domain that others write too.
//
// It answers: "every server of this farm writes GTID domain 0; how does each
// side come to a domain of its own, without a restart and without stopping
// anybody?" Its main type is Act; Look says what is so and what would be done,
// Separate does it, Undo takes it back. Only MariaDB has domains.
//
// Invariants: what a server was is kept before anything of it is changed. Each
// step reads the servers before it acts and may be run again, so that a run
// that was killed anywhere goes on by being begun again. Option files are
// changed before the running server, so that a restart in between does not
// lead back. gtid_ignore_duplicates and gtid_strict_mode come on only when
// nobody writes the domain that was shared: a late write of it would be
// dropped without an error, or stop the replica. While sessions of the old
// domain and of the new one write side by side, replicas apply one transaction
// after the other: by GTID, several threads would apply two domains in any
// order.
//
// It ends no session of a client's: who keeps a connection is waited for and
// named.
package domains
