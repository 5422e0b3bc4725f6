// Package agent plays a host over the network: it is both ends of the line
// between the program that moves a farm and the machines it moves.
//
// It answers: "how does a step reach a machine that is not this one, and how
// do the bytes of a copy get from one machine to another?" Its main types are
// Agent, which runs on a database host and carries out calls, and Remote,
// which is that machine as a host.Host for everybody else.
//
// Calls are activities on the task queue of the host ("host.db017"), so that
// they wait for a host that is away and are found again after a kill. The
// bytes of a copy go from agent to agent, over HTTP/2.
//
// Invariants:
//   - An agent obeys only calls that a controller's certificate of the farm's own
//     authority has signed for this host and this call. What a call says and
//     what is answered can be read by these two and by nobody in between: the
//     engine's file holds sealed bytes only.
//   - A call that is delivered twice runs once, for as long as the agent lives.
//     After its death it runs again, but for a copy, which is begun anew.
//   - Calls that change one instance never overlap. A program that has taken over
//     from a killed one has what that one began cancelled first, and a call of
//     the dead one that comes late is refused.
//   - A copy is read once, by the one host it was offered to.
//   - A server outlives the agent that started it.
//
// It never decides what should happen, speaks no SQL, and never sends a byte
// of a copy through the controller.
package agent
