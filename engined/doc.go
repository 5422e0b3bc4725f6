// Command stowage-engine answers: where do the moves live that survive a kill -9?
//
// It is the official Temporal server (go.temporal.io/server, used as a library) in one process: frontend, history and
// matching on loopback ports, one SQLite file as the store, no worker service, no metrics, no archival. Stowage starts it as a
// child; a team that has outgrown one machine points Stowage at its own Temporal cluster instead and never runs this.
//
// Invariants:
//   - Every committed step is in the SQLite file (WAL) before the server answers, so kill -9 of this process loses nothing.
//     Power loss can lose the last moments of the log (synchronous=normal); the file stays sound, and Stowage's steps read the
//     truth from the databases before they act.
//   - One process per file: FILE.lock is held with flock for as long as the process lives. The kernel lets go of it at any death.
//   - The schema and the namespace are created in one SQLite transaction: a half-made file cannot exist.
//   - Nobody gets an answer without a certificate, on any port. The frontend listens where it is told and takes those of the
//     authority it is given. History and matching listen on 127.0.0.1 and take the one that this process made for itself when it
//     started, whose key is nowhere else.
//   - A host's certificate serves that host's own queue and answers what was given to that host; nothing else.
//
// It never touches a database server, a host or a farm, and knows nothing of Stowage's workflows.
//
// On stdout it prints exactly one line of JSON, when it is ready: {"address":"127.0.0.1:21034","pid":4711}. Logs (JSON, warnings
// and worse) go to stderr. Exit codes: 0 stopped as asked; 1 could not start or serve; 2 usage.
package main
