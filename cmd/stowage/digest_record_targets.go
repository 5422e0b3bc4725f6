package main

import (
	"context"
	"fmt"
	"net"
	"path/filepath"
	"slices"

	"stowage/farm"
	"stowage/mysql"
	"stowage/record"
	"stowage/session"
	"stowage/workspace"
)

// recordTarget is an instance to record, and who does it: the agent of a host,
// or this program.
type recordTarget struct {
	record.Target
	agent farm.HostName // "": this program
}

// recorder is a Recorder of this workspace.
func (a *app) recorder(d *session.Session) *record.Recorder {
	return &record.Recorder{Dir: recordDir(d.Workspace), Log: a.log, Border: a.border, Keep: a.saveDigest}
}

func recordDir(ws *workspace.Workspace) string { return filepath.Join(ws.State(), "record") }

// recordsAsAdmin: the accounts file has no account for recordings alone.
func recordsAsAdmin(d *session.Session) bool { return d.Recording.User == d.Admin.User }

// recordAs is the login that an agent gets with an order. From the network a
// recording needs none: only an account that is for recordings goes there, to
// watch how busy the server is.
func recordAs(d *session.Session, from record.From, address string) mysql.Account {
	if from == record.FromNetwork && recordsAsAdmin(d) {
		return mysql.Account{}
	}
	return d.Recording.At(address)
}

// recorded are servers as they are recorded, and put back.
func (a *app) recorded(d *session.Session) func(farm.InstanceName, string) *mysql.Server {
	return func(name farm.InstanceName, address string) *mysql.Server {
		return mysql.Open(name, address, d.Recording, a.log)
	}
}

// targets are the instances named, or all that run on this machine or have an
// agent, with the names of those that do not.
func (a *app) targets(ctx context.Context, d *session.Session, names []string) (found []recordTarget, elsewhere []string, err error) {
	known, ports := map[string]bool{}, map[string]int{}
	machine := a.machines(ctx, d.Farm)
	for _, p := range d.Farm.Pairs {
		for _, side := range p.SideNames() {
			x := p.Sides[side]
			known[string(p.Instance(side))] = true
			ports[fmt.Sprint(machine[x.Host], x.Port)]++
		}
	}
	for _, n := range names {
		switch {
		case known[n]:
		case isAddress(n):
			found = append(found, recordTarget{Target: record.Target{Instance: farm.InstanceName(n), Address: n, Server: d.Server, Place: record.Here{}}})
		default:
			return nil, nil, &farm.Error{Op: "record", Subject: n, Err: fmt.Errorf("%w: farm.yaml has no instance of that name", farm.ErrInput),
				Hint: "an instance is called as its pair, with its side: dbshard001a; a server of this machine that is not in farm.yaml: 127.0.0.1:3306"}
		}
	}
	for _, p := range d.Farm.Pairs {
		for _, side := range p.SideNames() {
			x, n := p.Sides[side], p.Instance(side)
			t := recordTarget{Target: record.Target{Instance: n, Address: d.Farm.Address(x), Server: a.recorded(d), Place: record.Here{}, Shared: ports[fmt.Sprint(machine[x.Host], x.Port)] > 1}}
			if d.Farm.Agents.On(x.Host) {
				t.agent = x.Host
			}
			switch {
			case len(names) > 0 && !slices.Contains(names, string(n)):
			case len(names) == 0 && t.agent == "" && machine[x.Host] != thisMachine:
				elsewhere = append(elsewhere, string(n))
			default:
				found = append(found, t)
			}
		}
	}
	if len(found) == 0 {
		return nil, nil, &farm.Error{Op: "record", Err: fmt.Errorf("%w: none of the %s of farm.yaml runs on this machine or on a host with an agent", farm.ErrInput, farm.Counted(len(elsewhere), "instance")),
			Hint: "run agents there (docs/guide/agents.md), or stowage in a copy of this workspace"}
	}
	return found, elsewhere, nil
}

// thisMachine stands for all hosts whose address is one of this machine.
const thisMachine = "this machine"

// machines says which hosts of a farm are one machine: those that are this one.
func (a *app) machines(ctx context.Context, f *farm.Farm) map[farm.HostName]string {
	out := map[farm.HostName]string{}
	for _, h := range f.Hosts {
		out[h.Name] = "host " + string(h.Name)
		if f.Agents.On(h.Name) && !isLoopback(h.Address) {
			continue // its name need not be known here
		}
		if here, err := record.IsHere(ctx, h.Address); err == nil && here { // asked for by name, it says why not
			out[h.Name] = thisMachine
		}
	}
	return out
}

func isLoopback(address string) bool {
	ip := net.ParseIP(address)
	return ip != nil && ip.IsLoopback()
}
