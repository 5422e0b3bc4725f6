// Package engine answers: how does a long act survive a kill -9?
//
// An act is a [Job]: lanes side by side, each a list of parts, each part a list of steps. Each lane runs as a Temporal workflow
// and every step as one activity, carried out by the [Doer] of whichever process serves the step's queue. [Start] runs the
// embedded server as a child, [Dial] connects to it or to a cluster, [Client.Serve] offers a Doer, [Client.Run] runs the lanes of a
// job, or continues with them, as many at once as budgets allow.
//
// Invariants:
//   - A step is attempted until it ends: kill -9 of the server, of the worker or of both never skips one and never reorders them.
//     A step may run more than once; it has to read the actual state first and be safe to run again.
//   - Two attempts for one subject of one job never run at the same time in one process, however confused the timeouts are.
//     Across processes nothing can promise that; what a step changes must be fenced where it is changed.
//   - The ID of a job and the name of a lane name one run of it for ever. Running it again gives the result it already has.
//   - A lane holds all of its budget tokens before its first step and gives them back after its last, through every kill.
//   - What an operator has to read (the text of an error) arrives unchanged, with its kind.
//   - Unknown outcomes are never retried and never undone.
//
// It never talks to a database or a host and knows no farm: names and arguments pass through it unread.
//
// Workflow code is replayed from history after every crash. Whoever changes the order of commands in workflow.go or lane.go
// guards the change with workflow.GetVersion, or raises [Format]: runs of the old one are then refused.
package engine
