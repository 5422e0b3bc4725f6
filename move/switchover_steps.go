package move

import (
	"context"
	"time"

	"stowage/act"

	"stowage/swing"
)

// switchoverSteps move the server that takes the writes of a pair. Up to
// "gather" it serves and nobody notices anything; "cutover" is one short pause
// of writes.
func switchoverSteps() []swing.Step[*succession] {
	return append(successionSteps(), []swing.Step[*succession]{
		{
			Name:    "cutover",
			Needs:   "the new instance follows the old one within moments",
			Effect:  "clients are held; the new instance takes the writes; the old one is read-only and replicates from it",
			Known:   "routing names the new instance, which takes writes and which the old one follows",
			Undone:  "clients are held again; the old instance takes the writes and the new one replicates from it",
			Phases:  swing.CutoverPhases,
			Timeout: time.Hour,
			Do:      act.Method((*succession).handOver),
			Undo:    act.Method((*succession).handBack),
		},
		{
			Name:    "soak",
			Needs:   "the new instance serves",
			Effect:  "none",
			Known:   "for the time of the goals it answered, and the old one followed it",
			Timeout: 7 * 24 * time.Hour,
			Do:      act.Method((*succession).soak),
		},
		{
			Name:     "retire",
			Needs:    "the new instance serves, and no server replicates from the old one",
			Effect:   "farm.yaml names the new place; the old instance is stopped, its files stay",
			Known:    "farm.yaml shows the new place and the old process is gone",
			NoReturn: true,
			Phases:   []string{"settle", "record", "stop"},
			Timeout:  15 * time.Minute,
			Do:       act.Method((*succession).retire),
		},
	}...)
}

// replicaSteps move a replica. No client that writes notices anything.
func replicaSteps() []swing.Step[*succession] {
	return append(successionSteps(), []swing.Step[*succession]{
		{
			Name:    "swap",
			Needs:   "the new replica follows within moments",
			Effect:  "routing names the new replica for reads that may be old",
			Known:   "routing shows the new address and not the old one",
			Undone:  "routing names the old replica again",
			Phases:  []string{"near", "open", "flip"},
			Timeout: time.Hour,
			Do:      act.Method((*succession).swap),
			Undo:    act.Method((*succession).swapBack),
		},
		{
			Name:    "soak",
			Needs:   "the new replica is named",
			Effect:  "none",
			Known:   "for the time of the goals it followed the primary",
			Timeout: 7 * 24 * time.Hour,
			Do:      act.Method((*succession).soak),
		},
		{
			Name:     "retire",
			Needs:    "routing names the new replica, and no server replicates from the old one",
			Effect:   "farm.yaml names the new place; the old replica is stopped, its files stay",
			Known:    "farm.yaml shows the new place and the old process is gone",
			NoReturn: true,
			Phases:   []string{"settle", "record", "stop"},
			Timeout:  15 * time.Minute,
			Do:       act.Method((*succession).retire),
		},
	}...)
}

// successionSteps are what both begin with: a new instance that has everything.
func successionSteps() []swing.Step[*succession] {
	return []swing.Step[*succession]{
		{
			Name:    "preflight",
			Needs:   "the pair serves, and its replica follows",
			Effect:  "none",
			Known:   "no check found a blocker",
			Timeout: 2 * time.Minute,
			Do:      act.MayGoOn[*succession],
		},
		{
			Name:    "seed",
			Needs:   "room and a free port on the target",
			Effect:  "a copy of the replica's data directory on the target (of the instance's own, where it has no replica), and an option file",
			Known:   "the seed note beside it, written last",
			Undone:  "the directory is removed, if this move made it",
			Timeout: 24 * time.Hour,
			Do:      act.Method((*succession).seed),
			Undo:    replaced((*replacement).removeSeed),
		},
		{
			Name:    "start",
			Needs:   "a complete seed",
			Effect:  "the new instance runs: read-only, events off, not replicating",
			Known:   "it answers with the planned server_id",
			Undone:  "the new instance is stopped",
			Timeout: 15 * time.Minute,
			Do:      replaced((*replacement).start),
			Undo:    replaced((*replacement).stopNew),
		},
		{
			Name:    "attach",
			Needs:   "the new instance was never written to",
			Effect:  "it is at the seed's position and replicates from the server that takes the writes",
			Known:   "both of its replication threads run",
			Undone:  "it stops replicating",
			Timeout: 5 * time.Minute,
			Do:      replaced((*replacement).attach),
			Undo:    replaced((*replacement).detach),
		},
		{
			Name:    "follow",
			Needs:   "attached",
			Effect:  "none",
			Known:   "the new instance has applied what had been written when the step began",
			Timeout: 24 * time.Hour,
			Do:      replaced((*replacement).follow),
		},
		{
			Name:    "compare",
			Needs:   "caught up",
			Effect:  "the new instance stands still at a barrier for the time of the comparison",
			Known:   "the checksums of all rows of all tables are equal at one GTID position",
			Timeout: 24 * time.Hour,
			Do:      act.Method((*succession).compare),
		},
		{
			Name:    "preload",
			Needs:   "compared",
			Effect:  "the pages in the old instance's buffer pool are read into the new one's",
			Known:   "the server says the load is complete",
			Timeout: 2 * time.Hour,
			Do:      act.Method((*succession).preload),
		},
		{
			Name:    "gather",
			Needs:   "the new instance has what those who follow the old one have applied",
			Effect:  "the old instance's replicas replicate from the new one; what a cutover must put back is written down",
			Known:   "their replication threads run, from the new address",
			Undone:  "they replicate from the old instance again",
			Timeout: time.Hour,
			Do:      act.Method((*succession).gather),
			Undo:    act.Method((*succession).scatter),
		},
	}
}

// replaced is a step that is that of a replacement, word for word.
func replaced(m func(*replacement, context.Context) error) func(context.Context, *succession) error {
	return func(ctx context.Context, s *succession) error { return m(s.replacement, ctx) }
}
