package load

import (
	"maps"
	"sync"
	"time"

	"stowage/farm"
)

// Summary is what the clients met since Start.
type Summary struct {
	Clients         int                      `json:"clients"`
	Seconds         float64                  `json:"seconds"`
	Acknowledged    int64                    `json:"acknowledged"`             // write transactions, all of them in the ledger
	Reads           int64                    `json:"reads"`                    // answered
	Failed          int64                    `json:"failed"`                   // any error that is not named below
	Retried         int64                    `json:"retried"`                  // attempts run again under rule 5: read-only, connection refused or lost before COMMIT, or the shard is elsewhere
	RolledBack      int64                    `json:"rolled_back"`              // attempts taken back under rule 4: the second look found another route
	GateWaits       int64                    `json:"gate_waits"`               // transactions that met a closed gate
	GateShards      map[farm.ShardName]int64 `json:"gate_shards,omitempty"`    // the same, by shard
	StaleReads      int64                    `json:"stale_reads"`              // a client did not see its own acknowledged write
	UnknownResolved int64                    `json:"unknown_resolved"`         // commits whose answer was lost, read back
	UnknownLeft     int64                    `json:"unknown_left"`             // the same, and stopped before it could be read back
	Abandoned       int64                    `json:"abandoned"`                // stopped while waiting; nothing was applied
	WithColumn      int64                    `json:"with_column,omitempty"`    // acknowledged writes with Options.Column
	ColumnChanges   int64                    `json:"column_changes,omitempty"` // times that a client met a shard's table with that column and without it, one after the other
	TornLines       int64                    `json:"torn_lines"`               // ledger lines of an earlier run that were cut off
	Pauses          Distribution             `json:"pauses"`
	MaxPauseMillis  float64                  `json:"max_pause_ms"`
	Failures        []Failure                `json:"failures,omitempty"` // the first 20
	Retries         []Failure                `json:"retries,omitempty"`  // the first 20
	Stale           []Failure                `json:"stale,omitempty"`    // the first 20
}

// Failure is one query that did not go as it should.
type Failure struct {
	Time      time.Time      `json:"time"`
	Client    string         `json:"client"`
	Pair      farm.PairName  `json:"pair"`
	Shard     farm.ShardName `json:"shard"`
	Address   string         `json:"address"`
	Statement string         `json:"statement"`
	Error     string         `json:"error"`
}

const kept = 20 // failures of each kind

// tally is the Summary in the making; clients share it.
type tally struct {
	mu      sync.Mutex
	started time.Time
	sum     Summary
	pauses  []uint32 // micros
}

// count changes the counters under the lock.
func (t *tally) count(change func(*Summary)) {
	t.mu.Lock()
	defer t.mu.Unlock()
	change(&t.sum)
}

func (t *tally) pause(d time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.pauses = append(t.pauses, micros(d))
}

// PauseMillis are all pauses since Start, in the order they ended.
func (l *Load) PauseMillis() []float64 {
	l.tally.mu.Lock()
	defer l.tally.mu.Unlock()
	out := make([]float64, len(l.tally.pauses))
	for i, micros := range l.tally.pauses {
		out[i] = float64(micros) / 1000
	}
	return out
}

func (t *tally) summary() Summary {
	t.mu.Lock()
	defer t.mu.Unlock()
	s := t.sum
	s.Seconds = time.Since(t.started).Seconds()
	s.GateShards = maps.Clone(s.GateShards)
	s.Failures = append([]Failure(nil), s.Failures...)
	s.Retries = append([]Failure(nil), s.Retries...)
	s.Stale = append([]Failure(nil), s.Stale...)
	s.Pauses = distribute(append([]uint32(nil), t.pauses...))
	s.MaxPauseMillis = s.Pauses.Max
	return s
}

// waited counts a transaction that met a closed gate.
func (s *Summary) waited(shard farm.ShardName) {
	s.GateWaits++
	if s.GateShards == nil {
		s.GateShards = map[farm.ShardName]int64{}
	}
	s.GateShards[shard]++
}

// keep appends up to the limit.
func keep(list []Failure, f Failure) []Failure {
	if len(list) >= kept {
		return list
	}
	return append(list, f)
}
