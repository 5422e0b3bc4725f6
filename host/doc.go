// Package host is the only door to machines: it runs commands on them, starts
// and stops instances, and moves bytes between them.
//
// It answers: "make this instance exist here, running, or gone." Its main type
// is Host, what an act needs of a machine; Local implements it for this
// machine, which in the demo plays every host of the farm. An agent on another
// machine is the next implementation, and hosttest holds what both must pass.
//
// Invariants: a directory is removed only when it carries the mark of the act
// that made it; a process is found by its own pid file and option file, never
// by name; an instance outlives the program that started it; passwords reach
// a command in a file only its account can read, never in its arguments.
//
// The package speaks no SQL (package mysql does) and never decides when.
package host
