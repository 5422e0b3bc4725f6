package main

import (
	"slices"
	"time"

	"stowage/backup"
	"stowage/backup/catalogue"
	"stowage/backup/window"
	"stowage/farm"
	"stowage/placement"
	"stowage/report"
	"stowage/serve"
	"stowage/session"
)

// knownBackup is what the page about backups has as JSON: what `stowage backup status` prints, and more.
type knownBackup struct {
	backupStatus
	Verified []backup.Verified `json:"verified"` // the newest of each pair, in the order of farm.yaml
	Run      string            `json:"run"`      // the newest that has made backups; empty: none has
	Made     []backupRow       `json:"made"`     // by it
	Window   backupWindow      `json:"window"`   // as `stowage backup window` prints it
}

// paperWindow has a full backup of all pairs on paper, and how fast one backup is.
type paperWindow func(*session.Session) (backupWindow, error)

// knownBackups are what is known of the farm's backups; nil where farm.yaml has no place for them and none was made.
func (a *app) knownBackups(d *session.Session, f *report.KnowFacts, paper paperWindow) (any, error) {
	status, err := keptStatus(d, f.Made)
	if status == nil || err != nil {
		return nil, err
	}
	out := knownBackup{backupStatus: *status, Verified: []backup.Verified{}, Made: []backupRow{}}
	if out.Window, err = paper(d); err != nil {
		return nil, err
	}
	known := &report.BackupFacts{Report: status.Report, Asked: d.Farm.Backup, Paper: out.Window.Now, Rate: out.Window.Stream, Verified: map[farm.PairName]report.BackupProof{}}
	if d.Store != nil {
		if err := addProofs(d, &out, known); err != nil {
			return nil, err
		}
	}
	f.Backups = known
	return out, nil
}

// keptStatus is how the farm's backups stand; nil where farm.yaml has no place for them and none was made.
func keptStatus(d *session.Session, now time.Time) (*backupStatus, error) {
	archived, err := backup.ArchivedIn(d.Workspace)
	if err != nil {
		return nil, err
	}
	s, err := backupStatusOf(d, archived, now)
	has := d.Farm.Backup.IsPlace() || slices.ContainsFunc(s.Pairs, func(p catalogue.PairStatus) bool { return p.Backups > 0 })
	if err != nil || !has {
		return nil, err
	}
	return &s, nil
}

// addProofs adds what was verified when, and what the newest run has made.
func addProofs(d *session.Session, out *knownBackup, known *report.BackupFacts) error {
	all, err := keptBackups(d)
	if err != nil {
		return err
	}
	verified, err := backup.VerifiedIn(d.Store, all)
	if err != nil {
		return err
	}
	for _, p := range d.Farm.Pairs {
		if v, has := verified[p.Name]; has {
			out.Verified = append(out.Verified, v)
			known.Verified[p.Name] = report.BackupProof{At: v.At, Backup: v.Backup, Rows: v.Rows, Differ: v.Differ, Seconds: v.Seconds}
		}
	}
	run, made, err := backup.NewestMade(d.Store)
	if err != nil {
		return err
	}
	out.Run, known.Run, known.Made = run.ID, run.ID, made
	out.Made = append(out.Made, backupRows(made)...)
	return nil
}

// addBackupsOfPlan adds the window on both sides of a plan, on paper.
func (a *app) addBackupsOfPlan(d *session.Session, p placement.Plan, known *report.BackupFacts) error {
	goals, err := d.GoalsFor(d.Farm)
	if err != nil {
		return err
	}
	limits := backupLimits(d.Farm.Backup, goals)
	limits.Stream = known.Rate.PerSecond
	then := report.PlannedFarm(report.PlanFacts{Plan: p, Now: d.Farm})
	before, after := window.Of(then, limits), window.Of(applied(p, then), limits)
	known.Plan, known.Before, known.After = p.Name, &before, &after
	return nil
}

// backups is the page about them. What is on paper is reckoned again when the store, farm.yaml or goals.yaml has changed; ages are those of now.
func (s *shelf) backups() (serve.Shown, error) {
	db := s.ws.StatePath("stowage.db")
	paper := func(d *session.Session) (backupWindow, error) {
		return s.windows.of(func() (backupWindow, error) { return s.app.windowOf(d, windowAsk{}) }, db, db+"-wal", s.ws.Path("farm.yaml"), s.ws.Path("goals.yaml"))
	}
	add := func(d *session.Session, f *report.KnowFacts) (any, error) { return s.app.knownBackups(d, f, paper) }
	return s.known("farm.yaml says nothing of backups, and none was made: give it a place for them, as backup: {dir: /srv/backup}, then stowage backup run takes one of each pair, and stowage backup verify restores and compares it.",
		[]string{"backup status"}, add, report.NewBackupsDocument)
}
