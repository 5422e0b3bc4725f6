package farm

import (
	"fmt"
	"math"
	"net"
	"path"
	"regexp"
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

// safeName is what may become a directory, a SQL identifier and a file name
// without quoting. Host names may hold dots besides.
var safeName = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_.-]{0,63}$`)

// Check finds every problem of the farm, in the order of the file. An empty
// result is the invariant the rest of Stowage builds on.
func (f *Farm) Check() []Problem {
	c := &checker{farm: f, hosts: map[HostName]Host{}, listens: map[string]string{}, datadirs: map[string]string{}}
	c.name("farm", "farm", f.Name)
	if len(f.Pairs) > 0 && f.NextServerID == 0 {
		c.say("next_server_id", "next_server_id is missing: give one above every server_id ever used in this farm")
	}
	c.hostTypes()
	c.hostList()
	c.pairs()
	return c.problems
}

// checker collects problems; its maps remember who was first with a name.
type checker struct {
	farm     *Farm
	problems []Problem
	hosts    map[HostName]Host
	listens  map[string]string // address:port -> instance
	datadirs map[string]string // host + datadir -> instance
}

func (c *checker) say(path, format string, args ...any) {
	c.problems = append(c.problems, Problem{path, fmt.Sprintf(format, args...)})
}

func (c *checker) name(path, what, name string) {
	switch {
	case name == "":
		c.say(path, "%s has no name", what)
	case !safeName.MatchString(name):
		c.say(path, "%s name %q has characters that cannot be in a directory or an identifier: use letters, digits, _ - and .", what, name)
	}
}

func (c *checker) amount(path, what string, v float64) {
	if math.IsNaN(v) || math.IsInf(v, 0) || v < 0 {
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
	}
}

func (c *checker) hostList() {
	types := map[HostTypeName]bool{}
	for _, t := range c.farm.HostTypes {
		types[t.Name] = true
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
		} else if !types[h.Type] {
			c.say(at+".type", "host %s has unknown host type %q", h.Name, h.Type)
		}
		if h.Address == "" {
			c.say(at+".address", "host %s has no address", h.Name)
		} else if _, _, err := net.SplitHostPort(h.Address); err == nil {
			c.say(at+".address", "address of host %s is %q: leave the port to the sides", h.Name, h.Address)
		}
	}
}

func (c *checker) pairs() {
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
			c.say(at+".topology", "pair %s has no topology: it must be %s or %s", p.Name, ActiveActive, PrimaryReplica)
		} else if p.Topology != ActiveActive && p.Topology != PrimaryReplica {
			c.say(at+".topology", "topology of pair %s is %q: it must be %s or %s", p.Name, p.Topology, ActiveActive, PrimaryReplica)
		}
		c.sides(at, p)
		for j, s := range p.Shards {
			at := fmt.Sprintf("%s.shards[%d]", at, j)
			c.name(at+".name", "shard", string(s.Name))
			if first, ok := shards[s.Name]; ok {
				c.say(at+".name", "shard %s of pair %s is already in pair %s", s.Name, p.Name, first)
			} else {
				shards[s.Name] = p.Name
			}
			c.resources(at, "shard "+string(s.Name), s.Needs)
			c.amount(at+".growth", "growth of shard "+string(s.Name), s.Growth)
		}
	}
}

func (c *checker) sides(at string, p Pair) {
	for _, n := range SideNames {
		s, ok := p.Sides[n]
		if !ok {
			c.say(at+".sides", "pair %s has no side %s", p.Name, n)
			continue
		}
		c.side(fmt.Sprintf("%s.sides.%s", at, n), p, n, s)
	}
	for n := range p.Sides {
		if n != A && n != B {
			c.say(at+".sides", "pair %s has a side %q: the sides are A and B", p.Name, n)
		}
	}
	a, b := p.Sides[A].Host, p.Sides[B].Host
	if a != "" && a == b {
		c.say(at+".sides.B.host", "both sides of pair %s are on host %s: losing it would lose the pair", p.Name, a)
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
}
