package backup

import (
	"time"

	"stowage/act"
	"stowage/swing"
)

// takingSteps are those of the backup of one instance. It serves all the time.
func takingSteps() []swing.Step[*taking] {
	return []swing.Step[*taking]{
		{
			Name:    "preflight",
			Needs:   "the instance answers",
			Effect:  "none",
			Known:   "preflight finds no blocker",
			Timeout: 2 * time.Minute,
			Do:      act.Method((*taking).preflight),
		},
		{
			Name:    "copy",
			Needs:   "room in the vault",
			Effect:  "the set has its stream, and is not complete yet",
			Known:   "the stream is complete, and each piece has its checksum",
			Undone:  "what there is of the set is removed",
			Timeout: 48 * time.Hour,
			Do:      act.Method((*taking).copy),
			Undo:    act.Method((*taking).drop),
		},
		{
			Name:    "position",
			Needs:   "the copy names its position in the binary log",
			Effect:  "none",
			Known:   "the instance gave the GTID position of that file and offset",
			Timeout: 2 * time.Minute,
			Do:      act.Method((*taking).position),
		},
		{
			Name:     "seal",
			Needs:    "the stream and its position",
			Effect:   "the set is whole, and in the catalogue",
			Known:    "its manifest is there, written last",
			NoReturn: true,
			Phases:   []string{"manifest", "record"},
			Timeout:  10 * time.Minute,
			Do:       act.Method((*taking).seal),
		},
	}
}
