package shardload

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"stowage/farm"
)

// FormatVersion of the JSON form.
const FormatVersion = 1

// Report is the measured load of a farm.
type Report struct {
	FormatVersion int        `json:"format_version"`
	Farm          string     `json:"farm"`
	Began         time.Time  `json:"began"`
	Seconds       float64    `json:"seconds"`
	Shards        []Shard    `json:"shards"` // of the whole farm: what one side of its pair has to carry alone
	Instances     []Instance `json:"instances"`
	Sums          []Sum      `json:"sums"`
	Silent        []Silent   `json:"silent"` // instances that were not measured
}

// Shard is what a shard uses: on one instance, or what the side that serves it alone has to carry.
type Shard struct {
	Shard   farm.ShardName `json:"shard"`
	Pair    farm.PairName  `json:"pair"`
	CPU     Figure         `json:"cpu"`      // CPU seconds a second: cores
	Session Figure         `json:"sessions"` // of these, in threads that serve sessions; the rest is the server's own
	IOPS    Figure         `json:"iops"`     // operations a second
	Reads   Figure         `json:"reads"`
	Writes  Figure         `json:"writes"`
	Bytes   Figure         `json:"io_bytes"` // a second
	Read    Figure         `json:"rows_read"`
	Changed Figure         `json:"rows_changed"`
	Memory  Figure         `json:"memory"` // its working set: bytes in the buffer pool
	Disk    Figure         `json:"disk"`   // bytes
	Growth  Figure         `json:"growth"` // bytes a day
}

// Instance is one server and its shards.
type Instance struct {
	Name    farm.InstanceName `json:"instance"`
	Host    farm.HostName     `json:"host"`
	Pair    farm.PairName     `json:"pair"`
	Version string            `json:"version"`
	Seconds float64           `json:"seconds"`
	Shards  []Shard           `json:"shards"`
	// Others is the load of schemas that are no shard, and Nobody that of sessions without a schema.
	Others Shard    `json:"others"`
	Nobody float64  `json:"nobody_cpu"`
	Seen   float64  `json:"statements_in_digests"` // part of all statements
	Notes  []string `json:"notes"`

	traffic map[string]traffic
	second  map[string]traffic // in another way
	cpu     cpu
	window  Window
}

// Sum holds the shards of an instance, or of all instances of a disk or a machine, against a counter of theirs.
type Sum struct {
	Of      string  `json:"of"`   // "dbshard001a", "disk vdb of db001"
	What    string  `json:"what"` // "cpu", "iops", "bytes"
	Shards  float64 `json:"shards"`
	Others  float64 `json:"others"` // measured, of no shard
	Counter float64 `json:"counter"`
	Source  string  `json:"counter_from"`
	Note    string  `json:"note,omitempty"`
}

// Ratio is what was found, as a part of the counter; 0 where the counter stood still.
func (s Sum) Ratio() float64 {
	if s.Counter <= 0 {
		return 0
	}
	return (s.Shards + s.Others) / s.Counter
}

// Silent is an instance that was not measured.
type Silent struct {
	Name farm.InstanceName `json:"instance"`
	Why  string            `json:"why"`
}

// Assess makes a report of windows.
func Assess(farmName string, windows []Window) Report {
	r := Report{FormatVersion: FormatVersion, Farm: farmName, Shards: []Shard{}, Instances: []Instance{}, Sums: []Sum{}, Silent: []Silent{}}
	for _, w := range windows {
		switch {
		case w.Silent != "":
			r.Silent = append(r.Silent, Silent{w.Instance, w.Silent})
			continue
		case w.seconds() <= 0 || w.restarted():
			r.Silent = append(r.Silent, Silent{w.Instance, "it was restarted meanwhile: its counters have begun anew"})
			continue
		}
		if r.Began.IsZero() || w.First.At.Before(r.Began) {
			r.Began = w.First.At
		}
		r.Seconds = max(r.Seconds, w.seconds())
		r.Instances = append(r.Instances, measure(w))
	}
	r.disks()
	for i := range r.Instances {
		r.Instances[i].figures()
	}
	r.together()
	r.sums()
	return r
}

