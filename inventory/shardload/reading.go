package shardload

import (
	"time"

	"stowage/farm"
)

// Server is what a server's own counters said at one moment. They count since its start. Maps are by schema; a map that is
// nil was not to be had, and Without says why.
type Server struct {
	At      time.Time `json:"at"`     // by the clock of who asked
	Uptime  float64   `json:"uptime"` // seconds
	Version string    `json:"version"`

	// Statements are by the schema that was current, which need not be that of the tables.
	Statements map[string]Statements
	Digested   uint64 // statements in digests, of all schemas and of none
	Prepared   uint64 // executions of prepared statements, which MariaDB's digests leave out
	Files      map[string]File
	Logs       File // redo log and binary log: written with each commit
	Rest       File // all other files: undo, doublewrite, temporary tables, system tables
	Rows       map[string]Rows
	RowsFrom   string             // table_io_waits or TABLE_STATISTICS
	Commits    map[uint64]Commits // of sessions that are connected, by their number
	Sizes      map[string]int64   // bytes of its files
	Resident   map[string]int64   // bytes in the buffer pool
	Pool       int64              // bytes of the buffer pool
	PoolFree   int64
	PoolIsRead bool // Resident was asked for; a large pool is not read unless somebody wants it
	alone      bool // nobody else uses its disk: see Report.disks

	Pooled bool // thread_handling is pool-of-threads: a thread is no connection
	// Without says why a map is nil, by its name: "statements", "files", "rows".
	Without map[string]Lack
	// Lost are counters of performance_schema that overflowed, by name.
	Lost map[string]uint64
}

// Lack is why something was not to be had, and what would change that.
type Lack struct{ Why, Remedy string }

// Statements are the statements of one schema.
type Statements struct {
	Count    uint64
	Seconds  float64 // from their beginning to their end, waits included
	CPU      float64 // seconds; MySQL 8.0.28 and later, else 0
	Examined uint64
}

// File are operations on files, as the server asks for them.
type File struct {
	Reads, Writes         uint64
	ReadBytes, WriteBytes uint64
}

// Plus adds the operations of another file.
func (f File) Plus(g File) File {
	return File{f.Reads + g.Reads, f.Writes + g.Writes, f.ReadBytes + g.ReadBytes, f.WriteBytes + g.WriteBytes}
}

// Rows are rows read and changed.
type Rows struct{ Read, Changed uint64 }

// Commits are what a session has committed.
type Commits struct {
	Schema   string
	Own      bool   // it applies what its source has written
	Prepared uint64 // Handler_prepare: two for each statement that writes, and two for the COMMIT behind them
	Explicit uint64 // statements COMMIT, of transactions that only read as well
}

// transactions are those with writes since an earlier look. A session that sends COMMIT is taken to send it always.
func (c Commits) transactions(d Commits) float64 {
	prepared, explicit := float64(grown(c.Prepared, d.Prepared)), float64(grown(c.Explicit, d.Explicit))
	if explicit > 0 {
		return min(explicit, prepared/4)
	}
	return prepared / 2
}

// Connection is a session at one moment.
type Connection struct {
	ID     uint64
	Thread int    // of the operating system; 0: not known
	Schema string // current; "": none
	// Own says that it serves the server: it applies, or sends, the binary log.
	Own bool
}

// Process is what the machine's counters say of a server at one moment.
type Process struct {
	At                    time.Time       `json:"at"` // by the machine's clock
	PID                   int             `json:"pid"`
	Started               uint64          `json:"started"` // tells a new process with an old number apart
	CPU                   float64         `json:"cpu"`     // seconds
	ReadBytes, WriteBytes uint64          // that reached a disk
	HasIO                 bool            // /proc/PID/io could be read
	Resident              uint64          // bytes of memory
	Threads               map[int]float64 `json:"threads"` // CPU seconds, by thread
	Disk                  Disk            `json:"disk"`
	Machine               Machine         `json:"machine"`
}

// Disk is the block device below a data directory.
type Disk struct {
	Name                  string `json:"name"` // "" : not known
	Reads, Writes         uint64
	ReadBytes, WriteBytes uint64
}

// Machine are counters of a whole machine.
type Machine struct {
	ID   string  `json:"id"`   // of the running kernel: hosts with one are one machine
	Busy float64 `json:"busy"` // seconds of all processors, idle and iowait left out
	Wait float64 `json:"wait"` // seconds in which they had nothing to do but to wait for disks

	Processors    int    `json:"processors"`
	Memory, Spare uint64 // bytes; Spare is what processes could still be given (MemAvailable)
}

// Tick is one look at sessions and threads.
type Tick struct {
	Connections []Connection
	Threads     map[int]float64
}

// Window is one instance from the beginning to the end of a measurement.
type Window struct {
	Instance farm.InstanceName
	Host     farm.HostName
	Pair     farm.PairName
	Shards   []farm.ShardName

	First, Last Server
	Begin, End  *Process // nil: NoProcess says why
	NoProcess   Lack
	Ticks       []Tick
	Silent      string // why the server did not answer; nothing else counts then
}

// seconds is the length of the window by the server's readings.
func (w Window) seconds() float64 { return w.Last.At.Sub(w.First.At).Seconds() }

// processSeconds is its length by the process's readings, which are within those of the server.
func (w Window) processSeconds() float64 {
	if w.Begin == nil || w.End == nil || !w.End.At.After(w.Begin.At) {
		return w.seconds()
	}
	return w.End.At.Sub(w.Begin.At).Seconds()
}

// restarted says that counters of the end do not go on from those of the beginning.
func (w Window) restarted() bool {
	if w.Last.Uptime < w.First.Uptime {
		return true
	}
	return w.Begin != nil && w.End != nil && (w.Begin.PID != w.End.PID || w.Begin.Started != w.End.Started)
}

// grown is a counter's growth; one that went back has begun anew.
func grown(now, before uint64) uint64 {
	if now < before {
		return now
	}
	return now - before
}

func (f File) since(g File) File {
	if f.Reads < g.Reads || f.Writes < g.Writes {
		return f
	}
	return File{f.Reads - g.Reads, f.Writes - g.Writes, grown(f.ReadBytes, g.ReadBytes), grown(f.WriteBytes, g.WriteBytes)}
}

func (r Rows) since(s Rows) Rows { return Rows{grown(r.Read, s.Read), grown(r.Changed, s.Changed)} }

func (s Statements) since(t Statements) Statements {
	if s.Count < t.Count {
		return s
	}
	return Statements{s.Count - t.Count, s.Seconds - t.Seconds, s.CPU - t.CPU, grown(s.Examined, t.Examined)}
}

func (d Disk) since(e Disk) Disk {
	return Disk{d.Name, grown(d.Reads, e.Reads), grown(d.Writes, e.Writes), grown(d.ReadBytes, e.ReadBytes), grown(d.WriteBytes, e.WriteBytes)}
}
