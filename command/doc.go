// Package command runs a command on this machine exactly once.
//
// It answers: "has this command run here, and how did it end?" Its main type is
// Station, which carries out orders: each has a number, is written down before
// anything is done, and has its outcome beside it. An agent is handed a Station;
// for hosts without an agent the program has one of its own.
//
// A command is started by a carrier, a process that is neither the agent nor the
// program (Carry): both may die while the command runs on. The carrier holds a
// lock for as long as it lives, notes that it begins before it does, and how the
// command ended after that.
//
// Invariants: a command is never begun twice, unless its order says that it may
// be. Where nobody can tell how one ended, because its carrier was killed or the
// machine went down, the Outcome says so. A kill of the agent or of the program
// alone never leads to that.
//
// The package takes no input from a shell: arguments reach the command as they
// are. It never decides when a command may run.
package command