// measure is what one window says by itself.
func measure(w Window) Instance {
	i := Instance{Name: w.Instance, Host: w.Host, Pair: w.Pair, Version: w.Last.Version, Seconds: w.seconds(), Shards: []Shard{}, Seen: w.seenByDigests(), Notes: []string{}, window: w}
	i.traffic, i.second = w.fileTraffic()
	for name, n := range w.Last.Lost {
		if n > w.First.Lost[name] {
			i.Notes = append(i.Notes, fmt.Sprintf("%s has grown to %d: performance_schema had no room for all; raise its size", name, n))
		}
	}
	slices.Sort(i.Notes)
	return i
}

// onDisk are the instances of one disk.
type onDisk struct {
	machine, disk string
	members       []int // of Report.Instances
}

// byDisk are the instances of each disk, in the order of the report.
func (r *Report) byDisk() []onDisk {
	var out []onDisk
	for n, i := range r.Instances {
		w := i.window
		if w.Begin == nil || w.End == nil || w.End.Disk.Name == "" || w.End.Disk.Name != w.Begin.Disk.Name {
			continue
		}
		at := slices.IndexFunc(out, func(d onDisk) bool { return d.machine == w.End.Machine.ID && d.disk == w.End.Disk.Name })
		if at < 0 {
			out = append(out, onDisk{machine: w.End.Machine.ID, disk: w.End.Disk.Name})
			at = len(out) - 1
		}
		out[at].members = append(out[at].members, n)
	}
	return out
}

// disks puts the operations of servers into those of their disks, where a disk is theirs alone.
func (r *Report) disks() {
	for _, d := range r.byDisk() {
		var servers traffic
		var bytes, seconds float64
		var disk Disk
		known := true
		for _, n := range d.members {
			i := r.Instances[n]
			w := i.window
			servers = servers.plus(sum(i.traffic))
			known = known && i.traffic != nil && w.End.HasIO && w.Begin.HasIO
			bytes += float64(grown(w.End.ReadBytes, w.Begin.ReadBytes) + grown(w.End.WriteBytes, w.Begin.WriteBytes))
			if s := w.End.At.Sub(w.Begin.At).Seconds(); s > seconds { // all read the same counter
				seconds, disk = s, w.End.Disk.since(w.Begin.Disk)
			}
		}
		s := asDisk(servers, bytes, disk)
		if !known || !s.alone {
			s = scale{reads: 1, writes: 1, logs: 1}
		}
		for _, n := range d.members {
			i := &r.Instances[n]
			for schema, t := range i.traffic {
				i.traffic[schema] = s.apply(t)
			}
			for schema, t := range i.second {
				i.second[schema] = s.apply(t)
			}
			i.window.Last.alone = s.alone
		}
		first := r.Instances[d.members[0]]
		of := fmt.Sprintf("disk %s of %s", d.disk, first.Host)
		note := ""
		if !s.alone {
			note = "others use this disk, or the processes' I/O could not be read: operations are those that servers asked for"
		}
		if seconds > 0 {
			r.Sums = append(r.Sums, Sum{Of: of, What: "iops", Counter: float64(disk.Reads+disk.Writes) / seconds, Source: "/sys/block", Note: note},
				Sum{Of: of, What: "bytes", Counter: float64(disk.ReadBytes+disk.WriteBytes) / seconds, Source: "/sys/block", Note: note})
		}
	}
}

// figures are those of each shard.
func (i *Instance) figures() {
	w := i.window
	total, sessions, c, lack := w.cpuFigures()
	i.cpu, i.Nobody = c, c.nobody/w.processSeconds()
	isShard := map[string]bool{}
	for _, name := range w.Shards {
		isShard[string(name)] = true
		i.Shards = append(i.Shards, i.shard(string(name), total, sessions, lack))
	}
	others := map[string]bool{}
	for schema := range total {
		others[schema] = !isShard[schema]
	}
	for schema := range i.traffic {
		others[schema] = !isShard[schema]
	}
	i.Others = i.shard("", nil, nil, lack)
	if total != nil {
		i.Others.CPU = figure(0, "")
	}
	if i.traffic != nil {
		i.Others.IOPS, i.Others.Bytes = figure(0, ""), figure(0, "")
	}
	for _, schema := range sortedTrue(others) {
		s := i.shard(schema, total, sessions, lack)
		i.Others.CPU, i.Others.IOPS, i.Others.Bytes = i.Others.CPU.plus(s.CPU), i.Others.IOPS.plus(s.IOPS), i.Others.Bytes.plus(s.Bytes)
	}
	share := func(get func(*Shard) *Figure) {
		whole := 0.0
		for n := range i.Shards {
			whole += get(&i.Shards[n]).Or(0)
		}
		for n := range i.Shards {
			f := get(&i.Shards[n])
			*f = f.share(whole)
		}
	}
	for _, get := range parts {
		share(get)
	}
}

