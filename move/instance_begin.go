package move

import (
	"context"
	"fmt"
	"path/filepath"

	"stowage/act"
	"stowage/engine"

	"stowage/farm"
	"stowage/placement"
	"stowage/store"
)

// InstanceMove is one instance to be moved, as a person asks for it.
type InstanceMove struct {
	Pair farm.PairName
	Side farm.SideName
	To   farm.HostName
}

// Begin asks everything and writes the run for one instance, without a plan.
// What a plan is checked for is not checked here: whether the host has room
// for it is the caller's business, and disk space preflight's.
func (m InstanceMove) Begin(ctx context.Context, a *Act) (store.Run, []farm.Finding, error) {
	now, err := a.Workspace.Farm()
	if err != nil {
		return store.Run{}, nil, err
	}
	if err := a.NothingOpen(); err != nil {
		return store.Run{}, nil, err
	}
	mv, err := m.order(now)
	if err != nil {
		return store.Run{}, nil, err
	}
	subject := fmt.Sprintf("%s-to-%s", mv.Instance, m.To)
	return a.Act.Begin(ctx, act.Proposal{
		Name: subject, Subject: subject,
		Job: func(run string) (engine.Job, uint32, error) {
			job, err := NewJob(run, []placement.Move{mv}, now, 1)
			return job, mv.ServerID + 1, err
		},
		Survey: a.Mover.Survey, Remedy: "remedy them; nothing was touched",
	})
}

// order is the move as a plan would have it.
func (m InstanceMove) order(now *farm.Farm) (placement.Move, error) {
	bad := func(format string, args ...any) (placement.Move, error) {
		return placement.Move{}, &farm.Error{Op: "move instance", Subject: fmt.Sprintf("%s/%s", m.Pair, m.Side), Err: fmt.Errorf("%w: "+format, append([]any{farm.ErrInput}, args...)...)}
	}
	p, ok := now.Pair(m.Pair)
	if !ok {
		return bad("farm.yaml has no such pair")
	}
	side, ok := p.Sides[m.Side]
	if !ok {
		return bad("the pair has no such side")
	}
	to, ok := now.Host(m.To)
	if !ok {
		return bad("farm.yaml has no host %s", m.To)
	}
	if side.Host == m.To {
		return bad("it is on host %s already", m.To)
	}
	for _, other := range p.Sides {
		if other.Host == m.To {
			return bad("the other side of the pair is on host %s: losing it would lose the pair", m.To)
		}
	}
	if to.Dir == "" {
		return bad("host %s has no dir in farm.yaml, so it has no place for new instances", m.To)
	}
	from, _ := now.Host(side.Host)
	name := p.Instance(m.Side)
	dir := filepath.Join(to.Dir, string(name))
	var bytes int64
	for _, s := range p.Shards {
		bytes += int64(s.Needs[farm.Disk])
	}
	return placement.Move{
		Wave: 1, Stage: 1, Name: string(name), Source: side.Host, Target: to.Name, Pair: m.Pair, Side: m.Side, Instance: name, ServerID: now.NextServerID, Bytes: bytes,
		From: placement.Place{Host: side.Host, Address: from.Address, Port: side.Port, Datadir: side.Datadir, Config: side.Config, GroupSuffix: side.GroupSuffix},
		To: placement.Place{Host: to.Name, Address: to.Address, Port: m.port(now, side.Port),
			Datadir: filepath.Join(dir, "data"), Config: filepath.Join(dir, "my.cnf")},
	}, nil
}

// port is the one the instance has, or the next that farm.yaml gives to nobody
// on the host.
func (m InstanceMove) port(now *farm.Farm, port int) int {
	taken := map[int]bool{}
	for _, p := range now.Pairs {
		for _, s := range p.Sides {
			if s.Host == m.To {
				taken[s.Port] = true
			}
		}
	}
	for taken[port] {
		port++
	}
	return port
}
