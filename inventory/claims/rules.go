package claims

import (
	"slices"
	"strings"
)

// Rules are what people have declared about the sources.
type Rules struct {
	// Authorities say who decides an attribute: the first of a list that is
	// fresh and claims it. Keys are "instance.host", "host" for every kind, or
	// "*". An instance's address is its host and port.
	Authorities map[string][]string
	// Tolerances replace the shares by which two amounts of an attribute may
	// differ; keys as above.
	Tolerances map[string]float64
}

// keysOf are the keys that speak of an attribute, the nearest first.
func keysOf(k Kind, name string) []string {
	names := []string{name}
	switch {
	case k == Instance && (name == "host" || name == "port"), k == Shard && name == "pair":
		names = append(names, "address")
	}
	var out []string
	for _, n := range names {
		out = append(out, string(k)+"."+n)
	}
	out = append(out, string(k)+".*")
	return append(append(out, names...), "*")
}

func (r Rules) authorities(k Kind, name string) []string {
	for _, key := range keysOf(k, name) {
		if list, ok := r.Authorities[key]; ok {
			return list
		}
	}
	return nil
}

func (r Rules) tolerance(k Kind, name string) float64 {
	for _, key := range keysOf(k, name) {
		if t, ok := r.Tolerances[key]; ok {
			return t
		}
	}
	return ruleOf(k, name).tolerance
}

// Unknown are the names in the rules that no source has.
func (r Rules) Unknown(sources []Source) []string {
	var out []string
	for _, list := range r.Authorities {
		for _, name := range list {
			if !slices.ContainsFunc(sources, func(s Source) bool { return strings.EqualFold(s.Name, name) }) {
				out = append(out, name)
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}
