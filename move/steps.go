package move

import (
	"time"

	"stowage/act"

	"stowage/swing"
)

// replacementSteps is the replacement of one side of an active-active pair, in
// order. Everything before "out" happens
// beside the running side: the twin carries all clients only from "out" to
// "in". (The sequence was tried by hand on 60 pairs before it was written
// down here.)
func replacementSteps() []swing.Step[*replacement] {
	before := []swing.Step[*replacement]{
		{
			Name:    "preflight",
			Needs:   "the pair serves on both sides",
			Effect:  "none",
			Known:   "no check found a blocker",
			Timeout: 2 * time.Minute,
			Do:      act.Method((*replacement).preflight),
		},
		{
			Name:    "seed",
			Needs:   "room and a free port on the target",
			Effect:  "a copy of the twin's data directory on the target, and an option file",
			Known:   "the seed note beside it, written last",
			Undone:  "the directory is removed, if this move made it",
			Timeout: 24 * time.Hour,
			Do:      act.Method((*replacement).seed),
			Undo:    act.Method((*replacement).removeSeed),
		},
		{
			Name:    "start",
			Needs:   "a complete seed",
			Effect:  "the new instance runs: read-only, events off, not replicating",
			Known:   "it answers with the planned server_id",
			Undone:  "the new instance is stopped",
			Timeout: 15 * time.Minute,
			Do:      act.Method((*replacement).start),
			Undo:    act.Method((*replacement).stopNew),
		},
		{
			Name:    "attach",
			Needs:   "the new instance was never written to",
			Effect:  "it is at the seed's position and replicates from the twin",
			Known:   "both of its replication threads run",
			Undone:  "it stops replicating",
			Timeout: 5 * time.Minute,
			Do:      act.Method((*replacement).attach),
			Undo:    act.Method((*replacement).detach),
		},
		{
			Name:    "follow",
			Needs:   "attached",
			Effect:  "none",
			Known:   "the new instance has applied what the twin had written when the step began",
			Timeout: 24 * time.Hour,
			Do:      act.Method((*replacement).follow),
		},
		{
			Name:    "compare",
			Needs:   "caught up",
			Effect:  "the new instance stands still at a barrier for the time of the comparison",
			Known:   "the checksums of all rows of all tables are equal at one GTID position",
			Timeout: 24 * time.Hour,
			Do:      act.Method((*replacement).compare),
		},
		{
			Name:    "preload",
			Needs:   "compared",
			Effect:  "the pages in the twin's buffer pool are read into the new one's",
			Known:   "the server says the load is complete",
			Timeout: 2 * time.Hour,
			Do:      act.Method((*replacement).preload),
		},
	}
	rewire := swing.Step[*replacement]{
		Name:    "rewire",
		Needs:   "the old side takes no writes, and the twin has all it ever took",
		Effect:  "the twin replicates from the new instance instead of the old one",
		Known:   "both of the twin's replication threads run, from the new address",
		Undone:  "the twin replicates from the old instance again",
		Phases:  []string{"wait", "repoint"},
		Timeout: 10 * time.Minute,
		Do:      act.Method((*replacement).rewire),
		Undo:    act.Method((*replacement).unwire),
	}
	retire := swing.Step[*replacement]{
		Name:     "retire",
		Needs:    "the new instance serves the whole side",
		Effect:   "farm.yaml names the new place; the old instance is stopped, its files stay",
		Known:    "farm.yaml shows the new place and the old process is gone",
		NoReturn: true,
		Phases:   []string{"settle", "record", "stop"},
		Timeout:  15 * time.Minute,
		Do:       act.Method((*replacement).retire),
	}
	return append(append(before, swing.Steps(rewire)...), retire)
}
