// Package engine measures storage engines on real servers that it starts
// itself: what a transaction costs of processors and of storage, how long it
// takes, and what is left to be done afterwards.
//
// Run makes a sheet.Result of a directory. An Order says which cells (ways to
// run a server) under which loads, or how many servers of a cell at once, or
// how fast a replica works off a backlog.
//
// What holds, whatever happens:
//
//   - Servers have data directories, sockets, logs and temporary files of their
//     own below DIR/.stowage-bench, read no option file of the machine's, and
//     listen on no port but, for replication, a free one on 127.0.0.1.
//   - They die with the program, and everything goes with the run. What a
//     kill -9 leaves goes with the next run in the same place.
//   - Memory and space are counted before anything starts.
//   - Each run begins with a server that owes nothing: what it left to be
//     written is settled and counted afterwards.
//
// It judges nothing; that is sheet's.
package engine
