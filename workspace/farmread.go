package workspace

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v4"

	"stowage/farm"
)

// The keys of farm.yaml, by level. They are what an unknown key is compared
// with.
var (
	farmKeys     = []string{"farm", "next_server_id", "accounts", "routing", "agents", "due", "backup", "host_types", "profiles", "hosts", "pairs"}
	hostTypeKeys = []string{"cores", "memory", "disk", "iops", "network", "watts", "price", "max_instances", "options"}
	hostKeys     = []string{"name", "type", "address", "dir", "labels", "reserved"}
	pairKeys     = []string{"name", "topology", "sides", "shards"}
	sideKeys     = []string{"host", "port", "datadir", "config", "group_suffix"}
	shardKeys    = []string{"name", "disk", "growth", "memory", "cpu", "iops", "network", "profile", "customer"}
	reservedKeys = []string{"disk", "memory", "cpu", "iops", "network"}
)

// knownResources are the resources of keys that need no declaration. The
// processors of a host are its cores; what is used of them is cpu.
var knownResources = map[string]farm.ResourceName{
	"disk": farm.Disk, "memory": farm.Memory, "iops": farm.IOPS, "network": farm.Network,
}

// farmReader reads farm.yaml.
type farmReader struct {
	reader
	root *yaml.Node
	farm farm.Farm
	// custom are the resources that host types declare beside the known ones,
	// with the kind their capacity is written in.
	custom map[string]farm.Kind
	// The keys of shards and of what is reserved, with those of custom.
	shardKeys, reservedKeys []string
}

// parseFarm reads and checks a farm file. The farm is only valid without an
// error; the reader keeps what an edit needs to know about the file.
func parseFarm(file string, src []byte) (*farm.Farm, *farmReader, error) {
	r := &farmReader{custom: map[string]farm.Kind{}}
	r.file = file
	root := r.parseYAML(src)
	if root == nil {
		return nil, nil, r.err()
	}
	r.root = root
	r.top(root)
	r.checked(root, r.farm.Check())
	if err := r.err(); err != nil {
		return nil, nil, err
	}
	return &r.farm, r, nil
}

func (r *farmReader) top(root *yaml.Node) {
	// Host types first, wherever they stand: they declare resources.
	if n := value(root, "host_types"); n != nil {
		r.named(n, "host_types", r.hostType)
	}
	custom := sortedKeys(r.custom)
	r.shardKeys, r.reservedKeys = slices.Concat(shardKeys, custom), slices.Concat(reservedKeys, custom)
	r.fields(root, func() string { return "the farm" }, farmKeys, func(key string, v *yaml.Node) bool {
		what := func() string { return key }
		switch key {
		case "farm":
			r.farm.Name = r.text(v, what)
		case "next_server_id":
			r.farm.NextServerID = uint32(r.whole(v, what, 1, math.MaxUint32))
		case "accounts":
			r.farm.Accounts = r.text(v, what)
		case "routing":
			r.routing(v)
		case "agents":
			r.agents(v)
		case "due":
			r.due(v)
		case "backup":
			r.backup(v)
		case "host_types": // read before
		case "profiles":
			r.named(v, key, r.profile)
		case "hosts":
			for _, n := range r.items(v, "hosts") {
				r.host(n)
			}
		case "pairs":
			for _, n := range r.items(v, "pairs") {
				r.pair(n)
			}
		default:
			return false
		}
		return true
	})
}

func (r *farmReader) hostType(name string, n *yaml.Node) {
	t := farm.HostType{Name: farm.HostTypeName(name), Capacity: farm.Resources{}}
	where := func() string { return "host type " + name }
	r.fields(n, where, hostTypeKeys, func(key string, v *yaml.Node) bool {
		what := func() string { return key + " of " + where() }
		switch key {
		case "cores":
			t.Capacity[farm.CPU] = r.quantity(v, what, farm.KindPlain)
		case "watts":
			t.Watts = r.quantity(v, what, farm.KindPlain)
		case "price":
			t.Price = r.quantity(v, what, farm.KindPlain)
		case "max_instances":
			t.MaxInstances = int(r.whole(v, what, 1, 1000))
		case "options":
			r.named(v, what(), func(name string, v *yaml.Node) { t.Options = append(t.Options, r.hostOption(name, v, what)) })
			slices.SortStableFunc(t.Options, func(a, b farm.HostOption) int { return strings.Compare(a.Name, b.Name) })
		default:
			resource, known := knownResources[key]
			if !known {
				return r.declare(&t, key, v, what)
			}
			t.Capacity[resource] = r.quantity(v, what, resource.Kind())
		}
		return true
	})
	r.farm.HostTypes = append(r.farm.HostTypes, t)
}

