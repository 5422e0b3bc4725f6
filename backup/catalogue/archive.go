package catalogue

import (
	"fmt"
	"slices"
	"time"

	"stowage/binlog"
	"stowage/farm"
)

// Archived is what there is of the binary log of an instance beside the server.
type Archived struct {
	Farm     string            `json:"farm"`
	Pair     farm.PairName     `json:"pair"`
	Instance farm.InstanceName `json:"instance"`
	// From is when its first transaction was written. All that was written by Until is there, but for gaps.
	From  time.Time `json:"from"`
	Until time.Time `json:"until"`
	// Position has the last GTID of each domain at its end.
	Position string `json:"position"`
	Gaps     []Gap  `json:"gaps,omitempty"`
}

// Gap is what an archive does not have: the transactions between two states of the log.
type Gap struct {
	// Has is what the log had had before it, Next what it had had behind it, as states of package binlog.
	Has  string `json:"has"`
	Next string `json:"next"`
	// Last is when the last transaction before it was written.
	Last time.Time `json:"last"`
}

func (g Gap) String() string {
	return fmt.Sprintf("transactions after %s (%s) up to %s", g.Has, g.Last.UTC().Format(time.DateTime), g.Next)
}

// reach is how far the archived binary log of its instance leads from a backup without a gap.
func reach(b Backup, logs []Archived) time.Time {
	best := b.At
	for _, a := range logs {
		if a.Instance != b.Instance || a.From.After(b.At) {
			continue
		}
		end := a.Until
		for _, g := range a.Gaps {
			if whole := g.Last.Add(-time.Second); !has(b.GTID, g.Next) && whole.Before(end) { // more may have been written in its second
				end = whole
			}
		}
		if end.After(best) {
			best = end
		}
	}
	return best
}

// has says whether a server at a position had all that a log had had. Of what cannot be read it is not known, and so it had not.
func has(position, state string) bool {
	at, err := binlog.ParseState(position)
	all, errAll := binlog.ParseState(state)
	if err != nil || errAll != nil || state == "" {
		return false
	}
	if all.IsSet() {
		_, lacks := at.Lacks(all)
		return !lacks
	}
	last, err := binlog.ParseGTIDs(all.Position())
	return err == nil && at.Reached(last)
}

// lost says whether no archive of the pair has what is missing in one of them.
func lost(g Gap, logs []Archived) bool {
	return !slices.ContainsFunc(logs, func(a Archived) bool {
		return !a.From.After(g.Last) && has(a.Position, g.Next) &&
			!slices.ContainsFunc(a.Gaps, func(own Gap) bool { return !has(g.Has, own.Next) && !has(own.Has, g.Next) })
	})
}
