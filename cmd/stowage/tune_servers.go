package main

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"stowage/farm"
	"stowage/mysql"
	"stowage/session"
	"stowage/tune"
	"stowage/tune/probe"
)

// localServers asks the instances of farm.yaml that run on this machine. What
// keeps it from asking is said and is no failure: their option files remain.
func (a *app) localServers(ctx context.Context) ([]probe.Server, []tune.Unread) {
	unasked := func(why string) []tune.Unread { return []tune.Unread{{What: "running servers", Why: why}} }
	if _, err := os.Stat(filepath.Join(a.dir, "farm.yaml")); errors.Is(err, fs.ErrNotExist) {
		return nil, unasked("not asked: no farm.yaml here (-C DIR)")
	}
	d, err := a.open()
	if err != nil {
		return nil, unasked(err.Error())
	}
	defer d.Close()
	if err := d.Login(); err != nil {
		return nil, unasked(err.Error())
	}
	var out []probe.Server
	var silent []tune.Unread
	for name, s := range a.serversHere(ctx, d) {
		variables, status, err := s.Settings(ctx)
		_ = s.Close()
		if err != nil {
			silent = append(silent, tune.Unread{What: string(name), Why: err.Error()})
			continue
		}
		out = append(out, probe.Server{Name: string(name), Variables: variables, Status: status})
	}
	return out, silent
}

// serversHere yields the instances of farm.yaml on this machine, in its order.
func (a *app) serversHere(ctx context.Context, d *session.Session) func(func(farm.InstanceName, *mysql.Server) bool) {
	return func(yield func(farm.InstanceName, *mysql.Server) bool) {
		machine := a.machines(ctx, d.Farm)
		for _, p := range d.Farm.Pairs {
			for _, side := range p.SideNames() {
				x := p.Sides[side]
				if machine[x.Host] != thisMachine {
					continue
				}
				name := p.Instance(side)
				if !yield(name, d.Server(name, d.Farm.Address(x))) {
					return
				}
			}
		}
	}
}
