package backup

import (
	"context"
	"time"

	"stowage/backup/catalogue"
	"stowage/backup/kept"
	"stowage/farm"
)

// DuePairs are the pairs of which a backup is due, by farm.yaml.
func (a *Act) DuePairs(ctx context.Context, now time.Time) ([]farm.PairName, error) {
	all, err := kept.All(a.Store)
	if err != nil {
		return nil, err
	}
	w := Wish{Now: now}
	for _, p := range a.Farm.Pairs {
		w.Pairs = append(w.Pairs, p.Name)
	}
	orders, err := a.sides(w, all)
	if err != nil {
		return nil, err
	}
	var out []farm.PairName
	for n, turn := range a.turns(ctx, now, orders, all) {
		if turn.Due {
			out = append(out, orders[n].Backup.Pair)
		}
	}
	return out, nil
}

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
