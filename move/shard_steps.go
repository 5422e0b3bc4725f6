package move

import (
	"time"

	"stowage/act"

	"stowage/swing"
)

// shardSteps is the way of one shard into another pair, in order. Until
// "cutover" the shard serves where it always did; the copy goes on beside it.
func shardSteps() []swing.Step[*shardMove] {
	return []swing.Step[*shardMove]{
		{
			Name:    "preflight",
			Needs:   "the shard serves, and both pairs are healthy",
			Effect:  "none",
			Known:   "no check found a blocker",
			Timeout: 5 * time.Minute,
			Do:      act.MayGoOn[*shardMove],
		},
		{
			Name:    "prepare",
			Needs:   "the target has no database of that name, or this move's own",
			Effect:  "an empty database with the shard's tables on the target, and this move's marks",
			Known:   "the marks name this move",
			Undone:  "the target's database is removed, if this move made it",
			Timeout: 15 * time.Minute,
			Do:      act.Method((*shardMove).prepare),
			Undo:    act.Method((*shardMove).discard),
		},
		{
			Name:    "copy",
			Needs:   "prepared",
			Effect:  "the target has the shard's rows and follows its changes",
			Known:   "the target and its twin are within moments of the source",
			Timeout: 7 * 24 * time.Hour,
			Do:      act.Method((*shardMove).copy),
		},
		{
			Name:    "finish",
			Needs:   "copied",
			Effect:  "indexes, views, routines and triggers on the target; events, disabled",
			Known:   "they are there",
			Timeout: 24 * time.Hour,
			Do:      act.Method((*shardMove).finish),
		},
		{
			Name:    "compare",
			Needs:   "finished",
			Effect:  "none",
			Known:   "the checksums of all rows of all tables are equal at one position",
			Timeout: 24 * time.Hour,
			Do:      act.Method((*shardMove).compare),
		},
		{
			Name:    "cutover",
			Needs:   "compared",
			Effect:  "the shard's clients go to the new pair; its tables have another name on the old one",
			Known:   "the new pair lists the shard in routing",
			Undone:  "the shard serves from its old place again, with everything written since",
			Phases:  cutoverPhases,
			Timeout: 30 * time.Minute,
			Do:      act.Method((*shardMove).cutover),
			Undo:    act.Method((*shardMove).cutBack),
		},
		{
			Name:    "soak",
			Needs:   "the shard serves from its new place",
			Effect:  "what is written there goes back to the old place, for as long as was asked",
			Known:   "the time is over and the old place lacked nothing",
			Timeout: 7 * 24 * time.Hour,
			Do:      act.Method((*shardMove).soak),
		},
		{
			Name:     "settle",
			Needs:    "the shard serves from its new place",
			Effect:   "farm.yaml names the new pair; the old tables and this move's marks are removed",
			Known:    "farm.yaml shows the shard under its new pair, and the old pair has no database of that name",
			NoReturn: true,
			Phases:   []string{"record", "remove"},
			Timeout:  2 * time.Hour,
			Do:       act.Method((*shardMove).settle),
		},
	}
}

// cutoverPhases, in order. Lock to flip are those of models/copier.pml.
var cutoverPhases = []string{"ready", "close", "drain", "lock", "gather", "barrier", "rename", "unlock", "arrive", "flip"}
