package sources

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"net"
	"net/url"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"stowage/capacity"
	"stowage/farm"
	"stowage/inventory/claims"
)

// seriesWait is how long one range may take Prometheus.
const seriesWait = time.Minute

// wish is one resource of hosts, as a range of a query.
type wish struct {
	resource farm.ResourceName
	query    string
	limit    string // a query, too; empty: farm.yaml says it
	step     time.Duration
	back     time.Duration // how much of the past: a range has 11,000 points at most
}

// Levels are read once a day, and rates once an hour, as far as forecasts need them. Metrics are node_exporter's. Disks that are made of
// others (md, dm) count operations a second time, and are left out. %s is the label with the host's name.
const year = 365 * 24 * time.Hour

var usualSeries = []wish{
	{farm.Disk, `node_filesystem_size_bytes{fstype!~"tmpfs|ramfs|squashfs"} - node_filesystem_avail_bytes`, `node_filesystem_size_bytes{fstype!~"tmpfs|ramfs|squashfs"}`, 24 * time.Hour, year},
	{farm.Memory, `node_memory_MemTotal_bytes - node_memory_MemAvailable_bytes`, `node_memory_MemTotal_bytes`, 24 * time.Hour, year},
	{farm.CPU, `sum by (%[1]s) (rate(node_cpu_seconds_total{mode!~"idle|iowait"}[1h]))`, `count by (%[1]s) (node_cpu_seconds_total{mode="idle"})`, time.Hour, year / 4},
	{farm.IOPS, `sum by (%[1]s) (rate(node_disk_reads_completed_total{device!~"(dm-|md|loop|ram|sr).*"}[1h]) + rate(node_disk_writes_completed_total[1h]))`, "", time.Hour, year / 4},
}

// Series reads from a Prometheus of inventory.yaml what hosts have used: the source's own queries (series), or the usual ones. Of a host's file
// systems it takes those that farm.yaml has data directories on. unknown are names that farm.yaml does not have.
func Series(ctx context.Context, f *farm.Farm, spec claims.Spec, now time.Time) (all []capacity.Series, unknown []string, err error) {
	r := &reader{spec: spec}
	name := spec.Called
	if name == "" {
		name = "instance"
	}
	wishes := usualSeries
	if len(spec.Series) > 0 {
		wishes = nil
		for _, resource := range sortedKeys(spec.Series) {
			w := wish{resource: farm.ResourceName(resource), query: spec.Series[resource], step: time.Hour, back: year / 4}
			if w.resource == farm.Disk || w.resource == farm.Memory {
				w.step, w.back = 24*time.Hour, year
			}
			wishes = append(wishes, w)
		}
	}
	find, missing := finder(f), map[string]bool{}
	for _, w := range wishes {
		limits := map[string]float64{}
		if w.limit != "" {
			for _, x := range r.mustRange(ctx, &err, named(w.limit, name), now, now.Add(-time.Minute), time.Minute) {
				limits[x.labels[name]+"\x00"+x.labels["mountpoint"]] = x.samples[len(x.samples)-1].Value
			}
		}
		for _, x := range r.mustRange(ctx, &err, named(w.query, name), now, now.Add(-w.back), w.step) {
			kind, subject, ok := find(x.labels[name])
			if !ok {
				missing[x.labels[name]] = true
				continue
			}
			mount, has := x.labels["mountpoint"]
			if has && kind == capacity.OfHost && !holdsData(f, farm.HostName(subject), mount, x.labels[name], limits) {
				continue
			}
			s := capacity.Series{Kind: kind, Name: subject, Resource: w.resource, Source: strings.TrimSpace(spec.Name + " " + mount), Samples: x.samples}
			if most, ok := limits[x.labels[name]+"\x00"+mount]; ok {
				s.Limit = &most
			}
			all = append(all, s)
		}
		if err != nil {
			return nil, nil, err
		}
	}
	return all, sortedKeys(missing), nil
}