// hostOption is one option of the servers on hosts of a type: a value, or with
// a percent sign a share.
func (r *farmReader) hostOption(name string, v *yaml.Node, what func() string) farm.HostOption {
	o := farm.HostOption{Name: farm.OptionName(name), Value: r.text(v, func() string { return name + " in " + what() })}
	for _, c := range o.Name {
		if !(c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c == '_' || c == '.') {
			r.fault(v, "%q in %s is not the name of an option", name, what())
			return o
		}
	}
	if number, isShare := strings.CutSuffix(o.Value, "%"); isShare {
		percent, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
		if err != nil || !(percent > 0 && percent <= 100) {
			r.fault(v, "%s in %s is %q: a share is more than 0%% and at most 100%%", name, what(), o.Value)
			percent = 100
		}
		o.Value, o.Share = "", percent/100
	} else if o.Value == "" || strings.ContainsFunc(o.Value, func(c rune) bool { return c < ' ' || c == 0x7f }) {
		r.fault(v, "%s in %s must be a value in one line", name, what())
	}
	return o
}

// declare takes a key of a host type that is not known as a resource of the
// farm's own, unless it looks like a slip of the keyboard.
func (r *farmReader) declare(t *farm.HostType, key string, v *yaml.Node, what func() string) bool {
	if nearest(key, hostTypeKeys) != "" || !isWord(key) {
		return false
	}
	if reserved := append(slices.Clone(shardKeys), hostKeys...); slices.Contains(reserved, key) || key == "cpus" {
		if key == "cpu" || key == "cpus" {
			r.fault(v, "unknown key %q in host type %s; did you mean \"cores\"?", key, t.Name)
			return true
		}
		return false
	}
	amount := r.quantity(v, what, farm.KindOpen)
	kind, err := farm.QuantityKind(v.Value)
	if err != nil || r.bad[v] {
		return true
	}
	if first, ok := r.custom[key]; ok && first != kind {
		r.fault(v, "%s is written as %s here and as %s in another host type", what(), kind, first)
		return true
	}
	r.custom[key] = kind
	t.Capacity[farm.ResourceName(key)] = amount
	return true
}

func (r *farmReader) host(n *yaml.Node) {
	h := farm.Host{}
	where := func() string { return rowName("host", n) }
	r.fields(n, where, hostKeys, func(key string, v *yaml.Node) bool {
		what := func() string { return key + " of " + where() }
		switch key {
		case "name":
			h.Name = farm.HostName(r.text(v, what))
		case "type":
			h.Type = farm.HostTypeName(r.text(v, what))
		case "address":
			h.Address = r.text(v, what)
		case "dir":
			h.Dir = r.text(v, what)
		case "labels":
			h.Labels = map[string]string{}
			r.named(v, "labels of "+where(), func(label string, v *yaml.Node) {
				h.Labels[label] = r.text(v, func() string { return "label " + label + " of " + where() })
			})
		case "reserved":
			h.Reserved = r.reserved(v, func() string { return "what is reserved on " + where() })
		default:
			return false
		}
		return true
	})
	r.farm.Hosts = append(r.farm.Hosts, h)
}

func (r *farmReader) pair(n *yaml.Node) {
	p := farm.Pair{Sides: map[farm.SideName]farm.Side{}}
	where := func() string { return rowName("pair", n) }
	r.fields(n, where, pairKeys, func(key string, v *yaml.Node) bool {
		what := func() string { return key + " of " + where() }
		switch key {
		case "name":
			p.Name = farm.PairName(r.text(v, what))
		case "topology":
			p.Topology = farm.Topology(r.text(v, what))
		case "sides":
			r.fields(v, what, []string{"A", "B"}, func(side string, v *yaml.Node) bool {
				if n := farm.SideName(side); n != farm.A && n != farm.B && !n.IsReplica() {
					return false
				}
				p.Sides[farm.SideName(side)] = r.side(v, func() string { return "side " + side + " of " + where() })
				return true
			})
		case "shards":
			rows := r.items(v, what())
			p.Shards = make([]farm.Shard, 0, len(rows))
			for _, n := range rows {
				p.Shards = append(p.Shards, r.shard(n))
			}
		default:
			return false
		}
		return true
	})
	r.farm.Pairs = append(r.farm.Pairs, p)
}

