package kept

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"stowage/backup/catalogue"
	"stowage/farm"
	"stowage/store"
)

// Kind is that of a backup's documents in the store; their name is the backup's ID, and the newest counts.
const Kind = "backup"

// Put keeps what is known of a backup. What was kept of it before stands beside it.
func Put(s *store.Store, b catalogue.Backup, made time.Time) error {
	return s.PutDocument(Kind, b.ID, made, b)
}

// One is what is known of a backup, also of one that was removed; store.ErrNone when nothing is.
func One(s *store.Store, id string) (catalogue.Backup, error) {
	var b catalogue.Backup
	_, err := s.LatestDocument(Kind, id, &b)
	return b, err
}

// All are the backups that were not removed, in the order of the times at which they stand, the oldest first.
func All(s *store.Store) ([]catalogue.Backup, error) {
	docs, err := s.Documents(Kind)
	if err != nil {
		return nil, err
	}
	newest := map[string]int64{}
	for _, d := range docs {
		newest[d.Name] = d.ID
	}
	out := []catalogue.Backup{}
	for _, id := range newest {
		var b catalogue.Backup
		if err := s.DocumentByID(id, &b); err != nil {
			return nil, err
		}
		if b.RemovedAt == nil {
			out = append(out, b)
		}
	}
	slices.SortFunc(out, func(a, b catalogue.Backup) int {
		return cmp.Or(a.At.Compare(b.At), cmp.Compare(a.ID, b.ID))
	})
	return out, nil
}

// Proven keeps that a restore of a backup was compared with a live server and nothing differed.
func Proven(s *store.Store, id string, at time.Time) error {
	return change(s, id, at, func(b *catalogue.Backup) { b.ProvenAt = &at })
}

// Damaged keeps what a check of a backup found; "" takes it back, and so says that a later check found nothing.
func Damaged(s *store.Store, id, what string, at time.Time) error {
	return change(s, id, at, func(b *catalogue.Backup) { b.Damaged = what })
}

// Removed keeps that a backup is in no vault any more.
func Removed(s *store.Store, id string, at time.Time) error {
	return change(s, id, at, func(b *catalogue.Backup) { b.RemovedAt = &at })
}

func change(s *store.Store, id string, at time.Time, do func(*catalogue.Backup)) error {
	b, err := One(s, id)
	if err != nil {
		return err
	}
	do(&b)
	return Put(s, b, at)
}

// Pruned is what became of a backup that was to go.
type Pruned struct {
	ID    string        `json:"id"`
	Host  farm.HostName `json:"host"`
	Bytes int64         `json:"bytes"`
	Error string        `json:"error,omitempty"` // empty: it is gone
}

// Prune removes chains from their vaults with remove, and keeps that they are gone. Within a chain the newest goes first, so that what is left
// is a chain whenever this ends. A backup that cannot be removed stays with those that it is based on, and the others go on. The error is that of ctx, of the store, or
// those of remove together.
func Prune(ctx context.Context, s *store.Store, chains []catalogue.Chain, remove func(context.Context, catalogue.Backup) error, now func() time.Time) ([]Pruned, error) {
	out := []Pruned{}
	var failed []error
	for _, c := range chains {
		for _, b := range slices.Backward(c.Backups) { // each stands after its base
			if err := ctx.Err(); err != nil {
				return out, errors.Join(append(failed, err)...)
			}
			p := Pruned{ID: b.ID, Host: b.Host, Bytes: b.Bytes}
			err := remove(ctx, b)
			if err == nil {
				if err := Removed(s, b.ID, now()); err != nil {
					return out, errors.Join(append(failed, err)...)
				}
				out = append(out, p)
				continue
			}
			p.Error = err.Error()
			out = append(out, p)
			failed = append(failed, &farm.Error{Op: "remove backup", Subject: b.ID, Err: err})
			break
		}
	}
	return out, errors.Join(failed...)
}
