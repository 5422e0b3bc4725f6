package workspace

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"stowage/farm"
)

// SetHost says how a host is reached, of which type it is, and what its labels
// are. Its other keys stay.
func (e *Edit) SetHost(h farm.Host) {
	i := slices.IndexFunc(e.farm.Hosts, func(x farm.Host) bool { return x.Name == h.Name })
	if i < 0 {
		e.fail("farm.yaml has no host %q", h.Name)
		return
	}
	path := fmt.Sprintf("hosts[%d]", i)
	n, _, _ := follow(e.root, path)
	there := &e.farm.Hosts[i]
	there.Address, there.Type = h.Address, h.Type
	e.want(n, []entry{{"type", scalar(string(h.Type))}, {"address", scalar(h.Address)}})
	if maps.Equal(there.Labels, h.Labels) {
		return
	}
	labels := value(n, "labels")
	if labels == nil || len(labels.Content) == 0 {
		e.fail("host %s has no labels: write the first one by hand", h.Name)
		return
	}
	there.Labels = maps.Clone(h.Labels)
	for _, name := range sortedKeys(h.Labels) {
		e.want(labels, []entry{{name, scalar(h.Labels[name])}})
	}
}

// SetTopology says which sides of a pair take writes.
func (e *Edit) SetTopology(pair farm.PairName, t farm.Topology) {
	i := slices.IndexFunc(e.farm.Pairs, func(p farm.Pair) bool { return p.Name == pair })
	if i < 0 {
		e.fail("farm.yaml has no pair %q", pair)
		return
	}
	e.farm.Pairs[i].Topology = t
	n, _, _ := follow(e.root, fmt.Sprintf("pairs[%d]", i))
	e.want(n, []entry{{"topology", scalar(string(t))}})
}

// SetHostTypeOption gives the servers on hosts of a type an option, or another
// value of it. A name is kept as the file spells it.
func (e *Edit) SetHostTypeOption(name farm.HostTypeName, option, to string) {
	i := slices.IndexFunc(e.farm.HostTypes, func(t farm.HostType) bool { return t.Name == name })
	if i < 0 {
		e.fail("farm.yaml has no host type %q", name)
		return
	}
	t := &e.farm.HostTypes[i]
	t.Options = slices.DeleteFunc(slices.Clone(t.Options), func(o farm.HostOption) bool { return o.Name == option })
	t.Options = append(t.Options, farm.HostOption{Name: option, Value: to})
	slices.SortStableFunc(t.Options, func(a, b farm.HostOption) int { return strings.Compare(a.Name, b.Name) })
	n, _, _ := follow(e.root, fmt.Sprintf("host_types.%s", name))
	if has := value(n, "options"); has != nil && len(has.Content) > 0 {
		key := option
		for k := 0; k < len(has.Content); k += 2 {
			if farm.OptionName(has.Content[k].Value) == option {
				key = has.Content[k].Value
			}
		}
		e.want(has, []entry{{key, scalar(to)}})
		return
	}
	all := flow{} // the first ones of the type
	for _, o := range t.Options {
		all.add(scalar(o.Name), scalar(o.String()))
	}
	e.want(n, []entry{{"options", all.String()}})
}
