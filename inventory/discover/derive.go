package discover

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"stowage/farm"
)

// Derive makes hosts, pairs and shards of what servers say. It changes nothing
// of what it is given but the order.
func Derive(servers []Server) Found {
	servers = slices.Clone(servers)
	slices.SortFunc(servers, func(a, b Server) int { return byAddress(a.Address, b.Address) })
	// Never null: a program may ask for their length.
	f := Found{FormatVersion: FormatVersion, Servers: servers, Hosts: machines(servers), Pairs: []Pair{}, NotUnderstood: []farm.Finding{}, Notes: []farm.Finding{}}
	if f.Hosts == nil {
		f.Hosts = []Host{}
	}
	f.silent()
	d := &derivation{Found: &f, source: make([]int, len(servers)), hostOf: map[int]Host{}}
	for _, h := range f.Hosts {
		for _, n := range h.servers {
			d.hostOf[n] = h
		}
	}
	d.follow()
	for _, group := range d.groups() {
		d.pair(group)
	}
	d.namePairs()
	d.datadirs()
	d.shards()
	d.readers()
	d.remarks()
	f.Notes = append(f.Notes, namesakes(servers, f.Hosts)...)
	f.NextServerID = nextServerID(servers)
	if f.NextServerID == 0 && len(f.Pairs) > 0 {
		f.misses("server-id", "farm.yaml", "a server has or remembers the highest server_id there can be", "write next_server_id into it by hand: above every id that will not come back")
	}
	return f
}

// misses notes what was not understood.
func (f *Found) misses(check, subject, text, remedy string) {
	f.NotUnderstood = append(f.NotUnderstood, farm.Finding{Check: check, Severity: farm.Warning, Subject: subject, Text: text, Remedy: remedy})
}

func (f *Found) note(check, subject, text, remedy string) {
	f.Notes = append(f.Notes, farm.Finding{Check: check, Severity: farm.Note, Subject: subject, Text: text, Remedy: remedy})
}

// silent are servers that were told and do not answer.
func (f *Found) silent() {
	for _, s := range f.Servers {
		if !s.answered() && s.IsTold {
			f.misses("reachable", s.Address, s.Error, s.Remedy)
		}
	}
}

// nextServerID is above every id that any server has, remembers, or knows of a
// replica; 0 when there is none.
func nextServerID(servers []Server) uint32 {
	high := uint32(0)
	for _, s := range servers {
		high = max(high, s.ServerID)
		for _, id := range s.KnownIDs {
			high = max(high, id)
		}
		for _, r := range s.Replicas {
			high = max(high, r.ServerID)
		}
	}
	if high == math.MaxUint32 {
		return 0
	}
	return high + 1
}

// derivation is Derive on its way. source[n] is the index of the server that n
// replicates from, or none, unknown or many.
type derivation struct {
	*Found
	source []int
	hostOf map[int]Host
	words  [][]string // for the names of Pairs
}

const (
	none    = -1 // it replicates from nobody
	unknown = -2 // from somebody who was not asked, or did not answer
	many    = -3 // from several
)

// follow finds whom each server replicates from.
func (d *derivation) follow() {
	for n, s := range d.Servers {
		switch len(s.Sources) {
		case 0:
			d.source[n] = none
		case 1:
			d.source[n] = d.find(s, s.Sources[0])
		default:
			d.source[n] = many
		}
	}
}

// find is the server that a source is: the one that was reached by its
// address, or else the only one with its server_id and port that has this
// replica registered, at an address of the replica's.
func (d *derivation) find(replica Server, from Source) int {
	byID, found := unknown, 0
	for n, s := range d.Servers {
		isHim := from.ServerID == 0 || from.ServerID == s.ServerID
		if !s.answered() || !isHim {
			continue
		}
		if s.isAt(from.Address) {
			return n
		}
		if from.ServerID != 0 && portOf(s.Address) == portOf(from.Address) && s.knows(replica) {
			byID, found = n, found+1
		}
	}
	if found > 1 {
		return unknown
	}
	return byID
}

