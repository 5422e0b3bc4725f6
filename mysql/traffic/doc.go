// Package traffic is what servers were asked, read from them, and asked again.
//
// It answers: "which statements does this server remember, what does its slow
// log hold, and what does it answer to one that others once sent?" Statements
// reads log tables and performance_schema, SlowLog sets and watches the slow
// log for a recording, Client says recorded statements, Standing tells whether
// a server can be written to without reaching anything else, Explain asks how
// a statement would run.
//
// Every session is one connection of its own, with its own settings, and leaves
// nothing behind on the server but what was asked for. What the statements mean
// is the business of package digest.
package traffic
