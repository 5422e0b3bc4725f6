package main

import (
	"errors"
	"fmt"
	"io"

	"stowage/backup/catalogue"
	"stowage/farm"
)

// backupRows are backups that a run has made.
func backupRows(made []catalogue.Backup) (out []backupRow) {
	for _, b := range made {
		b.Options = ""
		out = append(out, backupRow{Backup: b, Where: whereOf(b), ProvenAt: b.ProvenAt})
	}
	return out
}

// writeBackups prints how a run ended that closes no gate, and the backups that it has made.
func (s moveSummary) writeBackups(w io.Writer) error {
	_, err := fmt.Fprintf(w, "%s: %d of %s %s in %.1f s\n", s.Run, s.Moved, farm.Counted(s.Sides, s.part), s.did, s.Seconds)
	for _, b := range s.Backups {
		rate := float64(b.Raw) / max(b.Seconds, 0.001)
		_, e := fmt.Fprintf(w, "  %s: %s in %.1f s (%s), %s in %s\n", b.ID, farm.RoundQuantity(float64(b.Raw), farm.KindBytes), b.Seconds,
			farm.RoundQuantity(rate, farm.KindByteRate), farm.RoundQuantity(float64(b.Bytes), farm.KindBytes), b.Where)
		err = errors.Join(err, e)
	}
	return err
}
