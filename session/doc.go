// Package session answers: what does this program hold open while it works in a workspace, and in which order is it let go?
//
// Session is the main type. Open reads farm.yaml and opens the store; Look does the same for who only reads, OpenKept by the
// farm.yaml that the last run has kept. Login reads the accounts, and Prepare all that an act needs before its first question: accounts,
// router, machines. Agents and the engine are opened when they are asked for first (Host, Board, Engine). Close lets everything go,
// the last opened first.
//
// Invariants: there is one engine in a session, and this is the one place that starts it, for acts and for calls alike; ours is
// started only under the workspace's lock, which Lock takes for an act and the session itself for mere calls. A machine without an
// agent is this one.
//
// It knows no runs and no kinds of act: package act stands above it. It prints nothing: Options.Say is told what a person should
// know while they wait.
package session
