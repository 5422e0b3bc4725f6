package backup

import (
	"time"

	"stowage/backup/catalogue"
	"stowage/farm"
)

// LeastProven is the newest backup of the pair whose newest proof is oldest, or that has none; ok is false where there is no backup.
func LeastProven(f *farm.Farm, all []catalogue.Backup) (found catalogue.Backup, ok bool) {
	var oldest time.Time
	for _, p := range f.Pairs {
		b, has := Newest(all, string(p.Name), Until{})
		if !has || b.GTID == "" {
			continue
		}
		var proven time.Time
		for _, x := range catalogue.Of(all, f.Name, p.Name) {
			if x.ProvenAt != nil && x.ProvenAt.After(proven) {
				proven = *x.ProvenAt
			}
		}
		if !ok || proven.Before(oldest) {
			found, oldest, ok = b, proven, true
		}
	}
	return found, ok
}
