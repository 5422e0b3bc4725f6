// Package replay answers: what would this server have made of that day?
//
// It reads a recording (slow logs, general logs, packet captures), sends its
// statements to a candidate in the sessions and at the times in which they were
// said, and compares what comes back with the recording, or with a second
// server. Run does all of it; its main types are Options and Outcome.
//
// Invariants:
//
//   - Two belts. Every statement is judged by its text (effect.Judge), and only what is
//     known to be a read is sent; and without writes every connection is READ
//     ONLY, so the server itself refuses to change tables. The third belt is the
//     account: it should have SELECT and nothing else.
//   - No connection takes several statements in one text, whatever effect.Judge thinks
//     of semicolons.
//   - Writes are sent only while Guard finds the candidate out of rotation, free
//     of replication, and marked by a person as one to throw away.
//   - The statements of one session are sent in order, one after the other, over
//     a connection of its own. Sessions do not wait for each other.
//   - The schedule is the recording's, divided by the pace, and never waits for
//     the candidate: how late a statement is sent is measured and reported, and
//     so is the time from when it should have been sent to its last row.
//   - Memory does not grow with the recording.
//   - What was not sent is counted, with the reason.
//
// The package opens no connection itself (package mysql does) and judges no
// latencies itself (package digest does).
package replay
