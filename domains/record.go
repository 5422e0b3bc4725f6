package domains

import "stowage/farm"

// State is how far a pair has come.
type State string

const (
	Separating State = "separating" // begun, and not ended
	Separate   State = "separate"
	Undoing    State = "undoing"
	Undone     State = "undone"
)

// IsOpen reports whether a run on the pair has begun and not ended.
func (s State) IsOpen() bool { return s == Separating || s == Undoing }

// Record is what a pair was before anything of it was changed, and how far its
// run has come: the way back, and all that cannot be read from the servers.
type Record struct {
	FormatVersion int           `json:"format_version"`
	Pair          farm.PairName `json:"pair"`
	State         State         `json:"state"`
	// Settled: nobody writes the domain that the pair leaves, and every replica
	// has applied its end.
	Settled bool  `json:"settled"`
	Members []Was `json:"members"`
}

// Was is one server of it.
type Was struct {
	Name    farm.InstanceName `json:"name"`
	Side    farm.SideName     `json:"side"`
	Address string            `json:"address"`
	Domain  uint32            `json:"gtid_domain_id"`
	Strict  bool              `json:"gtid_strict_mode"`
	Ignores bool              `json:"gtid_ignore_duplicates"`
	Threads int               `json:"slave_parallel_threads"`
	Using   string            `json:"using_gtid,omitempty"` // "" when it replicates from nobody
	Goal    uint32            `json:"goal"`
	Since   *Since            `json:"since,omitempty"`
}

// Since is when a server's new sessions got a domain: those with a lower
// number may still have the one before.
type Since struct {
	Domain uint32 `json:"gtid_domain_id"`
	Before uint64 `json:"before"`
}

// serial: its replica has several threads, which must not apply while two
// domains are written.
func (w Was) serial() bool { return w.Using != "" && w.Threads > 0 }

func (r *Record) member(name farm.InstanceName) *Was {
	for i := range r.Members {
		if r.Members[i].Name == name {
			return &r.Members[i]
		}
	}
	return nil
}
