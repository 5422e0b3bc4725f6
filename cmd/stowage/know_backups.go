package main

import (
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

// keptCopies is what the store has on backups.
type keptCopies struct {
	all      []catalogue.Backup
	verified map[farm.PairName]backup.Verified
	run      string // the newest that has made backups
	made     []catalogue.Backup
}

func copiesOf(d *session.Session) (c keptCopies, err error) {
	if d.Store == nil {
		return c, nil
	}
	if c.all, err = keptBackups(d); err != nil {
		return c, err
	}
	if c.verified, err = backup.VerifiedIn(d.Store, c.all); err != nil {
		return c, err
	}
	run, made, err := backup.NewestMade(d.Store)
	c.run, c.made = run.ID, made
	return c, err
}

// backupReads are how the two things are read that take long in a large farm.
type backupReads struct {
	copies func(*session.Session) (keptCopies, error)
	paper  func(*session.Session) (backupWindow, error) // a full backup of all pairs, on paper
}

// knownBackups are what is known of the farm's backups; nil where farm.yaml has no place for them and none was made.
func knownBackups(d *session.Session, f *report.KnowFacts, read backupReads) (any, error) {
	c, err := read.copies(d)
	if err != nil || !hasBackups(d, c.all) {
		return nil, err
	}
	out := knownBackup{Verified: []backup.Verified{}, Run: c.run, Made: append([]backupRow{}, backupRows(c.made)...)}
	if out.backupStatus, err = backupStatusOf(d, c.all, f.Made); err != nil {
		return nil, err
	}
	if out.Window, err = read.paper(d); err != nil {
		return nil, err
	}
	f.Backups = &report.BackupFacts{Report: out.Report, Asked: d.Farm.Backup, Run: c.run, Made: c.made, Paper: out.Window.Now, Rate: out.Window.Stream, Verified: map[farm.PairName]report.BackupProof{}}
	for _, p := range d.Farm.Pairs {
		if v, has := c.verified[p.Name]; has {
			out.Verified = append(out.Verified, v)
			f.Backups.Verified[p.Name] = report.BackupProof{At: v.At, Backup: v.Backup, Rows: v.Rows, Differ: v.Differ, Seconds: v.Seconds}
		}
	}
	return out, nil
}

// hasBackups: farm.yaml has a place for backups, or some were made.
func hasBackups(d *session.Session, all []catalogue.Backup) bool {
	return len(all) > 0 || d.Farm.Backup.IsPlace()
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

// backups is the page about them. What is kept and what is on paper is read again when the store, farm.yaml or goals.yaml has changed; ages are those of now.
func (s *shelf) backups() (serve.Shown, error) {
	db := s.ws.StatePath("stowage.db")
	files := []string{db, db + "-wal", s.ws.Path("farm.yaml"), s.ws.Path("goals.yaml")}
	read := backupReads{
		copies: func(d *session.Session) (keptCopies, error) {
			return s.copies.of(func() (keptCopies, error) { return copiesOf(d) }, files...)
		},
		paper: func(d *session.Session) (backupWindow, error) {
			return s.windows.of(func() (backupWindow, error) { return s.app.windowOf(d, windowAsk{}) }, files...)
		},
	}
	add := func(d *session.Session, f *report.KnowFacts) (any, error) { return knownBackups(d, f, read) }
	return s.known("farm.yaml names no place for backups, and none was made. Add one, as backup: {dir: /srv/backup}; stowage backup run then backs up each pair, and stowage backup verify restores and compares the backups.",
		[]string{"backup status"}, add, report.NewBackupsDocument)
}
