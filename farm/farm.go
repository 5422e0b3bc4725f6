package farm

import (
	"fmt"
	"maps"
	"slices"
	"sort"
	"strings"
)

// Distinct things have distinct types, so that a swapped argument does not
// compile.
type (
	HostName     string // a machine: db001
	HostTypeName string // its shape: r630-ssd
	PairName     string // two instances with the same data: dbshard001
	InstanceName string // one mysqld or mariadbd: dbshard001a
	ShardName    string // a database (schema) inside a pair: etsy_shard_0001
)

// SideName is A or B. A primary may have further replicas, C to Z.
type SideName string

const (
	A SideName = "A"
	B SideName = "B"
)

// SideNames are both sides, in the order everything walks them.
var SideNames = [2]SideName{A, B}

// IsReplica says whether a side is a further replica: C to Z.
func (s SideName) IsReplica() bool { return len(s) == 1 && s > B && s <= "Z" }

// Twin is the other side of the pair.
func (s SideName) Twin() SideName {
	if s == A {
		return B
	}
	return A
}

// Topology says which sides of a pair take writes.
type Topology string

const (
	// ActiveActive pairs take writes on both sides, each client pinned to one.
	ActiveActive Topology = "active-active"
	// PrimaryReplica pairs take writes on side A only.
	PrimaryReplica Topology = "primary-replica"
	// Single is one instance, side A, without a copy.
	Single Topology = "single"
)

// Sides are the sides a pair of this topology has, in order.
func (t Topology) Sides() []SideName {
	if t == Single {
		return []SideName{A}
	}
	return SideNames[:]
}

// HasOneWriter reports whether side A takes all writes.
func (t Topology) HasOneWriter() bool { return t == PrimaryReplica || t == Single }

// Farm is everything under management, as agreed by its owners in farm.yaml.
type Farm struct {
	Name      string
	HostTypes []HostType
	Profiles  []Profile // shapes of the day, by which shards are named in Shard.Profile
	Hosts     []Host
	Pairs     []Pair

	// NextServerID is the lowest server_id that was never given to any
	// instance of this farm. A server_id is never used twice: a GTID written
	// under the old owner would be taken for the new owner's own event and
	// skipped.
	NextServerID uint32

	// Routing is how clients learn where to go.
	Routing Routing

	// Agents says which hosts are other machines, and how they are reached.
	Agents Agents

	// Due says how often what comes back is done.
	Due Due

	// Backup says where backups go and how long they stay.
	Backup Backup

	// Accounts is the option file with the accounts Stowage logs in with,
	// relative to the workspace. Groups: [stowage], [replication].
	Accounts string
}

// HostType is the shape of a machine.
type HostType struct {
	Name         HostTypeName
	Capacity     Resources
	MaxInstances int     // 0: no limit
	Watts        float64 // drawn under load
	Price        float64 // in the owner's currency

	// Options are what servers on hosts of this type start with, sorted by name.
	Options []HostOption
}

// Host is one machine.
type Host struct {
	Name    HostName
	Type    HostTypeName
	Address string            // IP or DNS name, no port
	Dir     string            // where new instances are made: Dir/INSTANCE; relative to the workspace or absolute
	Labels  map[string]string // rack, power, ...

	// Reserved is what else runs there and is not Stowage's. It is taken off
	// the capacity before headroom is: it is not there to be planned with.
	Reserved Resources
}

// Pair is the two instances that hold the same data.
type Pair struct {
	Name     PairName
	Topology Topology
	Sides    map[SideName]Side
	Shards   []Shard
}

// Side is where one half of a pair lives.
type Side struct {
	Host    HostName
	Port    int
	Datadir string // as the server sees it; relative to the workspace or absolute
	Config  string // the option file it starts with; empty: my.cnf beside Datadir

	// GroupSuffix tells apart servers that start with one option file: the
	// server's --defaults-group-suffix, "1" under mysqld_multi ([mysqld1]) and
	// ".s1" under mariadb@s1 ([mysqld.s1]). Empty where the file is its own.
	GroupSuffix string
}

