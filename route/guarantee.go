package route

import (
	"fmt"
	"time"

	"stowage/farm"
)

// Kind of guarantee.
type Kind string

const (
	// Gated: while a side is switched, clients that keep to docs/reference/routing.md
	// wait. No query fails, and no read is older than the client's own writes.
	Gated Kind = "gated"
	// FlipOnly: clients are sent elsewhere at some moment, and Text says what
	// they may see of that.
	FlipOnly Kind = "flip only"
)

// Guarantee is what a router can promise about a switch.
type Guarantee struct {
	Kind Kind
	Text string // what a client may see, for people
	// Settle is how long after a Change a client may still act on the table
	// before it. A switch waits at least so long behind its closed gate.
	Settle time.Duration
	// Whole: all clients of a side change at once. A share of 1 % or 10 %
	// cannot be tried first.
	Whole bool
	// Shards: clients ask for their shard, so that a single one can be held and
	// sent to another pair.
	Shards bool
}

// Finding is the guarantee as preflight prints it.
func (g Guarantee) Finding() farm.Finding {
	f := farm.Finding{Check: "routing-guarantee", Severity: farm.Note, Subject: "routing", Text: fmt.Sprintf("%s: %s", g.Kind, g.Text),
		Remedy: "nothing to do for clients that keep to docs/reference/routing.md"}
	if g.Kind != Gated {
		f.Severity = farm.Warning
		f.Remedy = "clients must be ready for that: docs/reference/routing.md has what was measured, and which adapters have a gate"
	}
	if g.Whole {
		f.Text += "; all clients of a side come back at once, not 1 % and 10 % first"
	}
	return f
}

// lookMargin is what Settle has beyond the age a look may have: for the way of
// the first statement to its server, and a machine that is busy.
const lookMargin = 30 * time.Millisecond

// DefaultGoodFor is how old a client's look at the table may be when its first
// statement is sent: docs/reference/routing.md, rule 1.
const DefaultGoodFor = 20 * time.Millisecond

const gatedText = "clients wait at the gate; no failed query and no stale read"

// Guarantee implements Router.
func (f *File) Guarantee() Guarantee {
	return Guarantee{Kind: Gated, Text: gatedText, Settle: DefaultGoodFor + lookMargin, Shards: true}
}
