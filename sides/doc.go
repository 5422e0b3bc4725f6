// Package sides opens sides of the farm for an act that works on their servers in place: the server stays, what it is for a while does not.
//
// It answers: "how does the side that farm.yaml has here leave and return, given what it is in its pair; may it, and what was it before?" Its main type is Member: one side with its
// dance (swing.Swing, Stepdown, Follower or Alone, by role), the machines of its servers, what keeps it fenced, and what it was before it left.
//
// Invariants: never asks a verb anything; what a side was before is kept in the store under PAIR/SIDE, because the run that brings it back may be another than the one that took it out;
// a side's option file is as it was, byte for byte, when the side is back.
package sides
