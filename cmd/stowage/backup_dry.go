package main

import (
	"cmp"
	"errors"
	"io"
	"slices"

	"stowage/backup"
	"stowage/backup/window"
	"stowage/farm"
	"stowage/internal/table"
	"stowage/session"
)

// backupDryAnswer is what `backup run --dry-run` prints.
type backupDryAnswer struct {
	preflightAnswer
	Backups []backup.Planned `json:"backups"`
	// Window is that of full copies of these pairs, on paper.
	Window window.Window `json:"window"`
}

// backupDry says what would be copied from where, how long that takes on paper, and what was found.
func (a *app) backupDry(d *session.Session, backing *backup.Act, w backup.Wish, findings []farm.Finding, refused error) error {
	out := backupDryAnswer{preflightAnswer: preflightOfAll("backup", w.Name, findings, refused)}
	out.Backups = backing.Planned()
	ask := windowAsk{of: d.Farm.Clone(), sides: map[farm.PairName]farm.SideName{}}
	for _, b := range out.Backups {
		ask.sides[b.Pair] = b.Side
	}
	ask.of.Pairs = slices.DeleteFunc(ask.of.Pairs, func(p farm.Pair) bool { return ask.sides[p.Name] == "" })
	paper, err := a.windowOf(d, ask)
	if err != nil {
		return err
	}
	out.Window = paper.Now
	err = a.emit(out, func(to io.Writer) error {
		t := table.New(to, "INSTANCE\tPAIR\tKIND\tBASED ON\tABOUT\tFROM\tTO").Names("INSTANCE", "PAIR", "BASED ON", "FROM", "TO")
		for _, b := range out.Backups {
			t.Row("%s\t%s/%s\t%s\t%s\t%s\t%s\t%s", b.Instance, b.Pair, b.Side, b.Kind, cmp.Or(b.Base, "-"), farm.RoundQuantity(float64(b.Raw), farm.KindBytes), b.From, b.To)
		}
		return errors.Join(t.Flush(), windowText(to, "as full copies, on paper", out.Window, 20), out.writeText(to))
	}, a.afterDry(refused, findings)...)
	if refused == nil && out.Blockers > 0 {
		refused = farm.ErrFindings // the others can begin
	}
	return errors.Join(err, refused)
}
