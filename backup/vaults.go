package backup

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"stowage/backup/catalogue"
	"stowage/backup/kept"
	"stowage/farm"
	"stowage/host"
	"stowage/internal/nested"
	"stowage/vault"
)

// vaultOn is a vault, when its host answers.
func (a *Act) vaultOn(ctx context.Context, on farm.HostName, p vault.Place) (vault.Vault, error) {
	p = a.placeNow(p)
	if err := a.Greet(ctx, on); err != nil {
		return nil, err
	}
	h, err := a.Host(on)
	if err != nil {
		return nil, err
	}
	return h.Vault(p), nil
}

// Scanned is what was found in vaults beside what the catalogue knew.
type Scanned struct {
	Found   []string `json:"found"`   // are in a vault, and were not in the catalogue: they are now
	Missing []string `json:"missing"` // were in the catalogue, and are in no vault
	Moved   []string `json:"moved"`   // are in another vault than the one that the catalogue named: it names that one now
	// Foreign are whole sets of another farm, or of an unknown account.
	Foreign []string `json:"foreign"`
	Failed  []string `json:"failed"` // vaults that could not be read
}

// placeNow is a place with the files and the level that farm.yaml names for it now: a password file that has another path since is not where a backup says.
func (a *Act) placeNow(p vault.Place) vault.Place {
	_, now := PlaceOf(a.Farm.Backup, "")
	if p.Restic != now.Restic || p.Dir != now.Dir {
		return p
	}
	return now
}

// vaultAt is one vault: a place on a host.
type vaultAt struct {
	on    farm.HostName
	place vault.Place
}

// is names it. What a place was called with besides may have changed since.
func (v vaultAt) is() vaultAt {
	return vaultAt{v.on, vault.Place{Dir: v.place.Dir, Restic: v.place.Restic}}
}

// vaults are those that farm.yaml names now, and those in which known backups are.
func (a *Act) vaults(known []catalogue.Backup) (out []vaultAt) {
	add := func(on farm.HostName, place vault.Place) {
		v := vaultAt{on, place}
		if !slices.ContainsFunc(out, func(x vaultAt) bool { return x.is() == v.is() }) {
			out = append(out, v)
		}
	}
	for _, p := range a.Farm.Pairs {
		for _, side := range p.SideNames() {
			add(PlaceOf(a.Farm.Backup, p.Sides[side].Host))
		}
	}
	for _, b := range known {
		if b.Farm == a.Farm.Name {
			add(b.Host, b.Place)
		}
	}
	return out
}

// Scan reads the vaults of all instances, and those in which known backups are, and puts what is there into the catalogue: after the store was lost, and
// after somebody has removed sets by hand. What cannot be read now is not missing.
func (a *Act) Scan(ctx context.Context, now time.Time) (Scanned, error) {
	out := Scanned{Found: []string{}, Missing: []string{}, Moved: []string{}, Foreign: []string{}, Failed: []string{}}
	known, err := kept.All(a.Store)
	if err != nil {
		return out, err
	}
	whole := map[vaultAt]bool{}
	found := map[string][]foundAt{} // by set: two hosts may have one directory mounted
	var names []string
	for _, at := range a.vaults(known) {
		v, err := a.vaultOn(ctx, at.on, at.place)
		var sets []vault.Manifest
		if err == nil {
			sets, err = v.Sets(ctx, "")
		}
		if whole[at.is()] = err == nil; err != nil {
			out.Failed = append(out.Failed, fmt.Sprintf("%s: %v", at.on, err)) // a set that is damaged keeps nobody from the others
		}
		for _, m := range sets {
			if found[m.Set] == nil {
				names = append(names, m.Set)
			}
			found[m.Set] = append(found[m.Set], foundAt{at, m})
		}
	}
	for _, name := range names {
		if err := a.take(found[name], known, &out); err != nil {
			return out, err
		}
	}
	for _, b := range known {
		if found[b.ID] == nil && whole[vaultAt{b.Host, b.Place}.is()] && b.Farm == a.Farm.Name {
			out.Missing = append(out.Missing, b.ID)
			if err := kept.Removed(a.Store, b.ID, now); err != nil {
				return out, err
			}
		}
	}
	return out, nil
}

// foundAt is a set that is whole, in one of the vaults that have it.
type foundAt struct {
	vaultAt
	set vault.Manifest
}

// take puts a set into the catalogue that is not there, or that is there with a vault that does not have it, or cannot be read: a disk that is mounted elsewhere
// now has its sets at another place than their manifests say.
func (a *Act) take(at []foundAt, known []catalogue.Backup, out *Scanned) error {
	id := at[0].set.Set
	var b catalogue.Backup
	if err := nested.Unmarshal(at[0].set.About, &b); err != nil || b.ID != id || b.Farm != a.Farm.Name {
		if !slices.ContainsFunc(known, func(b catalogue.Backup) bool { return b.ID == id }) {
			out.Foreign = append(out.Foreign, id)
		}
		return nil
	}
	n := slices.IndexFunc(known, func(b catalogue.Backup) bool { return b.ID == id })
	if n >= 0 {
		b = known[n]
	} else {
		b.ProvenAt, b.Damaged, b.RemovedAt = nil, "", nil // whoever proved it was not this catalogue
	}
	isThere := slices.ContainsFunc(at, func(x foundAt) bool { return x.is() == vaultAt{b.Host, b.Place}.is() })
	if !isThere {
		b.Host, b.Place = at[0].on, at[0].place
	}
	switch {
	case n < 0:
		out.Found = append(out.Found, id)
	case !isThere:
		out.Moved = append(out.Moved, fmt.Sprintf("%s to %s on host %s", id, b.Place.Subject(), b.Host))
	default:
		return nil
	}
	return kept.Put(a.Store, b, b.At)
}

