package farm

import "time"

// Ledger is what clients of the farm's owners met, by a record of their own of
// every acknowledged write. Nil: they have not measured it.
type Ledger struct {
	By           string // who kept it, and how
	Again        string // the command that shows it again
	Acknowledged int64  // writes
	Lost         int64
	Duplicated   int64
	Failed       *int64 // queries
	Stale        *int64 // reads
	Retried      *int64
	LongestPause *time.Duration
}

// IsClean reports whether nothing that was measured is as it must not be.
func (l Ledger) IsClean() bool {
	at := func(n *int64) int64 {
		if n == nil {
			return 0
		}
		return *n
	}
	return l.Lost == 0 && l.Duplicated == 0 && at(l.Failed) == 0 && at(l.Stale) == 0
}

// Accepted is a finding that people have decided to live with.
type Accepted struct {
	Check   string // of the finding
	Subject string // of the finding; empty: whatever it is about
	Why, By string
	Date    string // when, as they write it
}

// Covers reports whether the finding is the one that was accepted.
func (a Accepted) Covers(f Finding) bool {
	return a.Check == f.Check && (a.Subject == "" || a.Subject == f.Subject)
}
