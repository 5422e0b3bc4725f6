package shardload

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"stowage/farm"
)

var began = time.Date(2026, 11, 25, 12, 0, 0, 0, time.UTC)

// window is a server with one session a schema, whose threads use so many seconds of CPU in a minute, and whose own threads
// use so many besides.
func window(cpu map[string]float64, background float64) Window {
	w := Window{Instance: "p1a", Host: "db1", Pair: "p1",
		First: Server{At: began, Uptime: 100}, Last: Server{At: began.Add(time.Minute), Uptime: 160}}
	total, ids := background, 10
	first, last := Tick{Threads: map[int]float64{1: 5}}, Tick{Threads: map[int]float64{1: 5 + background}}
	for _, schema := range []string{"", "s1", "s2", "s3"} {
		seconds, ok := cpu[schema]
		if !ok {
			continue
		}
		ids++
		x := Connection{ID: uint64(ids), Thread: 100 + ids, Schema: schema}
		first.Connections, last.Connections = append(first.Connections, x), append(last.Connections, x)
		first.Threads[x.Thread], last.Threads[x.Thread] = 1, 1+seconds
		if schema != "" {
			w.Shards = append(w.Shards, farm.ShardName(schema))
		}
		total += seconds
	}
	w.Ticks = []Tick{first, last}
	w.Begin, w.End = &Process{At: began, PID: 7, CPU: 50}, &Process{At: began.Add(time.Minute), PID: 7, CPU: 50 + total}
	return w
}

func shardOf(t *testing.T, r Report, name farm.ShardName) Shard {
	t.Helper()
	if len(r.Instances) != 1 {
		t.Fatalf("%d instances, silent %v", len(r.Instances), r.Silent)
	}
	for _, s := range r.Instances[0].Shards {
		if s.Shard == name {
			return s
		}
	}
	t.Fatalf("no shard %s", name)
	return Shard{}
}

func near(a, b float64) bool { return math.Abs(a-b) <= 1e-9*(1+math.Abs(b)) }

func TestThreadsAreBookedOnTheSchemaOfTheirSessions(t *testing.T) {
	w := window(map[string]float64{"s1": 30, "s2": 12, "": 3}, 6)
	w.First.Files = map[string]File{"s1": {}, "s2": {}}
	w.Last.Files = map[string]File{"s1": {Reads: 100}, "s2": {Writes: 100}}
	r := Assess("f", []Window{w})
	s1, s2 := shardOf(t, r, "s1"), shardOf(t, r, "s2")
	if got := *s1.CPU.Value; !near(got, (30+6*100.0/300)/60) {
		t.Errorf("s1 %v", got)
	}
	if got := *s2.CPU.Value; !near(got, (12+6*200.0/300)/60) {
		t.Errorf("s2 %v", got)
	}
	if got := *s1.Session.Value; !near(got, 0.5) {
		t.Errorf("sessions of s1: %v", got)
	}
	// Its background by pages written alone: nothing.
	if low, high := *s1.CPU.Low, *s1.CPU.High; !near(low, 0.5) || !near(high, (30+6*100.0/300)/60) {
		t.Errorf("s1 between %v and %v", low, high)
	}
	if got := r.Instances[0].Nobody; !near(got, 3.0/60) {
		t.Errorf("sessions without a schema: %v", got)
	}
	for _, s := range r.Sums {
		if s.Of == "p1a" && !near(s.Ratio(), 1) {
			t.Errorf("%+v: %v", s, s.Ratio())
		}
	}
}

// A thread goes from one session to the next: what is between belongs to nobody, and the rest is scaled up to the process.
func TestWhatLiesBetweenTwoSessionsIsSpread(t *testing.T) {
	w := window(map[string]float64{"s1": 8, "s2": 12}, 0)
	a, b := w.Ticks[0], w.Ticks[1]
	swapped := Tick{Connections: []Connection{{ID: 90, Thread: a.Connections[0].Thread, Schema: "s2"}, a.Connections[1]}, Threads: map[int]float64{}}
	for thread := range a.Threads {
		swapped.Threads[thread] = (a.Threads[thread] + b.Threads[thread]) / 2
	}
	w.Ticks = []Tick{a, swapped, b}
	r := Assess("f", []Window{w})
	if s1, s2 := shardOf(t, r, "s1").CPU, shardOf(t, r, "s2").CPU; *s1.Value != 0 || !near(*s2.Value, 20.0/60) || s2.Sure == Good {
		t.Errorf("s1 %v, s2 %v %s", *s1.Value, *s2.Value, s2.Sure)
	}
	for _, s := range r.Sums {
		if s.What == "cpu seen at threads" && !near(s.Ratio(), 12.0/20) {
			t.Errorf("%+v", s)
		}
	}
}

