package result

import (
	"time"

	"stowage/bench/stat"
)

// FormatVersion is that of the document. Whoever reads a higher one must refuse it.
const FormatVersion = 1

// Result is one bench of one directory.
type Result struct {
	FormatVersion int `json:"format_version"`
	// Kind is empty of a result that was measured. Source says where one that was Entered is from: nothing in it was made here.
	Kind         string        `json:"kind,omitempty"`
	Source       string        `json:"source,omitempty"`
	Profile      string        `json:"profile"` // quick or full
	Complete     bool          `json:"complete"`
	Sessions     []Session     `json:"sessions"` // more than one when it was resumed
	Settings     Settings      `json:"settings"`
	Environment  Environment   `json:"environment"`
	Precondition *Precondition `json:"precondition,omitempty"`
	Steps        []*Step       `json:"steps"`
	Noise        Noise         `json:"noise"`
	// Valid is false where the figures do not say what the storage does. Noise does not make a result invalid: it makes its intervals wide.
	Valid          bool     `json:"valid"`
	InvalidBecause []string `json:"invalid_because,omitempty"`
	Labels         []string `json:"labels,omitempty"` // what must be said beside the figures
}

// Session is one process's share of a result.
type Session struct {
	Began   time.Time `json:"began"`
	Ended   time.Time `json:"ended"`
	Command []string  `json:"command"`
}

// Settings are what a person may choose, and what follows from it. Results of different settings are not to be compared.
type Settings struct {
	Size    int64    `json:"size_bytes"`     // of the data file
	LogSize int64    `json:"log_size_bytes"` // of the file that LOG steps write
	Runtime float64  `json:"runtime_seconds"`
	Warmup  float64  `json:"warmup_seconds"` // of the same load, before each run, not counted
	MinRuns int      `json:"min_runs"`
	MaxRuns int      `json:"max_runs"`
	Target  float64  `json:"ci_target"`      // a step whose interval reaches no farther to either side is not run again
	Budget  float64  `json:"budget_seconds"` // no further round begins after it; 0: none
	Seed    uint64   `json:"seed"`           // of the order
	Steps   []string `json:"steps"`
	Engine  string   `json:"ioengine"`
	Direct  bool     `json:"o_direct"`
	Buffers string   `json:"buffers"`   // random: not compressible, never the same twice
	Fill    string   `json:"fallocate"` // none: every block was written before it is measured
	// ChosenByTime: the size is what could be written in the time for laying out.
	ChosenByTime bool `json:"size_chosen_by_time,omitempty"`
}

// Precondition is what was done to the files before anything was measured.
type Precondition struct {
	Bytes   int64   `json:"bytes"` // written, all of it
	Seconds float64 `json:"seconds"`
	MBps    float64 `json:"mbps"`   // of laying the files out: new blocks, sequentially
	Passes  float64 `json:"passes"` // over the data file
	// Random is how the random overwrite went that goes on until the device is steady; full profile only.
	Random *RandomFill `json:"random,omitempty"`
}

// RandomFill is random overwriting in windows until five of them are steady.
type RandomFill struct {
	Step     string        `json:"step"`
	IOPS     []float64     `json:"iops"` // by window
	Settling stat.Settling `json:"settling"`
}

// Step is one load. Its figures come from all its runs together.
type Step struct {
	ID      string `json:"id"`
	Answers string `json:"answers"`
	// Op is R, W or RW70 (70 % reads); Pattern is RND, SEQ or LOG.
	Pattern     string `json:"pattern"`
	Op          string `json:"op"`
	Block       int64  `json:"block_bytes"`
	Outstanding int    `json:"outstanding"` // requests in flight, of each thread
	Threads     int    `json:"threads"`
	Durable     bool   `json:"durable"` // fdatasync after every write
	Engine      string `json:"ioengine"`
	Job         string `json:"job"` // fio's job file; give it the same files and it does the same
	// AskedIOPS is the rate of an open-loop step, 0 of any other; Behind is the part of it that was not done.
	AskedIOPS float64 `json:"asked_iops,omitempty"`
	Behind    float64 `json:"behind,omitempty"`

	IOPS float64        `json:"iops"`   // geometric mean of the runs
	MBps float64        `json:"mbps"`   // 10^6 bytes
	Lat  Latency        `json:"lat_us"` // of whole requests; of a durable step: of its fdatasync
	CI   *stat.Interval `json:"ci"`     // of iops, 95 %; null with one run
	Runs int            `json:"runs"`
	// Steady is SNIA's rule over all runs in their order. A step that is not steady is a burst, or was disturbed.
	Steady   bool          `json:"steady"`
	Settling stat.Settling `json:"settling"`
	// WriteLat is the time of the writes of a durable step, without their fdatasync.
	WriteLat *Latency `json:"write_lat_us,omitempty"`
	// Flushes is how many flushes the device got for each fdatasync, of a durable step with one thread; nil where that is not known.
	// Undurable: it got hardly any, although its cache keeps writes until it is flushed. What such a step measures is lost with the power.
	Flushes   *float64 `json:"flushes_per_sync,omitempty"`
	Undurable bool     `json:"undurable,omitempty"`
	// Series is how even the speed was, in windows of a fraction of a second.
	Series Evenness `json:"series_iops"`
	Valid  bool     `json:"valid"`
	// MoreRuns is how many more would have made the interval as narrow as asked; 0 where it is.
	MoreRuns int `json:"more_runs"`
	// Histogram is of all runs together, and what the percentiles come from.
	Histogram      stat.Histogram `json:"histogram_ns"`
	WriteHistogram stat.Histogram `json:"write_histogram_ns,omitempty"`
	Samples        []Sample       `json:"samples"`
}

