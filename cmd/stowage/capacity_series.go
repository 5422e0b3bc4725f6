package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"stowage/capacity"
	"stowage/farm"
	"stowage/inventory"
	"stowage/inventory/shardload"
	"stowage/session"
	"stowage/store"
)

// histories are the series that forecasts are made of.
type histories struct {
	series []capacity.Series
	asked  []askedProm
}

// histories are what was kept here, or, where it reaches further back, what a Prometheus has. stowage capacity, the page and the report ask it alike.
func (a *app) histories(ctx context.Context, d *session.Session, asks string) (histories, error) {
	own, err := a.keptSeries(d)
	if err != nil {
		return histories{}, err
	}
	more, err := a.prometheus(ctx, d, asks)
	if err != nil {
		return histories{}, err
	}
	out := histories{series: capacity.Longer(own, more.series), asked: append([]askedProm{}, more.asked...)}
	for i, p := range out.asked {
		for _, s := range out.series {
			if s.Source == p.Name || strings.HasPrefix(s.Source, p.Name+" ") {
				out.asked[i].Used++
			}
		}
	}
	return out, nil
}

// keptSeries are all series of this workspace; nobody is asked for them.
func (a *app) keptSeries(d *session.Session) ([]capacity.Series, error) {
	sizes, err := a.keptSizes(d)
	if err != nil {
		return nil, err
	}
	uses, err := keptUses(d)
	return append(sizes, uses...), err
}

// keptSizes are the sizes in all inventories that were kept.
func (a *app) keptSizes(d *session.Session) ([]capacity.Series, error) {
	docs, err := d.Store.Documents("inventory")
	if err != nil {
		return nil, err
	}
	var taken []inventory.Inventory
	for _, doc := range docs {
		var inv inventory.Inventory
		if err := d.Store.DocumentByID(doc.ID, &inv); err != nil {
			return nil, err
		}
		if inv.Farm == d.Farm.Name {
			taken = append(taken, inv)
		}
	}
	levels, err := keptLevels(d)
	return joined(inventory.Sizes(d.Farm, taken), levels), err
}

// joined has the samples of both where both know the same subject.
func joined(all, more []capacity.Series) []capacity.Series {
	type key struct {
		kind     capacity.Kind
		name     string
		resource farm.ResourceName
	}
	at := map[key]int{}
	for i, s := range all {
		at[key{s.Kind, s.Name, s.Resource}] = i
	}
	for _, s := range more {
		if i, ok := at[key{s.Kind, s.Name, s.Resource}]; ok {
			all[i].Samples = append(all[i].Samples, s.Samples...)
			all[i].Source += ", " + s.Source
			continue
		}
		all = append(all, s)
	}
	return all
}

// hostSource is the name of what stowage due has kept of hosts.
const hostSource = "due (hosts)"

// keptUses are processors, memory and operations of hosts, as due has kept them, by the day: the hours are not kept long enough for a forecast.
func keptUses(d *session.Session) ([]capacity.Series, error) {
	gauges, err := d.Store.Gauges(time.Unix(0, 0), true) // by time
	if err != nil {
		return nil, err
	}
	by := map[string]map[string][]store.Gauge{}
	for _, g := range gauges {
		if by[g.Name] == nil {
			by[g.Name] = map[string][]store.Gauge{}
		}
		by[g.Name][g.Measure] = append(by[g.Name][g.Measure], g)
	}
	var out []capacity.Series
	for _, h := range d.Farm.Hosts {
		out = append(out, usesOf(string(h.Name), by[string(h.Name)])...)
	}
	return out, nil
}

// usesOf are the series of one host. Limits are the machine's own where the host is a whole machine; else farm.yaml has them.
func usesOf(host string, of map[string][]store.Gauge) (out []capacity.Series) {
	for _, x := range []struct {
		resource        farm.ResourceName
		measure, limits string
		isPeak          bool
	}{
		{farm.CPU, shardload.HostCPU, shardload.HostProcessors, true},
		{farm.Memory, shardload.HostMemory, shardload.HostMemoryOf, false},
		{farm.IOPS, shardload.HostOperations, "", true},
	} {
		s := capacity.Series{Kind: capacity.OfHost, Name: host, Resource: x.resource, Source: hostSource, Peaks: x.isPeak}
		for _, g := range of[x.measure] {
			v := g.Mean
			if x.isPeak {
				v = g.Most
			}
			s.Samples = append(s.Samples, capacity.Sample{At: g.At, Value: v})
		}
		if len(s.Samples) == 0 {
			continue
		}
		if has := of[x.limits]; len(has) > 0 && !has[len(has)-1].At.Before(s.Samples[len(s.Samples)-1].At) {
			s.Limit = &has[len(has)-1].Mean
		}
		if x.resource == farm.CPU {
			s.Remark = diskRemark(of)
		}
		out = append(out, s)
	}
	return out
}

// diskRemark says how long the processors waited for disks, and how much was moved; nothing where neither is known. There is no limit for
// either that anybody declares.
func diskRemark(of map[string][]store.Gauge) string {
	var parts []string
	if v, ok := lastWeek(of[shardload.HostWait]); ok {
		parts = append(parts, fmt.Sprintf("%.2g processors waited for disks", v))
	}
	reads, hasReads := lastWeek(of[shardload.HostReadBytes])
	writes, hasWrites := lastWeek(of[shardload.HostWriteBytes])
	if hasReads && hasWrites {
		parts = append(parts, fmt.Sprintf("%s were read and %s written", farm.RoundQuantity(reads, farm.KindByteRate), farm.RoundQuantity(writes, farm.KindByteRate)))
	}
	if len(parts) == 0 {
		return ""
	}
	return "in the busiest window of a day, the median of the last 7 days: " + strings.Join(parts, ", ")
}

// lastWeek is the median of the highest windows of the last seven days that were measured.
func lastWeek(days []store.Gauge) (float64, bool) {
	var most []float64
	for _, g := range days[max(0, len(days)-7):] {
		most = append(most, g.Most)
	}
	if len(most) == 0 {
		return 0, false
	}
	slices.Sort(most)
	return most[len(most)/2], true
}
