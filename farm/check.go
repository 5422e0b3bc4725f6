package farm

import (
	"fmt"
	"math"
	"net"
	"path"
	"strconv"
)

// Problem is one thing that must not be so in a farm. Path names the place
// the way farm.yaml is laid out, pairs[3].sides.B.host, so that a reader of
// the file can turn it into a line.
type Problem struct {
	Path string
	Text string
}

func (p Problem) String() string { return p.Path + ": " + p.Text }

// NamesAre is IsName for messages.
const NamesAre = "letters, digits, _, - and ., up to 64"

// IsName says what may be a name in farm.yaml, and so become a directory, a SQL identifier and a file name
// without quoting: letters, digits, _ and, after the first, . and -; at most
// 64 of them.
func IsName(name string) bool {
	for i := range len(name) {
		c := name[i]
		word := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_'
		if !word && (i == 0 || c != '.' && c != '-') {
			return false
		}
	}
	return name != "" && len(name) <= 64
}

// isAmount says what may be an amount of anything.
func isAmount(v float64) bool { return v >= 0 && !math.IsInf(v, 1) }

// Check finds every problem of the farm, in the order of the file. An empty
// result is the invariant the rest of Stowage builds on.
func (f *Farm) Check() []Problem {
	c := &checker{farm: f, hosts: map[HostName]Host{}, listens: map[string]string{}, datadirs: map[string]string{}, starts: map[string][]starter{}}
	c.name("farm", "farm", f.Name)
	if len(f.Pairs) > 0 && f.NextServerID == 0 {
		c.say("next_server_id", "next_server_id is missing: give one above every server_id ever used in this farm")
	}
	c.hostTypes()
	profiles := c.profiles()
	c.hostList()
	c.agents()
	c.due()
	c.backup()
	c.pairs(profiles)
	c.totals()
	return c.problems
}

// checker collects problems; its maps remember who was first with a name.
type checker struct {
	farm     *Farm
	problems []Problem
	hosts    map[HostName]Host
	listens  map[string]string // address:port -> instance
	datadirs map[string]string // host + datadir -> instance
	starts   map[string][]starter
}

func (c *checker) say(path, format string, args ...any) {
	c.problems = append(c.problems, Problem{path, fmt.Sprintf(format, args...)})
}

func (c *checker) name(path, what, name string) {
	switch {
	case name == "":
		c.say(path, "%s has no name", what)
	case !IsName(name):
		c.say(path, "%s name %q has characters that cannot be in a directory or an identifier: use letters, digits, _ - and .", what, name)
	}
}

func (c *checker) amount(path, what string, v float64) {
	if !isAmount(v) {
		c.say(path, "%s is %v: it must be a number from 0", what, v)
	}
}

func (c *checker) resources(path, owner string, r Resources) {
	for _, n := range r.Names() {
		c.amount(path+"."+string(n), string(n)+" of "+owner, r[n])
	}
}

func (c *checker) hostTypes() {
	seen := map[HostTypeName]bool{}
	for _, t := range c.farm.HostTypes {
		at := "host_types." + string(t.Name)
		c.name(at, "host type", string(t.Name))
		if seen[t.Name] {
			c.say(at, "host type %s is there twice", t.Name)
		}
		seen[t.Name] = true
		c.resources(at, "host type "+string(t.Name), t.Capacity)
		c.amount(at+".watts", "watts of host type "+string(t.Name), t.Watts)
		c.amount(at+".price", "price of host type "+string(t.Name), t.Price)
		if t.MaxInstances < 0 {
			c.say(at+".max_instances", "max_instances of host type %s is %d: it must be 1 or more, or left out", t.Name, t.MaxInstances)
		}
		c.options(at, t)
	}
}

func (c *checker) hostList() {
	types := map[HostTypeName]HostType{}
	for _, t := range c.farm.HostTypes {
		types[t.Name] = t
	}
	for i, h := range c.farm.Hosts {
		at := fmt.Sprintf("hosts[%d]", i)
		c.name(at+".name", "host", string(h.Name))
		if _, ok := c.hosts[h.Name]; ok {
			c.say(at+".name", "host %s is there twice", h.Name)
		}
		c.hosts[h.Name] = h
		if h.Type == "" {
			c.say(at+".type", "host %s has no type", h.Name)
		} else if _, ok := types[h.Type]; !ok {
			c.say(at+".type", "host %s has unknown host type %q", h.Name, h.Type)
		}
		c.reserved(at+".reserved", h, types[h.Type].Capacity)
		if h.Address == "" {
			c.say(at+".address", "host %s has no address", h.Name)
		} else if _, _, err := net.SplitHostPort(h.Address); err == nil {
			c.say(at+".address", "address of host %s is %q: leave the port to the sides", h.Name, h.Address)
		}
	}
}

// reserved: what else runs on a host is not more than the host has.
func (c *checker) reserved(at string, h Host, capacity Resources) {
	c.resources(at, "what is reserved on host "+string(h.Name), h.Reserved)
	for _, n := range h.Reserved.Names() {
		if has, limited := capacity[n]; limited && h.Reserved[n] > has {
			c.say(at+"."+string(n), "%s of %s is reserved on host %s, which has %s",
				RoundQuantity(h.Reserved[n], n.Kind()), n, h.Name, RoundQuantity(has, n.Kind()))
		}
	}
}