// Shard is one logical shard: a database inside a pair, and what it needs.
type Shard struct {
	Name     ShardName
	Needs    Resources    // at the peak of the day
	Growth   float64      // bytes a day
	Profile  ProfileName  // when the peak is; empty: all day
	Customer CustomerName // whose it is; may be empty
}

// SideNames are the sides the pair has to have, in order, and behind them its
// further replicas.
func (p Pair) SideNames() []SideName {
	out := p.Topology.Sides()
	if len(p.Sides) <= len(out) {
		return out
	}
	out = slices.Clone(out)
	for s := range p.Sides {
		if s.IsReplica() {
			out = append(out, s)
		}
	}
	slices.Sort(out)
	return out
}

// Instance names the server process of one side: the pair's name and the
// side in lower case, dbshard017a. The name outlives every host it runs on.
func (p Pair) Instance(s SideName) InstanceName {
	return InstanceName(string(p.Name) + strings.ToLower(string(s)))
}

// Needs is what one side of the pair asks of its host: both sides hold every
// shard, and either must be able to serve them all while its twin is out.
func (p Pair) Needs() Resources {
	sum := Resources{}
	for _, s := range p.Shards {
		sum.Add(s.Needs)
	}
	return sum
}

// Host finds a host by name.
func (f *Farm) Host(n HostName) (Host, bool) {
	for _, h := range f.Hosts {
		if h.Name == n {
			return h, true
		}
	}
	return Host{}, false
}

// HostType finds a host type by name.
func (f *Farm) HostType(n HostTypeName) (HostType, bool) {
	for _, t := range f.HostTypes {
		if t.Name == n {
			return t, true
		}
	}
	return HostType{}, false
}

// Pair finds a pair by name; the pointer is into f.
func (f *Farm) Pair(n PairName) (*Pair, bool) {
	for i := range f.Pairs {
		if f.Pairs[i].Name == n {
			return &f.Pairs[i], true
		}
	}
	return nil, false
}

// Address is host:port of one side, as clients and replicas dial it.
func (f *Farm) Address(s Side) string {
	h, ok := f.Host(s.Host)
	if !ok {
		return fmt.Sprintf("?%s:%d", s.Host, s.Port)
	}
	return fmt.Sprintf("%s:%d", h.Address, s.Port)
}

// HostsInUse are the hosts at least one instance runs on, sorted.
func (f *Farm) HostsInUse() []HostName {
	seen := map[HostName]bool{}
	for _, p := range f.Pairs {
		for _, s := range p.Sides {
			seen[s.Host] = true
		}
	}
	names := make([]HostName, 0, len(seen))
	for n := range seen {
		names = append(names, n)
	}
	sort.Slice(names, func(i, j int) bool { return names[i] < names[j] })
	return names
}

// InstanceCount is how many instances the farm has: the sides of all pairs, two or not.
func (f *Farm) InstanceCount() int {
	n := 0
	for _, p := range f.Pairs {
		n += len(p.Sides)
	}
	return n
}

// Clone is a deep copy: a plan edits its own copy. Nil stays nil, so that a
// copy equals what it was made from.
func (f *Farm) Clone() *Farm {
	c := *f
	c.HostTypes = slices.Clone(f.HostTypes)
	for i := range c.HostTypes {
		c.HostTypes[i].Capacity = maps.Clone(c.HostTypes[i].Capacity)
	}
	c.Profiles = slices.Clone(f.Profiles)
	for _, list := range []*[]string{&c.Routing.Sockets, &c.Routing.Endpoints, &c.Routing.Program} {
		*list = slices.Clone(*list)
	}
	c.Hosts = slices.Clone(f.Hosts)
	for i := range c.Hosts {
		c.Hosts[i].Labels = maps.Clone(c.Hosts[i].Labels)
		c.Hosts[i].Reserved = maps.Clone(c.Hosts[i].Reserved)
	}
	c.Pairs = slices.Clone(f.Pairs)
	for i := range c.Pairs {
		c.Pairs[i].Sides = maps.Clone(c.Pairs[i].Sides)
		c.Pairs[i].Shards = slices.Clone(c.Pairs[i].Shards)
		for j := range c.Pairs[i].Shards {
			c.Pairs[i].Shards[j].Needs = maps.Clone(c.Pairs[i].Shards[j].Needs)
		}
	}
	return &c
}