// groups are the servers that replication joins, each in the order of d.Servers.
func (d *derivation) groups() [][]int {
	group := make([]int, len(d.Servers))
	for n := range group {
		group[n] = n
	}
	join := func(a, b int) {
		from, to := max(group[a], group[b]), min(group[a], group[b])
		for n := range group {
			if group[n] == from {
				group[n] = to
			}
		}
	}
	for n, s := range d.Servers {
		for _, from := range s.Sources {
			if to := d.find(s, from); to >= 0 {
				join(n, to)
			}
		}
	}
	by := map[int][]int{}
	for n, s := range d.Servers {
		if s.answered() {
			by[group[n]] = append(by[group[n]], n)
		}
	}
	var out [][]int
	for n := range d.Servers {
		if len(by[n]) > 0 {
			out = append(out, by[n])
		}
	}
	return out
}

// pair makes a pair of a group, or says why it is none.
func (d *derivation) pair(group []int) {
	topology, primary, why, remedy := d.topology(group)
	if why == "" {
		why, remedy = d.crowded(group)
	}
	if why != "" {
		d.misses("topology", d.list(group), why, remedy)
		d.strays = append(d.strays, group...)
		return
	}
	order, words := d.order(group, primary)
	p := Pair{Topology: topology, Shards: []Shard{}}
	for i, n := range order {
		h := d.hostOf[n]
		port := portAt(d.Servers[n], h.Address)
		p.Sides = append(p.Sides, Side{Side: farm.SideName(string(rune('A' + i))), Host: h.Name, Port: port, Address: join(h.Address, port),
			Datadir: trimDir(d.Servers[n].Datadir), ServerID: d.Servers[n].ServerID, server: n})
	}
	d.Pairs, d.words = append(d.Pairs, p), append(d.words, words)
}

func trimDir(dir string) string {
	if len(dir) > 1 {
		return strings.TrimRight(dir, "/")
	}
	return dir
}

// list names the servers of a group.
func (d *derivation) list(group []int) string {
	var names []string
	for _, n := range group {
		names = append(names, d.Servers[n].Address)
	}
	return few(names)
}

// topology says what a group is and who takes its writes, or why it is nothing
// that farm.yaml has a word for.
func (d *derivation) topology(group []int) (t farm.Topology, primary int, why, remedy string) {
	replicas := map[int]int{} // how many each has
	first := none             // who replicates from nobody
	for _, n := range group {
		s, source := d.Servers[n], d.source[n]
		switch {
		case s.Cluster != "":
			return "", 0, fmt.Sprintf("%s is a member of a cluster: %s", s.Address, s.Cluster), "leave it out: Stowage knows pairs of asynchronous replication, and neither Galera nor Group Replication"
		case source == many:
			var from []string
			for _, x := range s.Sources {
				from = append(from, x.Address)
			}
			return "", 0, fmt.Sprintf("%s replicates from several sources: %s", s.Address, strings.Join(from, ", ")), "leave it out, or let it replicate from one: a side of a pair has one source"
		case source == unknown:
			why, remedy = d.lost(s)
			return "", 0, why, remedy
		case source == n:
			return "", 0, fmt.Sprintf("%s replicates from itself", s.Address), "RESET SLAVE ALL there (MySQL: RESET REPLICA ALL), and ask again"
		case source == none:
			first = n
		default:
			replicas[source]++
		}
	}
	switch {
	case len(group) == 1:
		return farm.Single, first, "", ""
	case len(group) == 2 && first == none:
		return farm.ActiveActive, none, "", ""
	case first == none && len(replicas) == len(group):
		return "", 0, fmt.Sprintf("a ring of %d servers: %s", len(group), d.ring(group[0])), "leave one out of the ring, so that two replicate from each other: an active-active pair has two sides"
	case first == none:
		return "", 0, fmt.Sprintf("a ring with replicas besides: %s", d.arrows(group)), "leave the replicas out (stop them, RESET SLAVE ALL) and ask again: an active-active pair has two sides and no more"
	case len(replicas) > 1:
		return "", 0, fmt.Sprintf("a chain, a replica that has replicas itself: %s", d.arrows(group)), fmt.Sprintf("point all replicas at %s and ask again: those of a pair follow its primary", d.Servers[first].Address)
	case len(group) > 26:
		return "", 0, fmt.Sprintf("a primary with %s", farm.Counted(len(group)-1, "replica")), "leave some out: the sides of a pair are A to Z"
	}
	return farm.PrimaryReplica, first, "", ""
}

