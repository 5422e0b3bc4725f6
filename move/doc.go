// Package move replaces sides of pairs by new instances on other hosts, live.
//
// It answers: "how do these instances get from these old servers to those few
// new ones while clients write?" Kind is the table of contents: the new
// instance is seeded from the twin, attached, caught up, compared row by row
// and warmed while both old sides still serve; then one swing (package swing)
// lets it take the place of the side, and the old instance is retired.
//
// Its runbooks are all ways of moving there are, each for what it moves: a side
// of an active-active pair, an instance that takes all writes or its replica, and
// one logical shard (Shard), which leaves its pair while its neighbours go on.
//
// Mover is what their steps need. Package act carries them out: durably, steered
// and in sight. NewJob turns a plan into the engine's job.
//
// Invariants: each step reads the truth before it changes anything and may be
// run again after a kill at any point; the ring is rewired before the new side
// takes its first write; nothing is deleted that this very move did not make;
// until `retire` begins, undo takes everything back.
//
// It never decides what goes where (package placement did, people reviewed it)
// and never moves a farm that is not as the plan found it.
package move
