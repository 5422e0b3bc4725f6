package backup

import (
	"time"

	"stowage/act"
	"stowage/backup/catalogue"
	"stowage/backup/dump"
	"stowage/engine"
	"stowage/host"
	"stowage/mysql"
	"stowage/swing"
)

// The kinds of runs, and what Restore has besides its first runbook.
const (
	Backup  = "backup"
	Restore = "restore"

	cloned    = "clone"
	verify    = "verify"
	extract   = "extract"
	asSide    = "side"
	asReplica = "replica"
)

// Act is the carrying out of runs of one of these kinds in a session.
type Act struct {
	*act.Act
	// Patience is how long a server may take to catch up.
	Patience time.Duration

	settings swing.Settings
	edited   *host.Editor

	planned []Planned  // by the last Begin
	left    []act.Left // by the last Begin
}

// NewAct makes backups what an act carries out, in a session that is prepared.
func NewAct(bare *act.Act, s swing.Settings) *Act { return of(bare, s, Kind) }

// NewRestore makes restores what an act carries out.
func NewRestore(bare *act.Act, s swing.Settings) *Act { return of(bare, s, RestoreKind) }

func of(bare *act.Act, s swing.Settings, kind func(*Act) act.Kind) *Act {
	a := &Act{Act: bare, Patience: s.CatchUp, settings: s, edited: &host.Editor{}}
	a.Kind = kind(a)
	return a
}

// Kind is backing up. That of an Act that is nil can be looked at and not carried out.
func Kind(a *Act) act.Kind {
	return act.Kind{Name: Backup, Part: "instance", Ungated: true, Stuck: stuckText, Again: "remedy the cause and repeat: stowage backup run; finished copies are kept", Runbooks: []act.Runbook{
		act.NewRunbook("copy", takingSteps(), func(c engine.Call, s act.Step, beat func(string)) (*taking, error) { return a.taking(c, s, beat) }),
		act.NewRunbook(cloned, cloningSteps(), func(c engine.Call, s act.Step, beat func(string)) (*taking, error) { return a.taking(c, s, beat) }),
	}}
}

// RestoreKind is restoring, as Kind is backing up.
func RestoreKind(a *Act) act.Kind {
	open := func(c engine.Call, s act.Step, beat func(string)) (*restoring, error) { return a.restoring(c, s, beat) }
	steps := restoringSteps()
	return act.Kind{Name: Restore, Part: "instance", Ungated: true, Again: "remedy the cause and run it again; no serving server and no vault was changed", Stuck: "the restored rows are compared; remedy the cause, then: stowage resume", Runbooks: []act.Runbook{
		act.NewRunbook("restore", steps, open),
		act.NewRunbook(verify, append(steps[:len(steps):len(steps)], verifyingSteps()...), open),
		act.NewRunbook(extract, append(steps[:len(steps):len(steps)], extractingSteps()...), open),
		act.NewRunbook(asSide, adoptingSteps(), open),
		act.NewRunbook(asReplica, adoptingReplicaSteps(), open),
	}}
}

// stuckText is for a set whose manifest could not be written, or not be kept.
const stuckText = "the copy is complete, but not in the catalogue; remedy the cause, then: stowage resume"

// partOf is the name that the stream of a backup has in its set.
func partOf(b catalogue.Backup) string {
	switch {
	case b.Kind == catalogue.Incremental:
		return "delta.xb"
	case b.Kind == catalogue.Logical:
		return dump.Part
	case isClone(b):
		return host.FilesPart
	}
	return "base.xb"
}

// isClone reports whether a backup is the data directory of a clone of a MySQL server.
func isClone(b catalogue.Backup) bool {
	return b.IsPhysical() && flavorOf(b).ClonesItself()
}

// flavorOf is what wrote a backup.
func flavorOf(b catalogue.Backup) mysql.Flavor {
	if b.Version == "" {
		return mysql.Flavor{Vendor: "MariaDB"}
	}
	return mysql.ParseFlavor(b.Version)
}
