// Package follow hands what is written to a shard to a consumer outside, as
// lines of JSON.
//
// It answers: "what has changed since this position, row by row, and where do I
// go on after a kill?" Its main type is Follower; a Sink takes the lines, a
// State keeps the position.
//
// Invariants: lines come in the order of the binary log and at least once. A
// line's GTID and index say which repeats to drop. The position is kept only
// after the sink has everything before it for good. What cannot be shown by
// rows ends the reading before it, and says so.
//
// It knows no routing: a Places tells it which servers have the shard, and where
// the shard went when it was moved to another pair.
package follow