func (c *checker) pairs(profiles map[ProfileName]bool) {
	pairs := map[PairName]bool{}
	shards := map[ShardName]PairName{}
	for i, p := range c.farm.Pairs {
		at := fmt.Sprintf("pairs[%d]", i)
		c.name(at+".name", "pair", string(p.Name))
		if pairs[p.Name] {
			c.say(at+".name", "pair %s is there twice", p.Name)
		}
		pairs[p.Name] = true
		if p.Topology == "" {
			c.say(at+".topology", "pair %s has no topology: it must be %s, %s or %s", p.Name, ActiveActive, PrimaryReplica, Single)
		} else if p.Topology != ActiveActive && p.Topology != PrimaryReplica && p.Topology != Single {
			c.say(at+".topology", "topology of pair %s is %q: it must be %s, %s or %s", p.Name, p.Topology, ActiveActive, PrimaryReplica, Single)
		}
		c.sides(at, p)
		for j, s := range p.Shards {
			c.shard(func() string { return fmt.Sprintf("%s.shards[%d]", at, j) }, s, profiles)
			if first, ok := shards[s.Name]; ok {
				c.say(fmt.Sprintf("%s.shards[%d].name", at, j), "shard %s of pair %s is already in pair %s", s.Name, p.Name, first)
			} else {
				shards[s.Name] = p.Name
			}
		}
	}
}

// shard checks one shard. Its path is only made when there is something to
// say: a farm may have 100,000 of them.
func (c *checker) shard(at func() string, s Shard, profiles map[ProfileName]bool) {
	if !IsName(string(s.Name)) {
		c.name(at()+".name", "shard", string(s.Name))
	}
	for _, v := range s.Needs {
		if !isAmount(v) {
			c.resources(at(), "shard "+string(s.Name), s.Needs)
			break
		}
	}
	if !isAmount(s.Growth) {
		c.amount(at()+".growth", "growth of shard "+string(s.Name), s.Growth)
	}
	if s.Profile != "" && !profiles[s.Profile] {
		c.say(at()+".profile", "shard %s has unknown profile %q", s.Name, s.Profile)
	}
	if s.Customer != "" && !IsName(string(s.Customer)) {
		c.name(at()+".customer", "customer", string(s.Customer))
	}
}

func (c *checker) sides(at string, p Pair) {
	for _, n := range SideNames {
		s, ok := p.Sides[n]
		if p.Topology == Single && n == B {
			if ok {
				c.say(at+".sides.B", "pair %s is %s and has a side B: a %s instance is side A alone", p.Name, Single, Single)
			}
			continue
		}
		if !ok {
			c.say(at+".sides", "pair %s has no side %s", p.Name, n)
			continue
		}
		c.side(fmt.Sprintf("%s.sides.%s", at, n), p, n, s)
	}
	for n := range p.Sides {
		switch {
		case n == A || n == B:
		case !n.IsReplica() || p.Topology == ActiveActive:
			c.say(at+".sides", "pair %s has a side %q: the sides are A and B", p.Name, n)
		case p.Topology == Single:
			c.say(at+".sides."+string(n), "pair %s is %s and has a side %s: a %s instance is side A alone", p.Name, Single, n, Single)
		}
	}
	a, b := p.Sides[A].Host, p.Sides[B].Host
	if a != "" && a == b {
		c.say(at+".sides.B.host", "both sides of pair %s are on host %s: losing it would lose the pair", p.Name, a)
	}
	if p.Topology == PrimaryReplica {
		c.replicas(at, p)
	}
}

// replicas are further ones, each on a host of its own.
func (c *checker) replicas(at string, p Pair) {
	on := map[HostName]SideName{p.Sides[B].Host: B, p.Sides[A].Host: A}
	for _, n := range p.SideNames()[2:] {
		s := p.Sides[n]
		c.side(fmt.Sprintf("%s.sides.%s", at, n), p, n, s)
		if other, taken := on[s.Host]; taken && s.Host != "" {
			c.say(fmt.Sprintf("%s.sides.%s.host", at, n), "sides %s and %s of pair %s are on host %s", other, n, p.Name, s.Host)
		}
		on[s.Host] = n
	}
}

func (c *checker) side(at string, p Pair, n SideName, s Side) {
	me := string(p.Instance(n))
	h, ok := c.hosts[s.Host]
	if s.Host == "" {
		c.say(at+".host", "side %s of pair %s has no host", n, p.Name)
	} else if !ok {
		c.say(at+".host", "side %s of pair %s is on unknown host %q", n, p.Name, s.Host)
	}
	if s.Port == 0 {
		c.say(at+".port", "side %s of pair %s has no port", n, p.Name)
	} else if s.Port < 1 || s.Port > 65535 {
		c.say(at+".port", "port of side %s of pair %s is %d: it must be 1 to 65535", n, p.Name, s.Port)
	} else if ok && h.Address != "" {
		listen := net.JoinHostPort(h.Address, strconv.Itoa(s.Port))
		if first, taken := c.listens[listen]; taken {
			c.say(at+".port", "%s and %s would both listen on %s", first, me, listen)
		} else {
			c.listens[listen] = me
		}
	}
	if s.Datadir == "" {
		c.say(at+".datadir", "side %s of pair %s has no datadir", n, p.Name)
		return
	}
	dir := string(s.Host) + ":" + path.Clean(s.Datadir)
	if first, taken := c.datadirs[dir]; taken {
		c.say(at+".datadir", "%s and %s would both own datadir %s on host %s", first, me, s.Datadir, s.Host)
	} else {
		c.datadirs[dir] = me
	}
	c.optionFile(at, me, h, s)
}