func TestWhatIsNotMeasuredIsNoNumber(t *testing.T) {
	lack := Lack{"performance_schema is OFF", "performance_schema=ON"}
	for _, x := range []struct {
		name   string
		change func(*Window)
		why    string
	}{
		{"no machine", func(w *Window) { w.Begin, w.End, w.NoProcess = nil, nil, Lack{"db1 has no agent", "an agent"} }, "CPU: db1 has no agent"},
		{"prepared statements, and sessions that are not seen", func(w *Window) {
			w.Ticks = nil
			w.Last.Statements, w.Last.Digested, w.Last.Prepared = map[string]Statements{"s1": {Count: 5, Seconds: 3}}, 5, 995
		}, "sessions were too short to be seen, and digests have 0 % of the statements: MariaDB's leave out prepared ones"},
		{"a pool of threads", func(w *Window) { w.Last.Pooled = true }, "thread_handling is pool-of-threads, so that threads are no sessions, and digests do not see enough of the statements"},
	} {
		w := window(map[string]float64{"s1": 10}, 1)
		w.Last.Without = map[string]Lack{"files": lack, "rows": lack}
		x.change(&w)
		s := shardOf(t, Assess("f", []Window{w}), "s1")
		if s.CPU.Measured() || s.CPU.Missing != x.why || s.CPU.Remedy == "" {
			t.Errorf("%s: %+v", x.name, s.CPU)
		}
		if s.IOPS.Measured() || s.IOPS.Missing != lack.Why || s.IOPS.Remedy != lack.Remedy || s.Changed.Measured() {
			t.Errorf("%s: %+v, %+v", x.name, s.IOPS, s.Changed)
		}
	}
}

// Transactions that write are counted whether they end with COMMIT or by themselves, and what a replica applies is spread by
// the rows that it changed.
func TestTransactionsThatWrite(t *testing.T) {
	w := window(map[string]float64{"s1": 10, "s2": 10}, 6)
	w.First.Commits = map[uint64]Commits{1: {Schema: "s1", Prepared: 80, Explicit: 10}}
	w.Last.Commits = map[uint64]Commits{
		1: {Schema: "s1", Prepared: 160, Explicit: 20}, // ten transactions of three statements
		2: {Schema: "s2", Prepared: 40},                // twenty statements
		3: {Schema: "s2", Explicit: 900},               // reads
		4: {Own: true, Prepared: 60},
	}
	w.First.Rows = map[string]Rows{}
	w.Last.Rows = map[string]Rows{"s1": {Changed: 20}, "s2": {Changed: 10}}
	if got := w.commits(); !near(got["s1"], 10+20) || !near(got["s2"], 20+10) {
		t.Errorf("%v", got)
	}
	if s1 := shardOf(t, Assess("f", []Window{w}), "s1").CPU; !near(*s1.Value, (10+6*0.5)/60) || !near(*s1.High, (10+6*20.0/30)/60) {
		t.Errorf("%v to %v", *s1.Value, *s1.High)
	}
}

// Without sessions at threads, statements' time spreads the process's CPU, and says that it is less sure.
func TestStatementTimeStandsInForThreads(t *testing.T) {
	w := window(map[string]float64{"s1": 10, "s2": 10}, 0)
	w.Ticks = nil
	w.First.Statements = map[string]Statements{"s1": {Count: 1, Seconds: 1}, "s2": {Count: 1, Seconds: 1}}
	w.Last.Statements = map[string]Statements{"s1": {Count: 100, Seconds: 4}, "s2": {Count: 100, Seconds: 2}, "": {Count: 50, Seconds: 100}}
	w.Last.Digested = 250
	s1 := shardOf(t, Assess("f", []Window{w}), "s1").CPU
	if !near(*s1.Value, 20.0*3/4/60) || s1.Sure != Fair || !near(*s1.Low, *s1.Value*0.75) {
		t.Errorf("%+v %v", s1, *s1.Value)
	}
}

func TestServersThatRestartedAreNotMeasured(t *testing.T) {
	w := window(map[string]float64{"s1": 10}, 1)
	w.Last.Uptime = 3
	again := window(map[string]float64{"s1": 10}, 1)
	again.End.PID = 8
	r := Assess("f", []Window{w, again, {Instance: "p2a", Silent: "connection refused"}})
	if len(r.Instances) != 0 || len(r.Silent) != 3 {
		t.Errorf("%+v", r)
	}
}

