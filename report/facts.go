package report

import (
	"time"

	"stowage/bench/engine/sheet"
	"stowage/digest"
	"stowage/farm"
	"stowage/inventory"
	"stowage/placement"
)

// Facts are everything a report may show. What is nil is left out, and the
// report says what is missing and which command makes it. Facts are read only.
type Facts struct {
	Farm string
	Made time.Time      // when the report was made
	Zone *time.Location // of the local times beside UTC; nil: that of Made

	Plan *placement.Plan
	// Now is farm.yaml as it stands, before or after the move. The plan does
	// not repeat what shards need; with Now the slabs of the packing are in
	// proportion and the old hosts show how full they were.
	Now       *farm.Farm
	Inventory *inventory.Inventory // versions and measured sizes
	Findings  []farm.Finding       // nil: nobody looked; empty: nothing was found

	Road     *Road           // all moves; nil where there was one at most
	Ledger   *farm.Ledger    // of the owners' own clients
	Accepted []farm.Accepted // findings that people live with

	Run    string       // id of the move
	Moves  int          // of its plan, where Plan is nil; 0: not known
	Events []farm.Event // of the move, in the order they were told
	// Forward says, for each part of the move that a person let go on without a way back, which, who, when and why.
	Forward []string
	Minutes []FirstMinute // of the sides that the move has brought back

	Acts []Act      // that are not moves: the newest run of each kind
	Roll *RollFacts // the newest plan of hosts that was rolled; nil: none

	Compare *digest.Comparison // traffic before and after
	Proof   *Proof             // of the demo's clients and ledger
	Benches []Bench            // of storages, MostBenches at most; the first is what the others are compared with
	Engines []*sheet.Result    // of engines: one of each mode at most

	Hosts *HostFacts // what hosts used before and after the moves; nil: nothing was kept

	Know *KnowFacts // what is known by asking and measuring; nil: nobody has

	Versions []Fact    // of the program and of the tools it called
	Commands []Command // what was run, in order
}

// Act is one run of an act that is not a move.
type Act struct {
	Run, Kind, Subject string
	State              string // done, failed, running
	Events             []farm.Event
	Forward            []string // as of the move
	Minutes            []FirstMinute
}

// Fact is a name and its value, both for people.
type Fact struct{ Name, Value string }

// Command is one command line that made a part of the report.
type Command struct {
	Line    string
	Started time.Time // zero: not known
	Seconds float64   // 0: not known
}

// Proof is what the demo's clients met, and what the ledger says of it
// afterwards. Times are milliseconds as a client measured them.
type Proof struct {
	Acknowledged  int64 // writes whose COMMIT was answered; each has a line in the ledger
	Lost          int64 // of these, not in the databases
	Duplicated    int64 // of these, in the databases more than once
	FailedQueries int64
	StaleReads    int64 // a client did not see its own acknowledged write
	Retried       int64 // attempts run again before any COMMIT was sent

	// Pauses is how long each query that met a closed gate waited for it; it
	// may be empty although the quantiles are known.
	MaxPauseMillis               float64
	PauseP50, PauseP95, PauseP99 float64
	Pauses                       []float64

	P50Before, P99Before, P50After, P99After float64
	Seconds                                  float64 // from the first client to the last
}

// isClean reports whether nothing was lost, doubled, failed or stale.
func (p *Proof) isClean() bool {
	return p.Lost == 0 && p.Duplicated == 0 && p.FailedQueries == 0 && p.StaleReads == 0
}
