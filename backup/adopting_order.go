package backup

import (
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strconv"

	"stowage/backup/catalogue"
	"stowage/engine"
	"stowage/farm"
	"stowage/host"
	"stowage/mysql"
	"stowage/session"
)

// sideOrder says which side of its pair a restored instance becomes.
type sideOrder struct {
	Pair farm.PairName `json:"pair"`
	Side farm.SideName `json:"side"`
	// Place is what farm.yaml says of the side afterwards, Lost what it says now.
	Place  farm.Side     `json:"place"`
	Lost   farm.Side     `json:"lost"`
	LostAt string        `json:"lost_at"` // host:port
	Twin   farm.Side     `json:"twin"`
	TwinAs host.Instance `json:"twin_as"`
	// Replica: the pair has one writer, the twin, which it follows. Named is its place in routing's list of replicas; -1: it is not there.
	Replica bool `json:"replica,omitempty"`
	Named   int  `json:"named,omitempty"`
	// Domains are the GTID domains that the side may have written; one, or it is not known. None: it is MySQL, where each server has its own uuid.
	Domains []uint32 `json:"domains"`
	// Options are those of its option file that differ from those of the backup.
	Options map[string]string `json:"options,omitempty"`
}

// name is how people call the side.
func (o sideOrder) name() string { return fmt.Sprintf("%s/%s", o.Pair, o.Side) }

// twin is the side that is left: of a pair with one writer that is the primary.
func (o sideOrder) twin() farm.SideName {
	if o.Replica {
		return farm.A
	}
	return o.Side.Twin()
}

// holds are the tokens of a lane that gives a pair a side: nobody else works on it meanwhile.
func (o *sideOrder) holds(job *engine.Job) (tokens []string) {
	if o == nil {
		return nil
	}
	tokens = []string{"pair " + string(o.Pair)}
	job.Budgets[tokens[0]] = 1
	return tokens
}

// instanceOf is the instance that is lost, as its host would know it.
func (a *Act) instanceOf(o *sideOrder) host.Instance {
	on, _ := a.Farm.Host(o.Lost.Host)
	pair, _ := a.Farm.Pair(o.Pair)
	return session.InstanceAt(a.Workspace, pair.Instance(o.Side), on.Address, o.Lost)
}

// sideFor gives a restored instance the place of a side of its pair.
func (a *Act) sideFor(ctx context.Context, o *restoreOrder, w RestoreWish, all []catalogue.Backup) error {
	pair, to, err := a.mayBeSide(o.last(), w)
	if err != nil {
		return err
	}
	x := &sideOrder{Pair: pair.Name, Side: w.Side, Replica: pair.Topology.HasOneWriter(), Named: -1}
	name, lost, twin := pair.Instance(w.Side), pair.Sides[w.Side], x.twin()
	port := w.Port
	if port == 0 {
		port = lost.Port
	}
	if port, err = a.portFor(ctx, to, port); err != nil {
		return err
	}
	dir := filepath.Join(to.Dir, string(name))
	x.Lost, x.LostAt, x.Twin = lost, a.Farm.Address(lost), pair.Sides[twin]
	x.Place = farm.Side{Host: to.Name, Port: port, Datadir: filepath.Join(dir, "data"), Config: filepath.Join(dir, "my.cnf")}
	twinHost, _ := a.Farm.Host(x.Twin.Host)
	x.TwinAs = session.InstanceAt(a.Workspace, pair.Instance(twin), twinHost.Address, x.Twin)
	o.On, o.Instance, o.Side = to.Name, session.InstanceAt(a.Workspace, name, to.Address, x.Place), x
	o.Live, o.LiveName = a.Farm.Address(x.Twin), pair.Instance(twin)
	if x.Replica {
		o.Runbook = asReplica
		if x.Named, err = a.namedAt(ctx, x); err != nil {
			return err
		}
	}
	return a.ownOptions(ctx, o, all)
}

// namedAt is the place of the lost replica in routing's list; -1: it is not there.
func (a *Act) namedAt(ctx context.Context, x *sideOrder) (int, error) {
	t, err := a.Router.Read(ctx)
	if err != nil || t.Pairs[x.Pair] == nil {
		return -1, err // who asks whether routing knows the pair says so
	}
	return slices.Index(t.Pairs[x.Pair].Replicas, x.LostAt), nil
}

