package discover

import (
	"fmt"
	"path"
	"slices"

	"stowage/farm"
)

// readers are who reads a server's binary log and is none of the servers that
// answered.
func (d *derivation) readers() {
	for n, s := range d.Servers {
		if !s.answered() {
			continue
		}
		for _, r := range s.Replicas {
			if d.hasReplica(n, r.ServerID) {
				continue
			}
			if d.source[n] == unknown && s.Sources[0].ServerID == r.ServerID { // named already: it is the source that is missing
				continue
			}
			where := "an address it does not report"
			if len(r.MayBeAt) > 0 {
				where = few(r.MayBeAt)
			}
			d.misses("replicas", s.Address, fmt.Sprintf("server_id %d at %s replicates from it, and is none of the servers that answered", r.ServerID, where),
				"name it, too, or ask for --follow; a tool that reads changes (CDC) registers as well, and then there is nothing to do")
		}
		if s.Unseen != "" {
			d.misses("replicas", s.Address, "who replicates from it cannot be read: "+s.Unseen, "grant PROCESS and REPLICATION MASTER ADMIN to the account of group [stowage]: docs/reference/privileges.md")
		}
		if s.OtherReaders > 0 {
			d.note("replicas", s.Address, farm.Counted(s.OtherReaders, "reader")+" of its binary log did not register", "nothing, if that is a tool that keeps binary logs")
		}
	}
}

// hasReplica reports whether a server with that id replicates from server n.
func (d *derivation) hasReplica(n int, id uint32) bool {
	return slices.ContainsFunc(d.Servers, func(s Server) bool {
		return s.answered() && s.ServerID == id && slices.ContainsFunc(s.Sources, func(from Source) bool { return d.find(s, from) == n })
	})
}

// datadirs are those that two servers of one host both claim: in containers
// each sees its own directory under the same name, and farm.yaml wants them as
// the machine has them.
func (d *derivation) datadirs() {
	owner := map[string]string{}
	for i := range d.Pairs {
		for j := range d.Pairs[i].Sides {
			side := &d.Pairs[i].Sides[j]
			key := string(side.Host) + ":" + path.Clean(side.Datadir)
			if first, taken := owner[key]; taken {
				side.IsShared = true
				d.misses("datadir", side.Address, fmt.Sprintf("has datadir %s, as %s has on the same host %s: in containers?", side.Datadir, first, side.Host),
					"write into farm.yaml where the machine has it; it does not read before that")
				continue
			}
			owner[key] = side.Address
		}
	}
}

// remarks are what a person should know of pairs that were understood.
func (d *derivation) remarks() {
	for _, p := range d.Pairs {
		for _, side := range p.Sides {
			s := d.Servers[side.server]
			if s.TooOld != "" {
				d.note("version", side.Address, "is "+s.Version+": "+s.TooOld, "it can be counted and planned with; upgrade it before it is moved")
			}
			if p.Topology == farm.ActiveActive && s.ReadOnly {
				d.note("read-only", side.Address, fmt.Sprintf("side %s of pair %s is read_only, and both sides replicate from each other", side.Side, p.Name),
					"nothing, if it stands by; only who takes no writes for good is a replica: then stop the way back, and let topology be primary-replica")
			}
			if s.Listens != 0 && s.Listens != side.Port {
				d.note("port", side.Address, fmt.Sprintf("listens on port %d and was reached through %d", s.Listens, side.Port), "name servers themselves, not a proxy before them")
			}
			d.dialled(p, s)
		}
	}
	for _, s := range d.Servers {
		if len(s.AlsoAt) > 0 {
			d.note("address", s.Address, "is also at "+few(s.AlsoAt)+": one server, taken once", "nothing, if that is so")
		}
	}
}

// dialled notes a replica that knows its source by another address than the one
// that farm.yaml will have: an inventory takes that for another server.
func (d *derivation) dialled(p Pair, s Server) {
	if len(s.Sources) != 1 {
		return
	}
	n := d.find(s, s.Sources[0])
	for _, side := range p.Sides {
		if side.server == n && side.Address != s.Sources[0].Address {
			d.note("address", s.Address, fmt.Sprintf("replicates from %s, which is %s in the draft", s.Sources[0].Address, side.Address),
				"let it replicate from that address, or write the other one into farm.yaml: stowage inventory compares them letter by letter")
		}
	}
}