// parts are the figures that have shares.
var parts = []func(*Shard) *Figure{
	func(s *Shard) *Figure { return &s.CPU }, func(s *Shard) *Figure { return &s.Session }, func(s *Shard) *Figure { return &s.IOPS },
	func(s *Shard) *Figure { return &s.Reads }, func(s *Shard) *Figure { return &s.Writes }, func(s *Shard) *Figure { return &s.Bytes },
	func(s *Shard) *Figure { return &s.Read }, func(s *Shard) *Figure { return &s.Changed }, func(s *Shard) *Figure { return &s.Memory }, func(s *Shard) *Figure { return &s.Disk },
}

func sortedTrue(m map[string]bool) []string {
	var out []string
	for k, v := range m {
		if v {
			out = append(out, k)
		}
	}
	slices.Sort(out)
	return out
}

// shard is one schema of an instance.
func (i *Instance) shard(schema string, total, sessions map[string]Figure, lack Lack) Shard {
	w := i.window
	out := Shard{Shard: farm.ShardName(schema), Pair: i.Pair, CPU: missing(lack), Session: missing(lack)}
	if total != nil {
		out.CPU, out.Session = idle(total, schema).per(w.processSeconds()), idle(sessions, schema).per(w.processSeconds())
	}
	files := missing(w.Last.Without["files"])
	out.IOPS, out.Reads, out.Writes, out.Bytes = files, files, files, files
	if i.traffic != nil {
		how := howFiles
		if w.Last.alone {
			how = howDisk
		}
		a, b := i.traffic[schema], i.second[schema]
		out.IOPS = figure(a.operations(), how, b.operations()).per(i.Seconds)
		out.Reads = figure(a.reads, how, b.reads).per(i.Seconds)
		out.Writes = figure(a.writes+a.logs, how, b.writes+b.logs).per(i.Seconds)
		out.Bytes = figure(a.bytes(), howFiles, b.bytes()).per(i.Seconds)
		if !w.Last.alone {
			out.IOPS, out.Reads, out.Writes = out.IOPS.atMost(Fair), out.Reads.atMost(Fair), out.Writes.atMost(Fair)
		}
	}
	out.Read, out.Changed = missing(w.Last.Without["rows"]), missing(w.Last.Without["rows"])
	if w.Last.Rows != nil {
		d := w.Last.Rows[schema].since(w.First.Rows[schema])
		out.Read, out.Changed = figure(float64(d.Read), w.Last.RowsFrom).per(i.Seconds), figure(float64(d.Changed), w.Last.RowsFrom).per(i.Seconds)
	}
	out.Memory = w.memory(schema)
	out.Disk = Figure{Missing: "the server did not say"}
	if w.Last.Sizes != nil {
		out.Disk = figure(float64(w.Last.Sizes[schema]), "files of the schema's tables")
	}
	out.Growth = Figure{Missing: "one measurement knows no growth", Remedy: "measure again after a day or more"}
	return out
}

// idle is a figure of a schema that nobody used.
func idle(all map[string]Figure, schema string) Figure {
	if f, ok := all[schema]; ok {
		value, low, high := *f.Value, *f.Low, *f.High
		f.Value, f.Low, f.High = &value, &low, &high
		return f
	}
	return figure(0, "no session was seen in this schema")
}

// memory is the working set of a schema: its part of the buffer pool. In a pool that is full it may want more.
func (w Window) memory(schema string) Figure {
	switch {
	case !w.Last.PoolIsRead:
		return Figure{Missing: fmt.Sprintf("a buffer pool of %s is not read unless asked: that takes a lock on each of its pages", farm.RoundQuantity(float64(w.Last.Pool), farm.KindBytes)), Remedy: "--pages"}
	case w.Last.Resident == nil:
		return missing(w.Last.Without["memory"])
	}
	f := figure(float64(w.Last.Resident[schema]), "pages of the schema in the buffer pool")
	if w.Last.Pool > 0 && float64(w.Last.PoolFree) < 0.02*float64(w.Last.Pool) {
		f.How += ", which is full: with more memory it may take more"
		f = f.atMost(Fair)
	}
	return f
}

