package move

import (
	"time"

	"stowage/act"

	"stowage/swing"
)

// emptiedSteps retire a pair that holds no shard any more, in order.
func emptiedSteps() []swing.Step[*emptied] {
	return []swing.Step[*emptied]{
		{
			Name:    "preflight",
			Needs:   "all shards of the pair have settled elsewhere",
			Effect:  "none",
			Known:   "farm.yaml, routing and the servers have nothing there, and no server replicates from it",
			Timeout: 5 * time.Minute,
			Do:      act.Method((*emptied).preflight),
		},
		{
			Name:    "unlist",
			Needs:   "the pair is empty",
			Effect:  "routing does not have the pair any more",
			Known:   "routing does not show it",
			Undone:  "routing has it again, without a shard",
			Timeout: 5 * time.Minute,
			Do:      act.Method((*emptied).unlist),
			Undo:    act.Method((*emptied).relist),
		},
		{
			Name:    "soak",
			Needs:   "routing sends no client there",
			Effect:  "none: the pair stands by as long as the goals ask",
			Known:   "the time is over",
			Timeout: 7 * 24 * time.Hour,
			Do:      act.Method((*emptied).soak),
		},
		{
			Name:     "retire",
			Needs:    "the pair is still empty, and no server replicates from it",
			Effect:   "farm.yaml does not have the pair any more; its instances are stopped, their files stay",
			Known:    "farm.yaml does not show it and the processes are gone",
			NoReturn: true,
			Phases:   []string{"record", "stop"},
			Timeout:  30 * time.Minute,
			Do:       act.Method((*emptied).retire),
		},
	}
}