// named puts the label with the host's name into a query.
func named(query, label string) string { return strings.ReplaceAll(query, "%[1]s", label) }

// ranged is one series of an answer.
type ranged struct {
	labels  map[string]string
	samples []capacity.Sample
}

// mustRange asks for a range, unless something has failed before.
func (r *reader) mustRange(ctx context.Context, failed *error, query string, to, from time.Time, step time.Duration) []ranged {
	if *failed != nil {
		return nil
	}
	wait := max(r.spec.Timeout, seriesWait)
	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	seconds := func(d int64) string { return strconv.FormatInt(d, 10) }
	body, err := r.ask(ctx, "query_range", query, url.Values{"start": {seconds(from.Unix())}, "end": {seconds(to.Unix())}, "step": {seconds(int64(step / time.Second))}})
	if err == nil {
		var out []ranged
		if out, err = matrix(body, query); err == nil {
			return out
		}
	}
	*failed = err
	return nil
}

// matrix reads the answer to a range.
func matrix(body []byte, query string) ([]ranged, error) {
	var answer struct {
		Data struct {
			ResultType string
			Result     []struct {
				Metric map[string]string
				Values [][2]any
			}
		}
	}
	if err := json.Unmarshal(body, &answer); err != nil {
		return nil, fmt.Errorf("query %s: the answer is not Prometheus': %w", query, err)
	}
	if answer.Data.ResultType != "matrix" {
		return nil, fmt.Errorf("query %s: the answer is a %s, and a matrix is wanted", query, answer.Data.ResultType)
	}
	var out []ranged
	for _, x := range answer.Data.Result {
		s := ranged{labels: x.Metric}
		for _, v := range x.Values {
			at, isTime := v[0].(float64)
			text, _ := v[1].(string)
			value, err := strconv.ParseFloat(text, 64)
			if err != nil || !isTime || math.IsNaN(value) || math.IsInf(value, 0) {
				continue // no value
			}
			s.samples = append(s.samples, capacity.Sample{At: time.UnixMilli(int64(at * 1000)).UTC(), Value: value})
		}
		if len(s.samples) > 0 {
			out = append(out, s)
		}
	}
	return out, nil
}

// finder knows hosts, pairs and shards by name, and hosts by address and by the first part of a longer name; ports do not matter.
func finder(f *farm.Farm) func(string) (capacity.Kind, string, bool) {
	host := map[string]string{}
	for _, h := range f.Hosts {
		host[string(h.Name)], host[h.Address] = string(h.Name), string(h.Name)
	}
	delete(host, "")
	return func(name string) (capacity.Kind, string, bool) {
		if bare, _, err := net.SplitHostPort(name); err == nil {
			name = bare
		}
		first, _, _ := strings.Cut(name, ".")
		for _, n := range []string{name, first} {
			if known, ok := host[n]; ok && (n == name || net.ParseIP(name) == nil) {
				return capacity.OfHost, known, true
			}
		}
		kind, known, err := capacity.Find(f, name)
		return kind, known, err == nil
	}
}

// holdsData says whether a data directory of the host lies on this file system: none of those that are deeper has it. Where farm.yaml says no
// absolute directory, the file system of / counts.
func holdsData(f *farm.Farm, host farm.HostName, mount, label string, mounts map[string]float64) bool {
	var dirs []string
	for _, p := range f.Pairs {
		for _, side := range p.Sides {
			if side.Host == host && filepath.IsAbs(side.Datadir) {
				dirs = append(dirs, side.Datadir)
			}
		}
	}
	if len(dirs) == 0 {
		return mount == "/"
	}
	for _, dir := range dirs {
		deepest := ""
		for key := range mounts {
			at, where, _ := strings.Cut(key, "\x00")
			if at == label && len(where) > len(deepest) && (where == "/" || dir == where || strings.HasPrefix(dir, where+"/")) {
				deepest = where
			}
		}
		if deepest == mount {
			return true
		}
	}
	return false
}
