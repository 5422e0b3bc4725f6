// Package survey reads what servers and machines count, and how machines are set, on this machine and through agents.
//
// It answers: "what do the counters of these servers say over this minute, and what is each host set to?" Its main functions
// are Watch, which makes a shardload.Window of each instance, and Place.Settings, which makes the tree of a machine's settings
// that package tune/probe reads. A Station does it for us on another machine, behind an agent, which passes questions and
// answers on unread: docs/decisions/0015.
//
// Invariants: nothing is changed, switched on or reset, on no server and no machine. A host that does not answer costs its
// own time, and is named. What is asked of all instances of a host is one call, however many they are.
//
// It judges nothing: package inventory/shardload makes figures of windows, package tune findings of settings.
package survey
