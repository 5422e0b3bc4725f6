package sheet

import (
	"errors"
	"fmt"
	"time"

	"stowage/bench/result"
	"stowage/bench/stat"
	"stowage/internal/nested"
)

// FormatVersion is that of the document. Whoever reads a higher one must refuse it.
const FormatVersion = 1

// Kind tells this document from that of bench run.
const Kind = "engine"

// Mode is what was asked.
type Mode string

const (
	Engines   Mode = "engines"   // cells beside each other, one server at a time
	Instances Mode = "instances" // several servers of one cell at once
	Apply     Mode = "apply"     // a replica that works off a backlog
)

// Result is one bench of engines in one directory.
type Result struct {
	FormatVersion int                `json:"format_version"`
	Kind          string             `json:"kind"`
	Mode          Mode               `json:"mode"`
	Profile       string             `json:"profile"`
	Complete      bool               `json:"complete"`
	Sessions      []result.Session   `json:"sessions"`
	Settings      Settings           `json:"settings"`
	Environment   result.Environment `json:"environment"`
	Server        string             `json:"server"` // its version
	// BytesFrom says where bytes were counted: "device NAME", where the directory is the mount point of a device of its own, or "process",
	// /proc/PID/io of the servers, which leaves out what the file system writes for itself.
	BytesFrom string   `json:"bytes_from"`
	Cells     []*Cell  `json:"cells"`
	Rows      []*Row   `json:"rows"`
	Knees     []Knee   `json:"knees,omitempty"` // of mode instances
	Base      string   `json:"base"`            // the cell, or the setting, that the others are compared with
	Noise     Noise    `json:"noise"`
	Valid     bool     `json:"valid"`
	Invalid   []string `json:"invalid_because,omitempty"`
	Labels    []string `json:"labels,omitempty"`
}

// Noise is how disturbed the result is. Foreign is what others moved in the pause before a run, as a part of what the run then moved itself.
type Noise = result.Noise

// Settings are what a person may choose.
type Settings struct {
	Cells   []string  `json:"cells"`
	Loads   []string  `json:"loads"`
	Rows    int       `json:"rows"` // of each table
	Tables  int       `json:"tables"`
	Ratios  []float64 `json:"data_cache_ratios"`
	Clients int       `json:"clients"` // of each server
	Keys    string    `json:"keys"`    // uniform or zipf
	Runtime float64   `json:"runtime_seconds"`
	Warmup  float64   `json:"warmup_seconds"`
	MinRuns int       `json:"min_runs"`
	MaxRuns int       `json:"max_runs"`
	Target  float64   `json:"ci_target"`
	Seed    uint64    `json:"seed"`
	Counts  []int     `json:"instances,omitempty"`
	Threads []int     `json:"apply_threads,omitempty"`
	Modes   []string  `json:"apply_modes,omitempty"`
	Backlog int       `json:"backlog_transactions,omitempty"`
}

// Row is one thing that was measured several times.
type Row struct {
	ID         string     `json:"id"`
	Cell       string     `json:"cell"`
	Load       string     `json:"load"`
	Durability Durability `json:"durability"`
	Ratio      float64    `json:"data_cache_ratio"` // of the rows' bytes
	Cache      int64      `json:"cache_bytes"`      // of each server
	Clients    int        `json:"clients"`          // of each server
	Instances  int        `json:"instances"`
	Threads    int        `json:"apply_threads,omitempty"`
	Parallel   string     `json:"apply_mode,omitempty"`
	// Again marks the A/A cell: the base once more, with data of its own. What it differs by is the measurement's own error.
	Again bool `json:"again,omitempty"`

	Runs int    `json:"runs"`
	TPS  Metric `json:"tps"`
	// PerCPU is transactions by processor second of the servers.
	PerCPU    Metric         `json:"tx_per_cpu_second"`
	CPUPerTx  float64        `json:"cpu_us_per_tx"`
	Lat       result.Latency `json:"lat_us"` // of a transaction, its repetitions after a deadlock among it
	Histogram stat.Histogram `json:"histogram_ns,omitempty"`
	// WorstP99 is that of the slowest instance, the median of the runs; 0 with one instance.
	WorstP99 float64 `json:"worst_instance_p99_us,omitempty"`
	Written  Phases  `json:"written_bytes_per_tx"`
	Read     float64 `json:"read_bytes_per_tx"`
	// Amplification is bytes written by byte of rows changed; nil for loads that change nothing.
	Amplification *Phases `json:"write_amplification,omitempty"`
	Flushes       float64 `json:"flushes_per_tx"`
	Operations    float64 `json:"operations_per_tx,omitempty"` // 0: not counted
	FlushesFrom   string  `json:"flushes_from"`                // "device", or "server": its own counts
	Size          Sizes   `json:"size_bytes"`
	RSS           int64   `json:"rss_bytes"` // of all servers of the row, the largest of its runs
	// DebtUnpaid: settling wrote so much more than the run did that the run was shorter than compaction needs. Only the settled figures count then.
	DebtUnpaid bool    `json:"lsm_debt_not_paid"`
	Unsettled  bool    `json:"unsettled,omitempty"` // settling did not come to its end in the time it had
	Versus     *Versus `json:"versus_base,omitempty"`
	MoreRuns   int     `json:"more_runs"`
	// PrimaryTPS is what the primary wrote the backlog with; Keeps is TPS by it: below 1 a replica falls behind such a primary.
	PrimaryTPS *Metric  `json:"primary_tps,omitempty"`
	Keeps      float64  `json:"keeps_up,omitempty"`
	Samples    []Sample `json:"samples"`
}

