package backup

import (
	"time"

	"stowage/backup/catalogue"
	"stowage/farm"
)

// LeastProven is the backup that is worth a proof (ToProve) and whose pair and sort were proven longest ago, or never; ok is false where there is no backup.
func LeastProven(f *farm.Farm, all []catalogue.Backup) (found catalogue.Backup, ok bool) {
	var oldest time.Time
	for _, p := range f.Pairs {
		for _, b := range ToProve(f, p.Name, all) {
			if b.GTID == "" {
				continue
			}
			var proven time.Time
			for _, x := range catalogue.Of(all, f.Name, p.Name) {
				if x.ProvenAt != nil && x.ProvenAt.After(proven) && x.IsPhysical() == b.IsPhysical() {
					proven = *x.ProvenAt
				}
			}
			if !ok || proven.Before(oldest) {
				found, oldest, ok = b, proven, true
			}
		}
	}
	return found, ok
}
