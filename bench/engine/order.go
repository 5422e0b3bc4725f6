package engine

import (
	"fmt"
	"time"

	"stowage/bench/engine/sheet"
	"stowage/farm"
)

// Order is what is to be measured.
type Order struct {
	Mode    sheet.Mode
	Profile string
	Cells   []sheet.Cell
	Loads   []sheet.Load
	Rows    int // of each table
	Ratios  []float64
	Clients int
	Keys    string // uniform or zipf
	Runtime time.Duration
	Warmup  time.Duration
	MinRuns int
	MaxRuns int
	Target  float64 // half width of the interval that is narrow enough
	Seed    uint64
	Counts  []int    // of mode instances
	Threads []int    // of mode apply: slave_parallel_threads
	Modes   []string // of mode apply: slave_parallel_mode
	Backlog int      // of mode apply: transactions
	// SettleLimit is how long a server may take to pay what it owes.
	SettleLimit time.Duration
	Version     string
	Command     []string
	// Previous is a result that was cut short, to be continued; nil begins anew.
	Previous *sheet.Result
	// Save keeps the result, which has not come to its end yet; called after every run. Nil keeps nothing.
	Save func(*sheet.Result) error
	Tell func(Progress)

	alone bool // of a Session: the first cell is not there a second time
}

// Progress is one thing that happened.
type Progress struct {
	Text        string // what was found or done; empty after a run
	Row         string
	TPS         float64
	Round       int
	Done, Total int
	Left        time.Duration // estimated
}

// Profile fills in what a profile says: quick takes minutes and shows bursts, full takes hours and pays its debts.
func (o *Order) profile(name string) error {
	o.Profile, o.Target, o.MinRuns, o.Keys = name, 0.05, 3, "uniform"
	cells, loads := sheet.QuickCells, []string{"point", "update", "rw"}
	switch name {
	case "quick":
		o.Rows, o.Ratios, o.Runtime, o.Warmup, o.MaxRuns, o.SettleLimit = 100_000, []float64{0.5}, 5*time.Second, 2*time.Second, 3, time.Minute
		o.Backlog, o.Clients = 4_000, 4
	case "full":
		o.Rows, o.Ratios, o.Runtime, o.Warmup, o.MaxRuns, o.SettleLimit = 2_000_000, []float64{0.5, 4, 10}, 2*time.Minute, 30*time.Second, 5, 30*time.Minute
		o.Backlog, o.Clients = 200_000, 8
		cells, loads = sheet.FullCells, []string{"point", "update", "write", "rw"}
	default:
		return &farm.Error{Op: "read profile", Subject: name, Err: fmt.Errorf("%w: there is none of that name", farm.ErrInput), Hint: "it is quick or full"}
	}
	switch o.Mode {
	case sheet.Instances:
		cells, loads, o.Counts, o.Clients = cells[:1], []string{"rw"}, []int{1, 2, 4, 8}, 1
	case sheet.Apply:
		cells, loads, o.Threads, o.Modes = cells[:1], []string{"write"}, []int{0, 2, 4, 8}, []string{"conservative", "optimistic"}
		o.Clients = 8 // who commit together can be applied together
	}
	if o.Mode != sheet.Engines {
		o.Ratios = o.Ratios[:1]
	}
	var err error
	if o.Cells, err = sheet.ParseCells(cells, false); err != nil {
		return err
	}
	o.Loads, err = sheet.ParseLoads(loads)
	return err
}

// NewOrder is what a profile asks for in a mode.
func NewOrder(name string, mode sheet.Mode) (Order, error) {
	o := Order{Mode: mode}
	err := o.profile(name)
	return o, err
}

// Check says what is wrong with an order before anything is done.
func (o Order) Check() error {
	bad := func(format string, args ...any) error {
		return &farm.Error{Op: "read order", Err: fmt.Errorf("%w: %s", farm.ErrInput, fmt.Sprintf(format, args...)), Hint: "stowage bench engine --help"}
	}
	within := func(list []int, from, to int) bool {
		for _, n := range list {
			if n < from || n > to {
				return false
			}
		}
		return len(list) > 0
	}
	switch {
	case len(o.Cells) == 0 || len(o.Loads) == 0 || len(o.Ratios) == 0:
		return bad("no cell, no load or no ratio")
	case o.Rows < 1000 || o.Rows > 1_000_000_000:
		return bad("--rows is %d, want 1000 or more", o.Rows)
	case o.Clients < 1 || o.Clients > 250:
		return bad("--clients is %d, want 1 to 250", o.Clients)
	case o.Keys != "uniform" && o.Keys != "zipf":
		return bad("--keys is %q, want uniform or zipf", o.Keys)
	case o.Runtime < 500*time.Millisecond:
		return bad("--runtime is %v, want 500ms or more: processor time is counted in hundredths of a second", o.Runtime)
	case o.MinRuns < 1 || o.MaxRuns < o.MinRuns:
		return bad("--min-runs is 1 or more, and --max-runs no less")
	case o.Mode == sheet.Instances && !within(o.Counts, 1, 64):
		return bad("--n-instances are numbers from 1 to 64")
	case o.Mode == sheet.Apply && !within(o.Threads, 0, 64):
		return bad("--threads are numbers from 0 to 64")
	case o.Mode == sheet.Apply && o.Backlog < 100:
		return bad("--backlog is %d, want 100 or more", o.Backlog)
	}
	for _, r := range o.Ratios {
		if r < 0.01 || r > 1000 {
			return bad("--ratio is %v, want 0.01 to 1000", r)
		}
	}
	for _, m := range o.Modes {
		switch m {
		case "conservative", "optimistic", "aggressive", "minimal":
		default:
			return bad("--modes has %q, want conservative, optimistic, aggressive or minimal", m)
		}
	}
	for _, l := range o.Loads {
		if o.Mode == sheet.Apply && !l.Writes {
			return bad("load %s writes nothing that a replica could apply", l.ID)
		}
	}
	return nil
}

func (o Order) settings() sheet.Settings {
	s := sheet.Settings{Rows: o.Rows, Tables: sheet.Tables, Ratios: o.Ratios, Clients: o.Clients, Keys: o.Keys, Runtime: o.Runtime.Seconds(), Warmup: o.Warmup.Seconds(),
		MinRuns: o.MinRuns, MaxRuns: o.MaxRuns, Target: o.Target, Seed: o.Seed, Counts: o.Counts, Threads: o.Threads, Modes: o.Modes}
	if o.Mode == sheet.Apply {
		s.Backlog = o.Backlog
	}
	for _, c := range o.Cells {
		s.Cells = append(s.Cells, c.ID)
	}
	for _, l := range o.Loads {
		s.Loads = append(s.Loads, l.ID)
	}
	return s
}