// lost says whom a replica follows that cannot be looked at.
func (d *derivation) lost(s Server) (why, remedy string) {
	address := s.Sources[0].Address
	why = fmt.Sprintf("%s replicates from %s, which was not asked", s.Address, address)
	remedy = "name it, too, as this replica does, or ask for --follow"
	for _, o := range d.Servers {
		if o.isAt(address) && !o.answered() {
			return fmt.Sprintf("%s replicates from %s, which did not answer: %s", s.Address, address, o.Error), cmp.Or(o.Remedy, "let it answer") + "; then ask again"
		}
		if o.isAt(address) && o.answered() {
			return fmt.Sprintf("%s replicates from server_id %d at %s, where server_id %d answers", s.Address, s.Sources[0].ServerID, address, o.ServerID),
				"see SHOW SLAVE STATUS there (MySQL: SHOW REPLICA STATUS): is that address another machine for the replica than for us?"
		}
	}
	return why, remedy
}

// ring is the way round, from one server of a ring.
func (d *derivation) ring(from int) string {
	names := []string{d.Servers[from].Address}
	for n := d.source[from]; n >= 0 && n != from && len(names) <= len(d.Servers); n = d.source[n] {
		names = append(names, d.Servers[n].Address)
	}
	return strings.Join(append(names, names[0]), " <- ")
}

// arrows is who follows whom.
func (d *derivation) arrows(group []int) string {
	var out []string
	for _, n := range group {
		if from := d.source[n]; from >= 0 {
			out = append(out, d.Servers[from].Address+" -> "+d.Servers[n].Address)
		}
	}
	return strings.Join(out, ", ")
}

// crowded says which sides would share a host, which farm.yaml refuses.
func (d *derivation) crowded(group []int) (why, remedy string) {
	on := map[farm.HostName]int{}
	for _, n := range group {
		h := d.hostOf[n]
		if first, taken := on[h.Name]; taken {
			return fmt.Sprintf("%s and %s hold the same data and are on one host, %s: losing it would lose both", d.Servers[first].Address, d.Servers[n].Address, h.Name),
				"move one of them to another machine first; farm.yaml refuses two sides on one host"
		}
		on[h.Name] = n
	}
	return "", ""
}

// order puts the servers of a pair in the order of its sides, and says what it
// may be called: the primary first, and the rest by the letter in which their
// datadirs or hosts differ, by auto_increment_offset, or by name.
func (d *derivation) order(group []int, primary int) (order []int, words []string) {
	var dirs, hosts, named []string
	letters := map[int]byte{}
	learn := func(names []string) string {
		shared, found, ok := stem(names)
		if !ok {
			return ""
		}
		for i, n := range group {
			if letters[n] == 0 {
				letters[n] = found[i]
			}
		}
		return shared
	}
	for _, n := range group {
		host := string(d.hostOf[n].Name)
		dirs, hosts = append(dirs, dirName(d.Servers[n].Datadir)), append(hosts, label(host))
		named = append(named, host)
	}
	byDir, byHost := learn(dirs), learn(hosts)
	order = slices.Clone(group)
	slices.SortStableFunc(order, func(a, b int) int {
		if a == primary || b == primary {
			return map[bool]int{true: -1, false: 1}[a == primary]
		}
		return cmp.Or(cmp.Compare(letters[a], letters[b]), cmp.Compare(d.Servers[a].Offset, d.Servers[b].Offset),
			farm.Natural(string(d.hostOf[a].Name), string(d.hostOf[b].Name)), byAddress(d.Servers[a].Address, d.Servers[b].Address))
	})
	sameDir, joined := "", ""
	if len(slices.Compact(slices.Clone(dirs))) == 1 {
		sameDir = dirs[0]
	}
	if !isIP(named[0]) {
		joined = strings.Join(named, "-")
	}
	return order, []string{byDir, byHost, common(hosts), sameDir, d.onlyDatabase(group), joined, fmt.Sprintf("%s-%d", joined, portOf(d.Servers[order[0]].Address))}
}

// onlyDatabase is the one database that every server of a group has, or "".
func (d *derivation) onlyDatabase(group []int) string {
	name := ""
	for _, n := range group {
		for s := range d.Servers[n].Shards {
			if name != "" && name != string(s) {
				return ""
			}
			name = string(s)
		}
	}
	return name
}

// namePairs names them, and puts them in the order of their names.
func (d *derivation) namePairs() {
	for n, name := range firstUnique(d.words, "pair") {
		d.Pairs[n].Name = farm.PairName(name)
	}
	slices.SortFunc(d.Pairs, func(a, b Pair) int { return farm.Natural(string(a.Name), string(b.Name)) })
}