// The disk's own operations are spread where its bytes say that it is the servers' alone: the journal goes with the logs.
func TestOperationsAreTheDisks(t *testing.T) {
	for _, x := range []struct {
		name          string
		disk          Disk
		reads, writes float64 // of s1 and s2 in a minute
	}{
		{"alone", Disk{Name: "vdb", Reads: 1000, Writes: 500, ReadBytes: 16 << 20, WriteBytes: 8 << 20}, 1000, 500},
		{"merged", Disk{Name: "vdb", Reads: 500, Writes: 100, ReadBytes: 16 << 20, WriteBytes: 8 << 20}, 500, 100},
		{"with others", Disk{Name: "vdb", Reads: 9000, Writes: 9000, ReadBytes: 160 << 20, WriteBytes: 80 << 20}, 1000, 300},
		{"no disk", Disk{}, 1000, 300},
	} {
		w := window(map[string]float64{"s1": 10, "s2": 10}, 1)
		w.First.Files = map[string]File{}
		w.Last.Files = map[string]File{"s1": {Reads: 1000}, "s2": {Writes: 200}}
		w.Last.Rows = map[string]Rows{"s2": {Changed: 10}}
		w.Last.Logs = File{Writes: 100}
		w.Begin.HasIO, w.End.HasIO, w.End.ReadBytes, w.End.WriteBytes = true, true, 16<<20, 8<<20
		w.Begin.Disk.Name, w.End.Disk = x.disk.Name, x.disk
		r := Assess("f", []Window{w})
		s1, s2 := shardOf(t, r, "s1"), shardOf(t, r, "s2")
		if got := *s1.Reads.Value * 60; !near(got, x.reads) || *s1.Writes.Value != 0 {
			t.Errorf("%s: s1 reads %v writes %v", x.name, got, *s1.Writes.Value)
		}
		if got := *s2.Writes.Value * 60; !near(got, x.writes) {
			t.Errorf("%s: s2 writes %v, want %v", x.name, got, x.writes)
		}
		for _, s := range r.Sums {
			if s.What == "iops" && s.Note == "" && !near(s.Ratio(), 1) {
				t.Errorf("%s: %+v", x.name, s)
			}
		}
	}
}

// Undo goes with transactions: s1 changes three rows in each, and writes more pages of its own tables for that; rollback segments and purge
// work for a transaction. Bytes of doublewrite go with all pages that are written, also those of undo.
func TestUndoGoesWithTransactions(t *testing.T) {
	w := window(map[string]float64{"s1": 30, "s2": 12}, 6)
	w.First.Files = map[string]File{"s1": {}, "s2": {}}
	w.Last.Files = map[string]File{"s1": {Writes: 900, WriteBytes: 900 * 16384}, "s2": {Writes: 100, WriteBytes: 100 * 16384}}
	w.First.Rows, w.Last.Rows = map[string]Rows{"s1": {}, "s2": {}}, map[string]Rows{"s1": {Changed: 300}, "s2": {Changed: 100}}
	w.Last.Rest = File{Reads: 400, Writes: 408, WriteBytes: (408 + 1408) * 16384}
	w.First.Commits = map[uint64]Commits{11: {Schema: "s1"}, 12: {Schema: "s2"}}
	w.Last.Commits = map[uint64]Commits{11: {Schema: "s1", Prepared: 200}, 12: {Schema: "s2", Prepared: 200}}
	r := Assess("f", []Window{w})
	s1, s2 := shardOf(t, r, "s1"), shardOf(t, r, "s2")
	part := (100 + 300/50.0) / (200 + 400/50.0) // of s1: transactions, and a page for 50 rows
	if got := *s1.Reads.Value * 60; !near(got, 400*part) || !near(*s2.Reads.Value*60, 400*(1-part)) {
		t.Errorf("s1 reads %v of 400 of undo, want %v", got, 400*part)
	}
	if got := *s1.Writes.Value * 60; !near(got, 900+408*part) {
		t.Errorf("s1 writes %v, want %v", got, 900+408*part)
	}
	pages := 900 + 408*part // of 1408, each of which doublewrite writes once more
	if got := *s1.Bytes.Value * 60; !near(got, 2*pages*16384) {
		t.Errorf("s1 writes %v bytes, want %v", got, 2*pages*16384)
	}
	if high := *s1.Reads.High * 60; !near(high, 400*0.9) {
		t.Errorf("the interval of s1's reads ends at %v, and by pages written it is 360", high)
	}
	if whole := *s1.IOPS.Value + *s2.IOPS.Value; !near(whole*60, 1000+400+408) {
		t.Errorf("both have %v operations", whole*60)
	}
}