// Metric is the geometric mean of the runs, with its 95 % interval; no interval of one run.
type Metric struct {
	Mean float64        `json:"mean"`
	CI   *stat.Interval `json:"ci"`
}

// Phases are figures of the run alone, and of the run with everything it left to be done.
type Phases struct {
	During  float64 `json:"during"`
	Settled float64 `json:"settled"`
}

// Sizes are those of the data on disk, without logs.
type Sizes struct {
	Loaded  int64 `json:"loaded"` // after loading, settled
	After   int64 `json:"after_run"`
	Settled int64 `json:"settled"`
}

// Versus compares a row with the same load of the base. For bytes a ratio below 1 is better.
type Versus struct {
	Base    string          `json:"base"`
	TPS     stat.Judgement  `json:"tps"`
	PerCPU  stat.Judgement  `json:"tx_per_cpu_second"`
	P99     *stat.Judgement `json:"p99,omitempty"`           // a ratio below 1 is better
	Written *stat.Judgement `json:"written_bytes,omitempty"` // settled
}

// Sample is one run.
type Sample struct {
	Seq          int             `json:"seq"`
	Round        int             `json:"round"`
	Began        time.Time       `json:"began"`
	Seconds      float64         `json:"seconds"`
	Transactions int64           `json:"transactions"`
	Retries      int64           `json:"retries"` // deadlocks and lock waits that were tried again
	TPS          float64         `json:"tps"`
	Lat          result.Latency  `json:"lat_us"`
	ServerCPU    float64         `json:"server_cpu_seconds"`
	ClientCPU    float64         `json:"client_cpus"` // processors that our own clients used
	During       Moved           `json:"during"`
	Settling     Moved           `json:"settling"` // in addition
	SettleTook   float64         `json:"settle_seconds"`
	IsSettled    bool            `json:"settled"`
	Changed      int64           `json:"row_bytes_changed"`
	Size         Sizes           `json:"size_bytes"`
	RSS          int64           `json:"rss_bytes"`
	Instances    []InstanceShare `json:"instances,omitempty"`
	// Of a backlog: how fast the primary wrote it, and what the replica had to do twice.
	PrimaryTPS float64            `json:"primary_tps,omitempty"`
	Noise      result.Disturbance `json:"noise"`
}

// Moved is what reached the storage. Both ways of counting are kept; Written, Read and Flushes are the ones that count.
type Moved struct {
	Written        int64 `json:"written_bytes"`
	Read           int64 `json:"read_bytes"`
	Flushes        int64 `json:"flushes"`
	Operations     int64 `json:"operations,omitempty"` // reads and writes of the device; 0 where it is not ours alone
	DeviceWritten  int64 `json:"device_written_bytes"` // by everybody
	ProcessWritten int64 `json:"process_written_bytes"`
}

// InstanceShare is one server among several.
type InstanceShare struct {
	TPS float64 `json:"tps"`
	P99 float64 `json:"p99_us"`
}

// Knee is where more instances on one host stop to pay.
type Knee struct {
	Cell  string  `json:"cell"`
	Load  string  `json:"load"`
	Ratio float64 `json:"data_cache_ratio"`
	// At is the most instances that surely did more together than the next fewer.
	At int `json:"at"`
	// Sure: the next more surely did not do more. False where that could not be said, or was not measured.
	Sure bool   `json:"sure"`
	Text string `json:"text"`
}

// Read takes a document back from its JSON, and says why it cannot.
func Read(raw []byte) (*Result, error) {
	var r Result
	if err := nested.Unmarshal(raw, &r); err != nil {
		return nil, fmt.Errorf("it is not a result of bench engine: %w", err)
	}
	switch {
	case r.Kind != Kind || r.FormatVersion == 0:
		return nil, errors.New("it is not a result of bench engine: kind or format_version are missing")
	case r.FormatVersion > FormatVersion:
		return nil, fmt.Errorf("it has format version %d, and this program reads up to %d", r.FormatVersion, FormatVersion)
	}
	for i, row := range r.Rows {
		if row == nil || row.ID == "" {
			return nil, fmt.Errorf("row %d has no id", i+1)
		}
	}
	return &r, nil
}

// IsEngine says whether JSON is such a document at all.
func IsEngine(raw []byte) bool {
	var r struct {
		Kind string `json:"kind"`
	}
	return nested.Unmarshal(raw, &r) == nil && r.Kind == Kind
}

// Row is the one of that ID, or nil.
func (r *Result) Row(id string) *Row {
	for _, x := range r.Rows {
		if x.ID == id {
			return x
		}
	}
	return nil
}

// Cell is the one of that ID, or nil.
func (r *Result) Cell(id string) *Cell {
	for _, c := range r.Cells {
		if c.ID == id {
			return c
		}
	}
	return nil
}