// mayBeSide is the pair whose side is wanted, and the host on which it is to live.
func (a *Act) mayBeSide(b catalogue.Backup, w RestoreWish) (*farm.Pair, farm.Host, error) {
	bad := func(hint, format string, args ...any) (*farm.Pair, farm.Host, error) {
		return nil, farm.Host{}, &farm.Error{Op: "restore", Subject: fmt.Sprintf("%s/%s", b.Pair, w.Side), Err: fmt.Errorf("%w: %w", farm.ErrInput, fmt.Errorf(format, args...)), Hint: hint}
	}
	pair, ok := a.Farm.Pair(b.Pair)
	if !ok {
		return bad("restore it beside what is there: stowage restore "+b.ID, "farm.yaml no longer has pair %s", b.Pair)
	}
	if _, ok := pair.Sides[w.Side]; !ok {
		return bad("stowage inventory lists them", "the pair has no side %s", w.Side)
	}
	switch {
	case pair.Topology == farm.Single:
		return bad("restore it beside what is there, without --as-side: stowage restore "+b.ID, "it is the only server of its pair: a restored side has no server to catch up from")
	case pair.Topology.HasOneWriter() && w.Side == farm.A:
		return bad("promote a replica with your own failover, name it side A in farm.yaml and in routing, then restore the side that it was", "side A takes the writes of the pair, and a backup lacks the last ones")
	}
	to, ok := a.Farm.Host(w.To)
	switch {
	case !ok:
		return bad("name another: --to HOST", "farm.yaml has no host %s", w.To)
	case to.Dir == "":
		return bad("give it one, or name another host: --to HOST", "host %s has no dir in farm.yaml, so it has no place for new instances", w.To)
	}
	for side, at := range pair.Sides {
		if side != w.Side && at.Host == w.To {
			return bad("name another host: --to HOST", "side %s of the pair is on host %s: losing that host would lose both sides", side, w.To)
		}
	}
	return pair, to, nil
}

// ownOptions are the options of the side that the backup's may not have: a backup of the twin has the twin's identity. Its own were kept with any backup of its own;
// else the twin knows which other domain was written, and any other offset of automatic keys gives out other keys.
func (a *Act) ownOptions(ctx context.Context, o *restoreOrder, all []catalogue.Backup) error {
	x, b := o.Side, o.last()
	instances := 1
	for _, p := range a.Farm.Pairs {
		for _, s := range p.Sides {
			if s.Host == o.On {
				instances++
			}
		}
	}
	x.Options = map[string]string{}
	maps.Copy(x.Options, a.Farm.OptionsOn(o.On, instances))
	model := b.Options
	if b.Side != x.Side {
		model = ""
		for _, other := range all { // the newest is the last
			if other.Pair == x.Pair && other.Side == x.Side && other.Instance == o.Instance.Name && other.Options != "" {
				model = other.Options
			}
		}
	}
	switch {
	case model == "" && x.Replica:
		return nil // it writes nothing of its own: the primary's options will do
	case model == "":
		return a.otherThanTwin(ctx, o)
	}
	if flavorOf(b).HasGTIDDomains() {
		domain, _ := host.Option(model, host.ServerGroup(model), "gtid_domain_id")
		x.writes(mysql.Number(domain))
	}
	for _, name := range []string{"auto_increment_increment", "auto_increment_offset"} {
		if v, ok := host.Option(model, host.ServerGroup(model), name); ok {
			x.Options[name] = v
		}
	}
	return nil
}

// writes says which GTID domain the side writes, if it is only one.
func (o *sideOrder) writes(domains ...uint32) {
	o.Domains = domains
	o.Options["gtid_domain_id"] = strconv.FormatUint(uint64(domains[0]), 10)
}

// otherThanTwin derives the identity of a side from its twin.
func (a *Act) otherThanTwin(ctx context.Context, o *restoreOrder) error {
	x := o.Side
	twin := a.Server(o.LiveName, o.Live)
	defer twin.Close()
	is, err := twin.Facts(ctx)
	if err != nil {
		return &farm.Error{Op: "restore", Subject: x.name(), Err: fmt.Errorf("%w: its twin %s does not answer: %w", farm.ErrRefused, o.LiveName, err), Hint: "start the twin first: the restored side catches up from it"}
	}
	if is.Flavor.HasGTIDDomains() {
		others := slices.DeleteFunc(is.Binlog.Domains(), func(d uint32) bool { return d == is.Domain })
		if len(others) == 0 {
			others = []uint32{is.Domain} // both wrote the same, which is refused
		}
		x.writes(others...)
	}
	step, offset := mysql.Number(is.Variables["auto_increment_increment"]), mysql.Number(is.Variables["auto_increment_offset"])
	x.Options["auto_increment_increment"] = strconv.FormatUint(uint64(step), 10)
	x.Options["auto_increment_offset"] = strconv.FormatUint(uint64(offset%max(1, step)+1), 10)
	return nil
}
