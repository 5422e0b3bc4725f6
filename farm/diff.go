package farm

import (
	"fmt"
	"sort"
	"strconv"
	"strings"
)

// Difference is one thing that a plan relied on and that is not so any more.
// Was or Is is empty when the thing was added or taken away.
type Difference struct {
	Subject string `json:"subject"` // "host db001", "dbshard001a"
	Field   string `json:"field"`   // "address", "" for the thing itself
	Was     string `json:"was"`
	Is      string `json:"is"`
}

func (d Difference) String() string {
	what := strings.TrimSuffix(d.Subject+" "+d.Field, " ")
	switch {
	case d.Was == "":
		return fmt.Sprintf("%s: new, %s", what, d.Is)
	case d.Is == "":
		return fmt.Sprintf("%s: gone, was %s", what, d.Was)
	}
	return fmt.Sprintf("%s: was %s, is %s", what, d.Was, d.Is)
}

// Diff lists, sorted by subject and field, how two farms differ in what a plan
// depends on: host types, hosts, pairs, where their sides live, and which
// shards they hold. What shards need and when is measured anew every day and is
// left out, as are their customers: a plan carries the figures it was made with.
func Diff(was, is *Farm) []Difference {
	before, after := facts(was), facts(is)
	var ds []Difference
	for key, v := range before {
		if after[key] != v {
			ds = append(ds, Difference{key.subject, key.field, v, after[key]})
		}
	}
	for key, v := range after {
		if _, ok := before[key]; !ok {
			ds = append(ds, Difference{key.subject, key.field, "", v})
		}
	}
	ds = dropDetails(ds)
	sort.Slice(ds, func(i, j int) bool {
		if ds[i].Subject != ds[j].Subject {
			return ds[i].Subject < ds[j].Subject
		}
		return ds[i].Field < ds[j].Field
	})
	return ds
}

type fact struct{ subject, field string }

// facts flattens a farm. The field "" says that the thing exists.
func facts(f *Farm) map[fact]string {
	m := map[fact]string{}
	put := func(subject, field, v string) {
		if v != "" {
			m[fact{subject, field}] = v
		}
	}
	for _, t := range f.HostTypes {
		s := "host type " + string(t.Name)
		put(s, "", "there")
		put(s, "max_instances", strconv.Itoa(t.MaxInstances))
		for _, r := range t.Capacity.Names() {
			put(s, string(r), FormatQuantity(t.Capacity[r], r.Kind()))
		}
	}
	for _, h := range f.Hosts {
		s := "host " + string(h.Name)
		put(s, "", "there")
		put(s, "type", string(h.Type))
		put(s, "address", h.Address)
		put(s, "dir", h.Dir)
		for k, v := range h.Labels {
			put(s, "label "+k, v)
		}
		for _, r := range h.Reserved.Names() {
			put(s, "reserved "+string(r), FormatQuantity(h.Reserved[r], r.Kind()))
		}
	}
	for _, p := range f.Pairs {
		s := "pair " + string(p.Name)
		put(s, "", "there")
		put(s, "topology", string(p.Topology))
		for _, sh := range p.Shards {
			put("shard "+string(sh.Name), "pair", string(p.Name))
		}
		for n, side := range p.Sides {
			s := string(p.Instance(n))
			put(s, "", "there")
			put(s, "host", string(side.Host))
			put(s, "port", strconv.Itoa(side.Port))
			put(s, "datadir", side.Datadir)
			put(s, "config", side.Config)
			put(s, "group_suffix", side.GroupSuffix)
		}
	}
	return m
}

// dropDetails leaves one difference for a thing that came or went, not one
// for each of its fields.
func dropDetails(ds []Difference) []Difference {
	whole := map[string]bool{}
	for _, d := range ds {
		if d.Field == "" {
			whole[d.Subject] = true
		}
	}
	kept := ds[:0]
	for _, d := range ds {
		if d.Field == "" || !whole[d.Subject] {
			kept = append(kept, d)
		}
	}
	return kept
}
