package discover

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"stowage/farm"
)

// machines puts servers that were reached by one address on one host. servers
// are in the order of their addresses; only those that answered are on a host.
func machines(servers []Server) []Host {
	on := map[string]int{} // address of a machine -> index into groups
	var groups [][]int
	for n, s := range servers {
		if !s.answered() {
			continue
		}
		at := -1
		for _, a := range s.addresses() {
			if g, ok := on[hostOf(a)]; ok {
				at = g
				break
			}
		}
		if at < 0 {
			at = len(groups)
			groups = append(groups, nil)
		}
		groups[at] = append(groups[at], n)
		for _, a := range s.addresses() {
			if _, ok := on[hostOf(a)]; !ok {
				on[hostOf(a)] = at
			}
		}
	}
	var out []Host
	var words [][]string
	for _, g := range groups {
		for _, part := range apart(servers, g) {
			h := machine(servers, part)
			out = append(out, h)
			words = append(words, hostWords(servers, h))
		}
	}
	for n, name := range firstUnique(words, "host") {
		out[n].Name = farm.HostName(name)
	}
	slices.SortFunc(out, func(a, b Host) int { return farm.Natural(string(a.Name), string(b.Name)) })
	return out
}

// apart splits servers of one machine that no single address reaches: a host
// of farm.yaml has one.
func apart(servers []Server, group []int) [][]int {
	if sharedHost(servers, group) != "" {
		return [][]int{group}
	}
	var out [][]int
	for _, n := range group {
		joined := false
		for i := range out {
			if sharedHost(servers, append(slices.Clone(out[i]), n)) != "" {
				out[i], joined = append(out[i], n), true
				break
			}
		}
		if !joined {
			out = append(out, []int{n})
		}
	}
	return out
}

// sharedHost is the address of a machine by which all of a group are reached:
// the one that replicas use most, for that is what an inventory compares with.
func sharedHost(servers []Server, group []int) string {
	best, most := "", -1
	for _, a := range servers[group[0]].addresses() {
		host, uses := hostOf(a), 0
		if slices.ContainsFunc(group, func(n int) bool { return portAt(servers[n], host) == 0 }) {
			continue
		}
		for _, s := range servers {
			for _, from := range s.Sources {
				if hostOf(from.Address) == host && slices.ContainsFunc(group, func(n int) bool { return servers[n].isAt(from.Address) }) {
					uses++
				}
			}
		}
		if isLoopback(host) && !isLoopback(hostOf(servers[group[0]].Address)) {
			uses = 0 // right on the machine itself, and nowhere else
		}
		if uses > most {
			best, most = host, uses
		}
	}
	return best
}

// portAt is the server's port at an address of its machine, 0 for none.
func portAt(s Server, host string) int {
	for _, a := range s.addresses() {
		if hostOf(a) == host {
			return portOf(a)
		}
	}
	return 0
}

func machine(servers []Server, group []int) Host {
	h := Host{Address: sharedHost(servers, group), servers: group}
	for _, n := range group {
		s := servers[n]
		h.Instances = append(h.Instances, join(h.Address, portAt(s, h.Address)))
		h.Pools += s.Pool
		for _, bytes := range s.Shards {
			h.Data += bytes
		}
	}
	h.Type = farm.HostTypeName("pool-" + farm.FormatQuantity(float64(h.Pools), farm.KindBytes))
	return h
}

// hostWords are what a host may be called, the best first.
func hostWords(servers []Server, h Host) []string {
	told, hostname := "", servers[h.servers[0]].Hostname
	for _, n := range h.servers {
		for _, a := range servers[n].addresses() {
			if host := hostOf(a); !isIP(host) && host != "localhost" {
				told = cmp.Or(told, host)
			}
		}
		if servers[n].Hostname != hostname {
			hostname = "" // containers, or ports of one machine that lead to others
		}
	}
	return []string{label(told), label(hostname), told, strings.TrimPrefix(hostname, "localhost"), h.Address}
}

// namesakes are notes about hosts whose servers say the same hostname: one
// machine behind several addresses, perhaps.
func namesakes(servers []Server, hosts []Host) []farm.Finding {
	by := map[string][]string{}
	for _, h := range hosts {
		name := servers[h.servers[0]].Hostname
		by[name] = append(by[name], string(h.Name))
	}
	var out []farm.Finding
	for _, name := range sorted(by) {
		if names := by[name]; len(names) > 1 {
			out = append(out, farm.Finding{Check: "hostname", Severity: farm.Note, Subject: few(names),
				Text:   fmt.Sprintf("%s whose servers all call their machine %s", farm.Counted(len(names), "host"), name),
				Remedy: "nothing, if these are several machines; if they are one, its capacity counts several times, and both sides of a pair may be on it"})
		}
	}
	return out
}

// few is a list of names as a person reads it.
func few(names []string) string {
	if len(names) > 4 {
		return fmt.Sprintf("%s, %s, ... %s", names[0], names[1], names[len(names)-1])
	}
	return strings.Join(names, ", ")
}

// sorted are the keys of m in natural order.
func sorted[K ~string, V any](m map[K]V) []K {
	out := make([]K, 0, len(m))
	for k := range m {
		out = append(out, k)
	}
	slices.SortFunc(out, func(a, b K) int { return farm.Natural(string(a), string(b)) })
	return out
}
