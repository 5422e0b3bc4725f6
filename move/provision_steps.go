package move

import (
	"time"

	"stowage/act"

	"stowage/swing"
)

// provisionSteps make a new pair, in order. Nobody knows it before "list". Each
// undo looks first whether anything lives there by now: such a pair stays.
func provisionSteps() []swing.Step[*provision] {
	return []swing.Step[*provision]{
		{
			Name:    "preflight",
			Needs:   "the pairs that its shards come from serve",
			Effect:  "none",
			Known:   "no check found a blocker",
			Timeout: 5 * time.Minute,
			Do:      act.MayGoOn[*provision],
		},
		{
			Name:    "found",
			Needs:   "room and a free port on both hosts",
			Effect:  "an empty data directory for each side, with the accounts that its shards' clients have, and an option file after the model's",
			Known:   "the note beside it, written last",
			Undone:  "the directories are removed, if this move made them and nothing lives there",
			Phases:  []string{"first", "second"},
			Timeout: time.Hour,
			Do:      act.Method((*provision).found),
			Undo:    act.Method((*provision).remove),
		},
		{
			Name:    "start",
			Needs:   "founded",
			Effect:  "the new instances run: read-only, events off, not replicating",
			Known:   "each answers with its planned server_id",
			Undone:  "they are stopped, if nothing lives there",
			Timeout: 30 * time.Minute,
			Do:      act.Method((*provision).start),
			Undo:    act.Method((*provision).stop),
		},
		{
			Name:    "wire",
			Needs:   "the new instances run, and nothing was written to them",
			Effect:  "each side replicates from the other; a replica from its primary",
			Known:   "their replication threads run",
			Undone:  "they stop replicating, if nothing lives there",
			Timeout: 10 * time.Minute,
			Do:      act.Method((*provision).wire),
			Undo:    act.Method((*provision).unwire),
		},
		{
			Name:    "check",
			Needs:   "wired",
			Effect:  "none",
			Known:   "both sides have the same accounts and no database, and are who they should be",
			Timeout: 5 * time.Minute,
			Do:      act.Method((*provision).check),
		},
		{
			Name:    "open",
			Needs:   "checked",
			Effect:  "option files say how they start from now on; they take writes; the scheduler is on where the model's is",
			Known:   "read_only and event_scheduler are as the option file says",
			Timeout: 5 * time.Minute,
			Do:      act.Method((*provision).open),
		},
		{
			Name:    "list",
			Needs:   "open",
			Effect:  "farm.yaml and routing have the pair, without a shard",
			Known:   "both show it",
			Undone:  "neither has it, if nothing lives there",
			Phases:  []string{"record", "route"},
			Timeout: 5 * time.Minute,
			Do:      act.Method((*provision).list),
			Undo:    act.Method((*provision).unlist),
		},
	}
}