// together joins the sides of each pair: what the side that serves a shard alone has to carry. Sessions and reads of both
// add up; what each side writes it has already, for both apply all writes.
func (r *Report) together() {
	at := map[farm.ShardName]int{}
	for _, i := range r.Instances {
		for _, s := range i.Shards {
			n, ok := at[s.Shard]
			if !ok {
				at[s.Shard] = len(r.Shards)
				r.Shards = append(r.Shards, s)
				continue
			}
			t := &r.Shards[n]
			own, its := t.CPU.minus(t.Session), s.CPU.minus(s.Session)
			t.Session = t.Session.plus(s.Session)
			t.CPU = t.Session.plus(own.most(its))
			t.Reads, t.Writes = t.Reads.plus(s.Reads), t.Writes.most(s.Writes)
			t.IOPS = t.Reads.plus(t.Writes)
			t.Bytes, t.Read, t.Changed = t.Bytes.plus(s.Bytes), t.Read.plus(s.Read), t.Changed.most(s.Changed)
			t.Memory, t.Disk = t.Memory.most(s.Memory), t.Disk.most(s.Disk)
		}
	}
	for n := range r.Shards {
		for _, get := range parts { // of no one instance any more
			get(&r.Shards[n]).Share = nil
		}
	}
}

// minus is what is left of a figure.
func (f Figure) minus(g Figure) Figure {
	return f.with(g, func(a, b float64) float64 { return max(0, a-b) })
}

// sums compares shards with counters.
func (r *Report) sums() {
	type machine struct {
		id                   string
		host                 farm.HostName
		shards, others, busy float64
		seconds, processes   float64
	}
	var machines []*machine
	for _, i := range r.Instances {
		w, length := i.window, i.window.processSeconds()
		shards := 0.0
		for _, s := range i.Shards {
			shards += s.CPU.Or(0)
		}
		others := i.Others.CPU.Or(0) + i.Nobody
		if w.Begin == nil || w.End == nil {
			continue
		}
		if i.cpu.threads {
			r.Sums = append(r.Sums, Sum{Of: string(i.Name), What: "cpu seen at threads", Shards: (i.cpu.connections.sum() + i.cpu.background) / length, Others: i.cpu.nobody / length,
				Counter: i.cpu.process / length, Source: "/proc/PID/stat"})
		}
		r.Sums = append(r.Sums, Sum{Of: string(i.Name), What: "cpu", Shards: shards, Others: others, Counter: i.cpu.process / length, Source: "/proc/PID/stat"})
		at := slices.IndexFunc(machines, func(m *machine) bool { return m.id == w.End.Machine.ID })
		if at < 0 {
			machines = append(machines, &machine{id: w.End.Machine.ID, host: i.Host})
			at = len(machines) - 1
		}
		m := machines[at]
		m.shards, m.others, m.processes = m.shards+shards, m.others+others, m.processes+i.cpu.process
		if s := w.End.At.Sub(w.Begin.At).Seconds(); s > m.seconds {
			m.seconds, m.busy = s, w.End.Machine.Busy-w.Begin.Machine.Busy
		}
	}
	for _, m := range machines {
		if m.seconds > 0 && m.busy > 0 {
			r.Sums = append(r.Sums, Sum{Of: "machine of " + string(m.host), What: "cpu", Shards: m.shards, Others: m.others, Counter: m.busy / m.seconds, Source: "/proc/stat",
				Note: fmt.Sprintf("%.0f %% of what its processors did was the measured servers'", 100*m.processes/m.busy)})
		}
	}
	for n := range r.Sums {
		s := &r.Sums[n]
		for _, d := range r.byDisk() {
			if s.Of != fmt.Sprintf("disk %s of %s", d.disk, r.Instances[d.members[0]].Host) {
				continue
			}
			for _, m := range d.members {
				i := r.Instances[m]
				get := func(x Shard) Figure { return x.IOPS }
				if s.What == "bytes" {
					get = func(x Shard) Figure { return x.Bytes }
				}
				for _, x := range i.Shards {
					s.Shards += get(x).Or(0)
				}
				s.Others += get(i.Others).Or(0)
			}
		}
	}
	slices.SortStableFunc(r.Sums, func(a, b Sum) int { return cmp.Compare(a.Of, b.Of) })
}