// Latency in microseconds.
type Latency struct {
	Min  float64 `json:"min"`
	Mean float64 `json:"mean"`
	P50  float64 `json:"p50"`
	P95  float64 `json:"p95"`
	P99  float64 `json:"p99"`
	P999 float64 `json:"p999"`
	Max  float64 `json:"max"`
}

// Evenness is of the speeds of short windows.
type Evenness struct {
	Min    float64 `json:"min"`
	P1     float64 `json:"p1"`
	Median float64 `json:"median"`
	Window float64 `json:"window_seconds"`
}

// Sample is one run of one step.
type Sample struct {
	Seq      int       `json:"seq"` // place in the order of all runs, from 1
	Round    int       `json:"round"`
	Began    time.Time `json:"began"`
	Seconds  float64   `json:"seconds"`
	IOPS     float64   `json:"iops"`
	ReadIOPS float64   `json:"read_iops"`
	MBps     float64   `json:"mbps"`
	Lat      Latency   `json:"lat_us"`
	WriteLat *Latency  `json:"write_lat_us,omitempty"`
	Series   []float64 `json:"series_iops"`
	// Depth1 is the part of requests that went out alone; near 1 where more were asked for, the engine did not do as told.
	Depth1    float64     `json:"alone"`
	ClientCPU float64     `json:"client_cpu"` // processors that fio itself used
	Check     Check       `json:"check"`
	Noise     Disturbance `json:"noise"`
}

// Check is what the kernel counted at the block device against what fio says it did.
type Check struct {
	// Of is the device, or empty: Why says why nothing was checked.
	Of          string  `json:"of,omitempty"`
	Why         string  `json:"why,omitempty"`
	FioRead     int64   `json:"fio_read_bytes"`
	FioWritten  int64   `json:"fio_written_bytes"`
	Read        int64   `json:"device_read_bytes"`
	Written     int64   `json:"device_written_bytes"`
	Flushes     int64   `json:"device_flushes"`
	Syncs       int64   `json:"fio_syncs"`
	Short       bool    `json:"short"`   // less reached the device than fio says: a cache answered
	Foreign     float64 `json:"foreign"` // what others moved, as a part of all
	Utilisation float64 `json:"utilisation"`
}

// Disturbance is what else went on around one run. PSI is measured in the pause before it, when we do nothing.
type Disturbance struct {
	CPU     float64 `json:"psi_cpu"` // part of the time in which some process waited for a processor
	IO      float64 `json:"psi_io"`
	Steal   float64 `json:"steal"` // part of the processors' time that the hypervisor took, during the run
	Foreign float64 `json:"foreign"`
}

// Noise is how disturbed the whole result is.
type Noise struct {
	Quiet     bool        `json:"quiet"`
	Reasons   []string    `json:"reasons,omitempty"`
	Mean      Disturbance `json:"mean"`
	Worst     Disturbance `json:"worst"`
	Disturbed int         `json:"disturbed_runs"` // runs in which a limit was passed
	Runs      int         `json:"runs"`
	Load      float64     `json:"load_average"` // before the first run
	AA        *AA         `json:"aa"`
}

// AA is one load measured first and last, the better of two runs each: what the same thing differs from itself.
type AA struct {
	Step  string  `json:"step"`
	First float64 `json:"first_iops"`
	Last  float64 `json:"last_iops"`
	Ratio float64 `json:"ratio"`
	Noisy bool    `json:"noisy"` // they differ by more than 10 %
}