// A schema that only sessions know has its part, too.
func TestWritersWithoutFilesAreOthers(t *testing.T) {
	w := window(map[string]float64{"s1": 30}, 6)
	w.First.Files, w.Last.Files = map[string]File{"s1": {}}, map[string]File{"s1": {Reads: 60}}
	w.Last.Rest, w.Last.Logs = File{Writes: 600}, File{Writes: 60}
	w.First.Commits, w.Last.Commits = map[uint64]Commits{}, map[uint64]Commits{11: {Schema: "s1", Prepared: 20}, 99: {Schema: "mysql", Prepared: 20}}
	i := Assess("f", []Window{w}).Instances[0]
	if got := *i.Shards[0].IOPS.Value * 60; !near(got, 60+330) || !near(*i.Others.IOPS.Value*60, 330) {
		t.Errorf("s1 has %v, others %v", got, *i.Others.IOPS.Value*60)
	}
}

// The side that serves a shard alone has the sessions of both, and the writes that it has already.
func TestOneSideCarriesBoth(t *testing.T) {
	a, b := window(map[string]float64{"s1": 30}, 6), window(map[string]float64{"s1": 12}, 18)
	b.Instance, b.Host = "p1b", "db2"
	for _, w := range []*Window{&a, &b} {
		w.First.Files, w.Last.Files = map[string]File{}, map[string]File{"s1": {Reads: 60, Writes: 120}}
	}
	r := Assess("f", []Window{a, b})
	s := r.Shards[0]
	if len(r.Shards) != 1 || !near(*s.CPU.Value, (30+12+18)/60.0) || !near(*s.IOPS.Value, 1+1+2) || s.CPU.Share != nil {
		t.Errorf("%v %v %+v", *s.CPU.Value, *s.IOPS.Value, s)
	}
}

func TestGrowthNeedsADay(t *testing.T) {
	at := func(days float64, size float64) Report {
		return Report{Began: began.Add(time.Duration(days * 24 * float64(time.Hour))), Shards: []Shard{{Shard: "s1", Disk: figure(size, "")}}}
	}
	now := at(30, 1300)
	now.Grow([]Report{at(0, 1000), at(20, 1150), at(29.5, 9999)})
	if g := now.Shards[0].Growth; !near(*g.Value, 10) || !near(*g.High, 15) || g.Sure != Poor {
		t.Errorf("%+v %v %v", g, *g.Value, *g.High)
	}
	now = at(0.5, 1300)
	now.Grow([]Report{at(0, 1000)})
	if now.Shards[0].Growth.Measured() {
		t.Error("growth after half a day")
	}
}

// Whatever the counters are: no negative figure, every value within its interval, shares that add up to one, and a sum over
// shards and others that is the process's CPU.
func TestFiguresHoldTogether(t *testing.T) {
	for seed := range uint64(2000) {
		r := rand.New(rand.NewPCG(seed, 1))
		n := func(most uint64) uint64 { return r.Uint64N(most + 1) }
		cpu := map[string]float64{}
		for _, s := range []string{"", "s1", "s2", "s3"} {
			if r.IntN(4) > 0 {
				cpu[s] = float64(n(1000)) / 100
			}
		}
		w := window(cpu, float64(n(500))/100)
		w.First.Files, w.Last.Files = map[string]File{}, map[string]File{}
		w.First.Rows, w.Last.Rows = map[string]Rows{}, map[string]Rows{}
		for _, s := range []string{"s1", "s2", "s3", "other"} {
			w.First.Files[s], w.Last.Files[s] = File{n(9), n(9), n(99), n(99)}, File{n(99), n(99), n(999), n(999)}
			w.First.Rows[s], w.Last.Rows[s] = Rows{n(9), n(9)}, Rows{n(99), n(99)}
		}
		w.First.Logs, w.Last.Logs = File{Writes: n(9)}, File{Writes: n(99)}
		w.Last.Rest = File{n(99), n(99), n(999), n(999)}
		rep := Assess("f", []Window{w})
		if len(rep.Instances) != 1 {
			t.Fatalf("seed %d: %+v", seed, rep)
		}
		i := rep.Instances[0]
		sum := i.Nobody + i.Others.CPU.Or(0)
		for _, get := range parts {
			shares, all := 0.0, 0
			for k := range i.Shards {
				f := get(&i.Shards[k])
				if !f.Measured() {
					if f.Missing == "" {
						t.Fatalf("seed %d: no figure and no reason: %+v", seed, f)
					}
					continue
				}
				if *f.Value < 0 || *f.Low > *f.Value || *f.High < *f.Value || math.IsNaN(*f.Value) {
					t.Fatalf("seed %d: %v between %v and %v", seed, *f.Value, *f.Low, *f.High)
				}
				if f.Share != nil {
					shares += *f.Share
					all++
				}
			}
			if all > 0 && math.Abs(shares-1) > 1e-9 {
				t.Fatalf("seed %d: shares add up to %v", seed, shares)
			}
		}
		known := false
		for _, s := range i.Shards {
			sum += s.CPU.Or(0)
			known = known || s.CPU.Measured()
		}
		if process := (w.End.CPU - w.Begin.CPU) / 60; known && math.Abs(sum-process) > 1e-9 {
			t.Fatalf("seed %d: shards and others have %v of %v cores", seed, sum, process)
		}
	}
}

