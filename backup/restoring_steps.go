package backup

import (
	"time"

	"stowage/act"
	"stowage/swing"
)

// restoringSteps make an instance of a backup, beside whatever is there.
func restoringSteps() []swing.Step[*restoring] {
	return []swing.Step[*restoring]{
		{
			Name:    "preflight",
			Needs:   "the vault has all backups of the chain",
			Effect:  "none",
			Known:   "preflight finds no blocker",
			Timeout: 2 * time.Minute,
			Do:      act.Method((*restoring).preflight),
		},
		{
			Name:    "fetch",
			Needs:   "room and a free port on the host",
			Effect:  "a data directory with the chain applied, and an option file",
			Known:   "the note beside it, written last",
			Undone:  "the directory is removed, if this restore made it",
			Timeout: 48 * time.Hour,
			Do:      act.Method((*restoring).fetch),
			Undo:    act.Method((*restoring).remove),
		},
		{
			Name:    "start",
			Needs:   "a complete data directory",
			Effect:  "the restored instance runs: read-only, events off, replicating from no server",
			Known:   "it answers with the server_id that it was given",
			Undone:  "it is stopped",
			Timeout: 15 * time.Minute,
			Do:      act.Method((*restoring).start),
			Undo:    act.Method((*restoring).stop),
		},
		{
			Name:    "stand",
			Needs:   "the restored instance was never written to",
			Effect:  "its binary log and its applied position are those of the backup",
			Known:   "it says so",
			Timeout: 5 * time.Minute,
			Do:      act.Method((*restoring).stand),
		},
		{
			Name:    "replay",
			Needs:   "the archive of binary logs has what was written up to the moment that is asked for",
			Effect:  "what was written after the backup is applied",
			Known:   "its GTID position is that of the moment",
			Timeout: 48 * time.Hour,
			Do:      act.Method((*restoring).replay),
		},
		{
			Name:    "check",
			Needs:   "replayed",
			Effect:  "none",
			Known:   "it is the right instance, takes no writes, and the tables that were read are sound",
			Timeout: 2 * time.Hour,
			Do:      act.Method((*restoring).check),
		},
	}
}

// verifyingSteps compare a restored instance with a live server, and take it away.
func verifyingSteps() []swing.Step[*restoring] {
	return []swing.Step[*restoring]{
		{
			Name:    "compare",
			Needs:   "the live server still has what it wrote after the restored position",
			Effect:  "the restored instance follows the live server, and stops at a barrier while rows are compared",
			Known:   "the checksums of all rows of all tables are equal at one GTID position",
			Timeout: 24 * time.Hour,
			Do:      act.Method((*restoring).compare),
		},
		{
			Name:     "record",
			Needs:    "equal",
			Effect:   "the catalogue says when the backup was proven; the restored instance is gone",
			Known:    "its directory is gone",
			NoReturn: true,
			Phases:   []string{"proven", "stop", "remove"},
			Timeout:  15 * time.Minute,
			Do:       act.Method((*restoring).record),
		},
	}
}

// extractingSteps copy a database out of a restored instance into a pair, and take the instance away.
func extractingSteps() []swing.Step[*restoring] {
	return []swing.Step[*restoring]{
		{
			Name:    "copy",
			Needs:   "the restored instance is at the moment, and the pair has no database of the new name, or this run's own",
			Effect:  "a database of the new name in the pair, with the rows, indexes and what else can be carried",
			Known:   "the marks in it say that all parts are copied; both sides of the pair have it",
			Undone:  "the database is removed, if this run made it",
			Timeout: 7 * 24 * time.Hour,
			Do:      act.Method((*restoring).copyOut),
			Undo:    act.Method((*restoring).discard),
		},
		{
			Name:    "compare",
			Needs:   "copied",
			Effect:  "none",
			Known:   "the checksums of all rows of all tables are those of the restored instance",
			Timeout: 24 * time.Hour,
			Do:      act.Method((*restoring).compareCopy),
		},
		{
			Name:     "keep",
			Needs:    "equal",
			Effect:   "the database is its owner's, without marks; the restored instance is gone",
			Known:    "its directory is gone",
			NoReturn: true,
			Phases:   []string{"keep", "stop", "remove"},
			Timeout:  15 * time.Minute,
			Do:       act.Method((*restoring).keep),
		},
	}
}
