package backup

import (
	"slices"
	"time"

	"stowage/act"
	"stowage/swing"
)

// adoptingSteps make an instance of a backup, and a side of its pair of that. The clients of the side that is lost come first: they are sent to its twin
// before a copy that takes hours. The rest is the dance of any side that comes back.
func adoptingSteps() []swing.Step[*restoring] {
	restore, dance := madeOfABackup(), swing.Steps(rewireStep())
	out := dance[0]
	out.Needs = "the side that is lost does not answer, and its twin receives nothing from it"
	out.Effect = "the twin has applied what it had received; it serves the side's clients"
	out.Undone = "nothing: the clients stay with the twin, because the server they came from is lost"
	out.Phases = []string{"barrier", "flip"}
	return slices.Concat(restore[:1], []swing.Step[*restoring]{out}, restore[1:], attachingSteps(), dance[1:], []swing.Step[*restoring]{adoptStep()})
}

// adoptingReplicaSteps are the same for a replica of a pair with one writer: its readers come first, and the primary follows nobody.
func adoptingReplicaSteps() []swing.Step[*restoring] {
	restore, dance := madeOfABackup(), swing.StepsWith(rewireStep(), []string{"flip"}, swing.FollowerIn)
	out := dance[0]
	out.Needs = "the replica that is lost does not answer"
	out.Effect = "routing no longer names it; its readers go to other replicas, or to the primary"
	out.Known = "routing's list of replicas is without it"
	out.Undone = "nothing: the server that its readers came from is lost"
	in := dance[len(dance)-1]
	in.Effect = "routing names the restored replica in place of the lost one"
	in.Known = "routing's list of replicas has it"
	in.Undone = "routing does not name it"
	return slices.Concat(restore[:1], []swing.Step[*restoring]{out}, restore[1:], attachingSteps(), dance[2:len(dance)-1], []swing.Step[*restoring]{in, adoptStep()})
}

// madeOfABackup are the steps of a restore up to the position of the backup.
func madeOfABackup() []swing.Step[*restoring] {
	return slices.DeleteFunc(restoringSteps(), func(s swing.Step[*restoring]) bool {
		return s.Name == "replay" || s.Name == "check" // what came after the backup comes from the twin; all rows are compared, and the dance has a check of its own
	})
}

func attachingSteps() []swing.Step[*restoring] {
	return []swing.Step[*restoring]{
		{
			Name:    "attach",
			Needs:   "the twin's binary logs reach back to the backup",
			Effect:  "the restored instance replicates from the twin; the twin's scheduled events do not fire on it",
			Known:   "it has applied what the twin had written when the step began",
			Timeout: 48 * time.Hour,
			Do:      act.Method((*restoring).attach),
		},
		{
			Name:    "compare",
			Needs:   "caught up",
			Effect:  "the restored instance stops at a barrier while rows are compared",
			Known:   "the checksums of all rows of all tables are those of the twin, at one GTID position",
			Timeout: 24 * time.Hour,
			Do:      act.Method((*restoring).compareSide),
		},
	}
}

func rewireStep() swing.Step[*restoring] {
	return swing.Step[*restoring]{
		Name:    "rewire",
		Needs:   "compared",
		Effect:  "the twin replicates from the restored instance instead of the lost one",
		Known:   "both of the twin's replication threads run, from the new address",
		Undone:  "the twin replicates from the lost server's address again, and waits for it",
		Phases:  []string{"wait", "repoint"},
		Timeout: 10 * time.Minute,
		Do:      act.Method((*restoring).rewire),
		Undo:    act.Method((*restoring).unwire),
	}
}

func adoptStep() swing.Step[*restoring] {
	return swing.Step[*restoring]{
		Name:     "adopt",
		Needs:    "the restored instance serves the whole side",
		Effect:   "farm.yaml names the new place; the catalogue says that the backup is proven",
		Known:    "farm.yaml shows the new place",
		NoReturn: true,
		Phases:   []string{"settle", "record", "proven"},
		Timeout:  15 * time.Minute,
		Do:       act.Method((*restoring).adopt),
	}
}
