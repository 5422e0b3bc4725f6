// Package backup copies instances into vaults while they serve, and makes
// instances of what is there again.
//
// It answers: "is there a copy of this data from which somebody has restored
// it?" Its main type is Act: NewAct carries out runs of kind Backup, a part for
// each instance, NewRestore runs of kind Restore, of which the runbook verify
// is one that compares the restored rows with a server that serves, and takes
// the restored instance away, and extract one that copies a database out of it
// into a pair, under another name, and side one that gives it the place of a side
// whose server is lost.
//
// Invariants: a server that serves is only read, but for that new database; what is not whole is never in
// the catalogue; a restore writes into a directory of its own, never over what
// is there; what it starts takes no writes, runs no events and follows nobody
// by itself, until it is a side. The bytes go from host to host, and never through this program.
package backup