// Checked is what a check of one backup found.
type Checked struct {
	ID      string `json:"id"`
	Damaged string `json:"damaged,omitempty"` // what is, and where; empty: it is as it was written
	Error   string `json:"error,omitempty"`   // why it was not read
}

// Check reads backups again and compares them with their sums; what is found is kept in the catalogue.
func (a *Act) Check(ctx context.Context, ids []string, all []catalogue.Backup, tell func(string)) ([]Checked, error) {
	out := []Checked{}
	for _, id := range ids {
		n := slices.IndexFunc(all, func(b catalogue.Backup) bool { return b.ID == id })
		if n < 0 {
			return out, &farm.Error{Op: "check backup", Subject: id, Err: fmt.Errorf("%w: there is no such backup", farm.ErrInput), Hint: "stowage backup list names them"}
		}
		b := all[n]
		tell("reading " + id)
		v, err := a.vaultOn(ctx, b.Host, b.Place)
		if err == nil {
			err = v.Check(ctx, id)
		}
		if ctx.Err() != nil {
			return out, context.Cause(ctx)
		}
		c := Checked{ID: id}
		switch {
		case errors.Is(err, vault.ErrDamaged), errors.Is(err, vault.ErrNone):
			c.Damaged = err.Error()
		case err != nil:
			c.Error = err.Error()
		}
		out = append(out, c)
		if c.Error == "" && c.Damaged != b.Damaged {
			if err := kept.Damaged(a.Store, id, c.Damaged, time.Now().UTC()); err != nil {
				return out, err
			}
		}
	}
	return out, nil
}

// Prune removes chains from their vaults, and then the binary logs that no backup needs any more; at the end repositories give the room back.
func (a *Act) Prune(ctx context.Context, drop []catalogue.Chain, now func() time.Time) ([]kept.Pruned, error) {
	pruned, err := kept.Prune(ctx, a.Store, drop, func(ctx context.Context, b catalogue.Backup) error {
		v, err := a.vaultOn(ctx, b.Host, b.Place)
		if err == nil {
			err = v.Remove(ctx, b.ID)
		}
		if errors.Is(err, vault.ErrNone) {
			return nil // somebody has removed it already
		}
		return err
	}, now)
	return pruned, errors.Join(err, a.pruneBinlogs(ctx, drop, now()), a.pruneVaults(ctx, pruned, drop))
}

// pruneVaults has repositories give back the room of what is gone.
func (a *Act) pruneVaults(ctx context.Context, pruned []kept.Pruned, drop []catalogue.Chain) error {
	gone := map[string]bool{}
	for _, p := range pruned {
		gone[p.ID] = p.Error == ""
	}
	done := map[string]bool{}
	var failed []error
	for _, c := range drop {
		for _, b := range c.Backups {
			key := string(b.Host) + " " + b.Place.Restic
			if !gone[b.ID] || b.Place.Restic == "" || done[key] {
				continue
			}
			done[key] = true
			v, err := a.vaultOn(ctx, b.Host, b.Place)
			if p, ok := v.(vault.Pruner); err == nil && ok {
				err = p.Prune(ctx)
			}
			failed = append(failed, err)
		}
	}
	return errors.Join(failed...)
}

// pruneBinlogs removes what nobody restores through any more, of each instance of which a backup has gone: see catalogue.LogsFrom.
func (a *Act) pruneBinlogs(ctx context.Context, drop []catalogue.Chain, now time.Time) error {
	verdicts, err := Verdicts(a.Store, a.Farm, now)
	if err != nil {
		return err
	}
	var failed []error
	done := map[farm.InstanceName]bool{}
	for _, c := range drop {
		for _, b := range c.Backups {
			if done[b.Instance] {
				continue
			}
			done[b.Instance] = true
			from, ok := catalogue.LogsFrom(verdicts, b.Farm, b.Instance)
			if !ok || from.File == "" {
				continue // nothing is left that says what is needed
			}
			failed = append(failed, a.pruneBefore(ctx, from))
		}
	}
	return errors.Join(failed...)
}

func (a *Act) pruneBefore(ctx context.Context, oldest catalogue.Backup) error {
	oldest.Place = a.placeNow(oldest.Place)
	point := seedPoint(oldest)
	if oldest.Place.Restic != "" {
		keeper, err := a.archivist(ctx, oldest.Host, oldest.Instance)
		if err != nil {
			return err
		}
		_, err = keeper.ForgetBinlogs(ctx, oldest.Place, oldest.Instance, &host.Wanted{Point: point, Position: oldest.GTID})
		return err
	}
	h, err := a.Host(oldest.On)
	if err != nil {
		return err
	}
	on, ok := h.(host.Archivist)
	if !ok {
		return nil
	}
	dir, err := host.ArchiveDir(oldest.Place, oldest.Instance)
	if err != nil {
		return err
	}
	from, err := on.ArchiveFrom(ctx, dir, point, oldest.GTID)
	if errors.Is(err, host.ErrNotArchived) {
		return nil // there is no archive, or it begins later
	}
	if err == nil {
		_, err = on.PruneBinlogs(ctx, dir, from.Mark)
	}
	return err
}