func ExampleReport_WriteText() {
	w := window(map[string]float64{"s1": 30, "s2": 12}, 6)
	w.Last.Without = map[string]Lack{"files": {"performance_schema is OFF", "performance_schema=ON in the option file, and a restart"}, "rows": {"performance_schema and userstat are OFF", "SET GLOBAL userstat=ON"}}
	w.Last.Sizes = map[string]int64{"s1": 48e9, "s2": 2e9}
	w.Last.Resident, w.Last.PoolIsRead, w.Last.Pool, w.Last.PoolFree = map[string]int64{"s1": 3 << 30, "s2": 1 << 30}, true, 8<<30, 4<<30
	w.Begin.Machine, w.End.Machine = Machine{ID: "m", Busy: 1000}, Machine{ID: "m", Busy: 1060}
	var b writer
	if err := Assess("etsy", []Window{w}).WriteText(&b, 0); err != nil {
		panic(err)
	}
	fmt.Print(b.text)
	// Output:
	// farm etsy: 2 shards of 1 instance measured for 60 s, from 2026-11-25 12:00:00 UTC
	//
	// SHARD  PAIR  CPU               IOPS          IO BYTES/S    ROWS READ/S   CHANGED/S     WORKING SET  DISK  GROWTH/DAY
	// s1     p1    0.57 (0.50-0.64)  not measured  not measured  not measured  not measured  3.22GB       48GB  not measured
	// s2     p1    0.23 (0.20-0.26)  not measured  not measured  not measured  not measured  1.07GB       2GB   not measured
	//
	// CPU is in cores, of the side that serves the shard alone: sessions of both sides, and the server's own work of one.
	// cpu: CPU of the threads that serve sessions in this schema, and its part of the server's own threads. Sure: 0 good, 2 fair, 0 poor.
	// working set: pages of the schema in the buffer pool. Sure: 2 good, 0 fair, 0 poor.
	// disk: files of the schema's tables. Sure: 2 good, 0 fair, 0 poor.
	// not measured: iops of p1a: performance_schema is OFF
	//   -> performance_schema=ON in the option file, and a restart
	// not measured: io bytes/s of p1a: performance_schema is OFF
	//   -> performance_schema=ON in the option file, and a restart
	// not measured: rows read/s of p1a: performance_schema and userstat are OFF
	//   -> SET GLOBAL userstat=ON
	// not measured: changed/s of p1a: performance_schema and userstat are OFF
	//   -> SET GLOBAL userstat=ON
	// not measured: growth/day of p1: one measurement knows no growth
	//   -> measure again after a day or more
	//
	// SUM OF          WHAT                 SHARDS  OTHERS  COUNTER  RATIO  COUNTER FROM
	// machine of db1  cpu                  0.80    0       1.00     0.80   /proc/stat
	// p1a             cpu seen at threads  0.80    0       0.80     1.00   /proc/PID/stat
	// p1a             cpu                  0.80    0       0.80     1.00   /proc/PID/stat
	// machine of db1, cpu: 80 % of what its processors did was the measured servers'
}

// writer takes the blanks away with which tables end their lines.
type writer struct{ text string }

func (w *writer) Write(p []byte) (int, error) {
	w.text += string(p)
	return len(p), nil
}
