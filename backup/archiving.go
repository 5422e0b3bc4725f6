package backup

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"stowage/backup/catalogue"
	"stowage/farm"
	"stowage/host"
	"stowage/session"
)

// Archiving is what came of archiving one instance's binary log.
type Archiving struct {
	Pair     farm.PairName     `json:"pair"`
	Instance farm.InstanceName `json:"instance"`
	Host     farm.HostName     `json:"host"`
	Dir      string            `json:"dir"`
	host.Archived
	Error  string `json:"error,omitempty"`
	former bool   // another side is backed up since
	Remedy string `json:"remedy,omitempty"`
}

// ArchiveBinlogs appends to the archives what servers have written to their binary logs since the last time. Of each pair it takes the instance with the
// newest backup that can be restored: only that log continues the backup. Where that is another side than before, the log of the former side is archived
// once more, up to that backup: moments before it are restored through that log. Pairs without a backup are left out. An archive that fails does not stop the others. When a
// server has written nothing, its repository gets an empty piece that says so, at most one in each silence.
func (a *Act) ArchiveBinlogs(ctx context.Context, all []catalogue.Backup, silence time.Duration) []Archiving {
	var out []Archiving
	seen, err := ArchivedIn(a.Workspace)
	if err != nil {
		a.Log.Warn("nobody knows how far the archives of former sides go", "error", err)
	}
	for _, p := range a.Farm.Pairs {
		its := catalogue.Of(catalogue.Physical(all), a.Farm.Name, p.Name)
		n := slices.IndexFunc(its, func(b catalogue.Backup) bool { return b.GTID != "" })
		if n < 0 {
			continue
		}
		newest, ok := Newest(its, string(p.Name), Until{})
		if !ok { // each is damaged
			newest = its[len(its)-1]
		}
		if side, ok := p.Sides[newest.Side]; ok && p.Instance(newest.Side) == newest.Instance {
			out = append(out, Archiving{Pair: p.Name, Instance: newest.Instance, Host: side.Host})
		}
		out = append(out, formerOf(a.Farm.Name, p, newest, its, seen)...)
	}
	room := make(chan struct{}, askedAtOnce)
	var wg sync.WaitGroup
	for n := range out {
		wg.Go(func() {
			room <- struct{}{}
			defer func() { <-room }()
			if err := a.archive(ctx, &out[n], silence); err != nil {
				out[n].Error, out[n].Remedy = err.Error(), farm.Hint(err)
				return
			}
			if err := a.keepArchived(out[n]); err != nil {
				out[n].Error = err.Error()
			}
		})
	}
	wg.Wait()
	return slices.DeleteFunc(out, func(x Archiving) bool {
		if x.former && x.Error != "" { // its server may be gone for good
			a.Log.Info("the binary log of a former side was not archived up to the backup of the other side", "instance", x.Instance, "error", x.Error)
		}
		return x.former && x.Error != ""
	})
}

// formerOf are the sides of a pair that have backups, and whose archives end before the newest backup of another side.
func formerOf(of string, p farm.Pair, newest catalogue.Backup, its []catalogue.Backup, seen []catalogue.Archived) (out []Archiving) {
	for _, x := range seen {
		if x.Farm != of || x.Pair != p.Name || x.Instance == newest.Instance || !x.Until.Before(newest.At) {
			continue
		}
		if _, has := Newest(its, string(x.Instance), Until{}); !has {
			continue
		}
		for _, name := range p.SideNames() {
			if p.Instance(name) == x.Instance {
				out = append(out, Archiving{Pair: p.Name, Instance: x.Instance, Host: p.Sides[name].Host, former: true})
			}
		}
	}
	return out
}

// archive brings one archive up to date.
func (a *Act) archive(ctx context.Context, x *Archiving, silence time.Duration) error {
	pair, _ := a.Farm.Pair(x.Pair)
	var at farm.Side
	for _, side := range pair.SideNames() {
		if pair.Instance(side) == x.Instance {
			at = pair.Sides[side]
		}
	}
	on, err := a.archivist(ctx, at.Host, x.Instance)
	if err != nil {
		return err
	}
	keeper, place := PlaceOf(a.Farm.Backup, at.Host)
	if place.Restic == "" {
		if x.Dir, err = host.ArchiveDir(place, x.Instance); err != nil {
			return err
		}
	}
	address, _ := a.Farm.Host(at.Host)
	here := session.InstanceAt(a.Workspace, x.Instance, address.Address, at)
	server := a.Server(x.Instance, here.Dial())
	defer server.Close()
	asked, cancel := context.WithTimeout(ctx, askedFor)
	defer cancel()
	vars, err := server.Variables(asked, "log_bin_index") // one that does not answer is archived by its option file
	if err != nil {
		vars = nil
	}
	if place.Restic != "" {
		return a.archiveInto(ctx, x, spooling{on: on, from: at.Host, keeper: keeper, place: place, order: host.Spooling{Instance: here, Index: vars["log_bin_index"], Silence: silence}})
	}
	x.Archived, err = on.ArchiveBinlogs(ctx, here, vars["log_bin_index"], x.Dir)
	return err
}

// archivist is a host that archives binary logs, once it has answered. Its errors name the instance.
func (a *Act) archivist(ctx context.Context, on farm.HostName, instance farm.InstanceName) (host.Archivist, error) {
	if err := a.Greet(ctx, on); err != nil {
		return nil, err
	}
	h, err := a.Host(on)
	if err != nil {
		return nil, err
	}
	out, ok := h.(host.Archivist)
	if !ok {
		return nil, &farm.Error{Op: "archive binary log", Subject: string(instance), Err: fmt.Errorf("%w: host %s cannot do that", farm.ErrRefused, on), Hint: "is its agent of this version? stowage agent status"}
	}
	return out, nil
}
