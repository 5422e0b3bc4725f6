package backup

import (
	"cmp"
	"slices"
	"time"

	"stowage/backup/catalogue"
	"stowage/farm"
	"stowage/store"
)

// LeastProven are the backups that are worth a proof (ToProve), those first whose pair and sort were proven, or tried in one of the runs, longest ago, or never.
// One that fails goes to the end: it does not keep the others unproven.
func LeastProven(f *farm.Farm, all []catalogue.Backup, runs []store.Run) []catalogue.Backup {
	var out []catalogue.Backup
	last := map[string]time.Time{}
	for _, p := range f.Pairs {
		its := catalogue.Of(all, f.Name, p.Name)
		for _, b := range ToProve(f, p.Name, all) {
			if b.GTID == "" {
				continue
			}
			for _, x := range its {
				if x.IsPhysical() == b.IsPhysical() {
					last[b.ID] = newer(last[b.ID], lastTried(x, runs))
				}
			}
			out = append(out, b)
		}
	}
	slices.SortStableFunc(out, func(a, b catalogue.Backup) int {
		return cmp.Or(last[a.ID].Compare(last[b.ID]), cmp.Compare(a.ID, b.ID))
	})
	return out
}

// lastTried is when a backup was proven, or when a run last began to; zero: never.
func lastTried(b catalogue.Backup, runs []store.Run) (last time.Time) {
	if b.ProvenAt != nil {
		last = *b.ProvenAt
	}
	for _, r := range runs {
		if r.Subject == verifying+flat(b.ID) {
			last = newer(last, r.Started)
		}
	}
	return last
}

func newer(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}