func (r *farmReader) side(n *yaml.Node, where func() string) farm.Side {
	s := farm.Side{}
	r.fields(n, where, sideKeys, func(key string, v *yaml.Node) bool {
		what := func() string { return key + " of " + where() }
		switch key {
		case "host":
			s.Host = farm.HostName(r.text(v, what))
		case "port":
			s.Port = int(r.whole(v, what, 1, 65535))
		case "datadir":
			s.Datadir = r.text(v, what)
		case "config":
			s.Config = r.text(v, what)
		case "group_suffix":
			s.GroupSuffix = r.text(v, what)
		default:
			return false
		}
		return true
	})
	return s
}

func (r *farmReader) shard(n *yaml.Node) farm.Shard {
	s := farm.Shard{Needs: make(farm.Resources, 4)}
	where := func() string { return rowName("shard", n) }
	r.fields(n, where, r.shardKeys, func(key string, v *yaml.Node) bool {
		what := func() string { return key + " of " + where() }
		switch key {
		case "name":
			s.Name = farm.ShardName(r.text(v, what))
		case "growth":
			s.Growth = r.quantity(v, what, farm.KindBytesPerDay)
		case "profile":
			s.Profile = farm.ProfileName(r.text(v, what))
		case "customer":
			s.Customer = farm.CustomerName(r.text(v, what))
		case string(farm.Disk):
			// 0 lacks its unit; 0GB is the same slip with one. Even an empty database takes some.
			if s.Needs[farm.Disk] = r.quantity(v, what, farm.KindBytes); s.Needs[farm.Disk] == 0 && !r.bad[v] {
				r.fault(v, "%s wants bytes such as 48GB, not %s", what(), v.Value)
			}
		default:
			return r.used(s.Needs, key, v, what)
		}
		return true
	})
	return s
}

// used takes the amount of a resource that somebody uses into sum. It is false
// for a key that is not a resource.
func (r *farmReader) used(sum farm.Resources, key string, v *yaml.Node, what func() string) bool {
	if key == "cpu" {
		sum[farm.CPU] = r.quantity(v, what, farm.KindPlain)
	} else if resource, ok := knownResources[key]; ok {
		sum[resource] = r.quantity(v, what, resource.Kind())
	} else if kind, ok := r.custom[key]; ok {
		sum[farm.ResourceName(key)] = r.quantity(v, what, kind)
	} else {
		return false
	}
	return true
}

func (r *farmReader) reserved(n *yaml.Node, where func() string) farm.Resources {
	sum := farm.Resources{}
	r.fields(n, where, r.reservedKeys, func(key string, v *yaml.Node) bool {
		if key == "cores" {
			r.fault(v, "unknown key %q in %s; did you mean \"cpu\"?", key, where())
			return true
		}
		return r.used(sum, key, v, func() string { return key + " of " + where() })
	})
	return sum
}

// profile reads the hours of a day. A shorter list stands for as many equal
// parts of it.
func (r *farmReader) profile(name string, n *yaml.Node) {
	p, _ := r.farm.Profile("") // stands in for one with a fault: shards may name it
	p.Name = farm.ProfileName(name)
	hours := r.items(n, "profile "+name)
	if n.Kind == yaml.SequenceNode && (len(hours) == 0 || len(p.Hours)%len(hours) != 0) {
		r.fault(n, "profile %s has %d numbers: give one for each hour of the day, 24, or 12, 8, 6, 4, 3, 2 or 1 for equal parts of it", name, len(hours))
		hours = nil
	}
	for i, v := range hours {
		share := r.ofPeak(v, func() string { return fmt.Sprintf("number %d of profile %s", i+1, name) })
		part := len(p.Hours) / len(hours)
		for h := i * part; h < (i+1)*part; h++ {
			p.Hours[h] = share
		}
		if r.bad[v] {
			r.markBad(n)
		}
	}
	r.farm.Profiles = append(r.farm.Profiles, p)
}

// rowName names a row of a list by its name, or by its line without one.
func rowName(what string, n *yaml.Node) string {
	if name := value(n, "name"); name != nil && name.Kind == yaml.ScalarNode && name.Value != "" {
		return what + " " + name.Value
	}
	return fmt.Sprintf("%s in line %d", what, n.Line)
}

func isWord(key string) bool {
	for _, c := range key {
		if c != '_' && (c < 'a' || c > 'z') && (c < '0' || c > '9') {
			return false
		}
	}
	return key != ""
}
