package serve

import (
	"context"
	"io"
	"time"

	"stowage/report"
)

// Sources are where pages have their facts from. Each reads the workspace anew and writes nothing; each may be called at any time, by several goroutines.
// Errors name the file, the cause and the remedy. JSON fields hold what the verb prints with --json; commands are whole, to be copied into a shell.
type Sources struct {
	Farm    func() (Farm, error)
	Move    func(context.Context) (Move, error)
	Roll    func(context.Context) (Roll, error)
	Rolled  func() (report.Piece, error) // what the newest roll has done to each host
	History func() (report.Piece, error) // the newest move, step by step, and how long gates were closed
	// Topology is all pairs with what the newest move does to them, or those of one group. A group that is not there has no pairs.
	Topology func(now Move, group string) (report.TopologyBoard, error)
	Benches  func() ([]Bench, error) // newest first
	Bench    func(files []string) (Shown, error)
	Plans    func() ([]Plan, error) // newest first
	Plan     func(name string) (Shown, error)
	// PlanFacts are those of a plan as JSON: a plan of a large farm has a hundred megabytes, and its page needs none of them.
	PlanFacts func(name string) (any, error)
	Digests   func() ([]Kept, error) // that are saved, newest first
	Proof     func() (Shown, error)
	Metrics   func(io.Writer) error // in the text format of Prometheus
	// Load is what each shard needs; of a group of pairs, all of its shards; of a large farm without a group, its groups.
	Load func(group string) (Shown, error)
	// What is known of the farm: what sources say of each other, days that are left, queries over time, findings by rule and host, backups, tenants of a reshape. One
	// without a body was not looked for yet; its Text says how that is done.
	Known, Runway, Queries, Findings, Backups, Reshape func() (Shown, error)
	Report                                             func(io.Writer) error // the file that stowage report writes

	OverviewCommand, BenchCommand string // what shows the same as the two pages that no verb prints
}

// Farm is farm.yaml in figures.
type Farm struct {
	Name      string `json:"farm"`
	Hosts     int    `json:"hosts"` // that carry an instance
	Spare     int    `json:"spare"` // that carry none
	Instances int    `json:"instances"`
	Pairs     int    `json:"pairs"`
	Shards    int    `json:"shards"`
}

// Plan is one plan, for lists. Fault is why it cannot be read.
type Plan struct {
	Name        string  `json:"name"`
	Made        string  `json:"made,omitempty"`
	HostsBefore int     `json:"hosts_before"`
	HostsUsed   int     `json:"hosts_used"`
	Moves       int     `json:"moves"`
	Watts       float64 `json:"watts,omitempty"`
	WattsBefore float64 `json:"watts_before,omitempty"`
	Fault       string  `json:"fault,omitempty"`
	// BeingRead is what is being read; empty: all is there.
	BeingRead string `json:"being_read,omitempty"`
}

// BeingRead is the error of a source that takes long to read. The page says so, and is loaded again until it is there.
type BeingRead struct{ What string }

func (b BeingRead) Error() string { return b.What + ": it is being read" }

// Kept is something that the store keeps by name.
type Kept struct {
	Name string    `json:"name"`
	Made time.Time `json:"made"`
}

// Bench is one result, for lists. Fault is why it cannot be read.
type Bench struct {
	File    string    `json:"file"`
	Kind    string    `json:"kind"` // run, matrix, engine, decision
	What    string    `json:"what,omitempty"`
	Made    time.Time `json:"made,omitzero"`
	Verdict string    `json:"verdict,omitempty"`
	IsBad   bool      `json:"is_bad,omitempty"` // invalid, not whole, or somebody has to look
	// IsJudged: nothing was measured for it, it judges what was. Its date is that of its file.
	IsJudged bool   `json:"is_judged,omitempty"`
	Fault    string `json:"fault,omitempty"`
}

// Shown is one thing that has a page of its own.
type Shown struct {
	report.Piece
	Kicker  string // which one it is
	Note    string // its verdict in figures, for a tile
	Text    string // as the verb prints it, where nobody draws it
	JSON    any
	Command string
}

// Move is how far the newest move has come. State is none, running, interrupted, done or failed.
type Move struct {
	Run, Plan, State string
	Started, Ended   time.Time
	Done, Sides      int
	Parts            string  // what these are: sides, hosts; "": sides
	Gates            int     // that were closed and opened again
	LongestGate      float64 // of these, in milliseconds
	WritePauses      string

	Alarms  []string // what holds clients back just now, or servers behind a fence
	Unknown string   // why closed gates are not known
	Said    []string // what people ordered: paused by whom and why
	Waits   []Wait
	Lanes   []Lane // at work first
	Next    []string

	Command string
	JSON    any
}

// Roll is how far the newest roll of hosts has come.
type Roll struct {
	Board  report.RollBoard
	Spoken string // in a sentence that changes seldom
	Text   string // why there is none
	// IsOpen: it has not ended.
	IsOpen  bool
	Command string
	JSON    any // nil: nothing was rolled
}

// Wait is a side that waits for a person, and the command by which that person lets it go on.
type Wait struct {
	Part, Step string
	Since      time.Time
	Command    string
}

// Lane is what is moved: a side of a pair, a shard, or a whole pair.
type Lane struct {
	Name       string
	Step       string
	Number, Of int
	State      string // begun, waits, trying again, done, undone
	Text       string
	Since      time.Time
	IsDone     bool
}
