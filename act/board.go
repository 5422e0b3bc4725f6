package act

import (
	"cmp"
	"fmt"
	"sort"
	"time"

	"stowage/farm"
	"stowage/internal/table"
)

// Board is the state of a run as its events tell it: what a terminal, a status
// command and a report show. Feed it events in order.
type Board struct {
	Sides map[Key]*Row
	// Pauses are how long gates were closed, in milliseconds, in order.
	Pauses []float64
	// Held are those of switchovers, in which all writes of a pair waited.
	Held  []float64
	First time.Time
	Last  time.Time
	// Forged are steps and answers that were refused because nobody here has
	// asked for them, or given them.
	Forged []string
}

// Key names what is moved: one side of one pair, or one shard out of it, or a
// pair that is made or retired; or the host that is rolled.
type Key struct {
	Host  farm.HostName
	Pair  farm.PairName
	Side  farm.SideName
	Shard farm.ShardName
}

// KeyOf is what an event is about. A host that is rolled is one, whichever of its sides an event is of.
func KeyOf(e farm.Event) Key {
	if e.Host != "" {
		return Key{Host: e.Host}
	}
	return Key{Pair: e.Pair, Side: e.Side, Shard: e.Shard}
}

func (k Key) String() string {
	switch {
	case k.Host != "":
		return string(k.Host)
	case k.Shard != "":
		return string(k.Shard)
	case k.Side == "": // the pair as a whole: it is made, or retired
		return string(k.Pair)
	}
	return string(k.Pair) + "/" + string(k.Side)
}

// Row is one side on the board.
type Row struct {
	Key     Key
	Step    string
	Number  int // of the step, from 1
	Of      int // steps in all
	Text    string
	Waiting bool // Text is the reason nothing moves
	Bytes   int64
	Total   int64
	Since   time.Time // when the step began
	Started time.Time // when the side's first step began
	Ended   time.Time // when its last step was done
	Undone  bool
	Failed  string // the last error, until an attempt succeeds
}

// NewBoard is an empty board.
func NewBoard() *Board { return &Board{Sides: map[Key]*Row{}} }

// Apply takes the next event.
func (b *Board) Apply(e farm.Event) {
	if b.First.IsZero() {
		b.First = e.Time
	}
	b.Last = e.Time
	if e.Kind == farm.GateOpened {
		b.Pauses = append(b.Pauses, e.Millis)
		if isWritePause(e) {
			b.Held = append(b.Held, e.Millis)
		}
	}
	if e.Kind == farm.Forged { // of the run, not of a side
		b.Forged = append(b.Forged, e.Text)
		return
	}
	k := KeyOf(e)
	r := b.Sides[k]
	if r == nil {
		r = &Row{Key: k, Started: e.Time}
		b.Sides[k] = r
	}
	r.apply(e)
}

func (r *Row) apply(e farm.Event) {
	switch e.Kind {
	case farm.StepStarted:
		*r = Row{Key: r.Key, Of: e.Of, Started: r.Started, Step: e.Step, Number: e.Number, Since: e.Time, Text: e.Text}
	case farm.StepProgress:
		r.Text, r.Waiting = e.Text, false
		if e.Bytes > 0 {
			r.Bytes, r.Total = e.Bytes, e.Total
		}
	case farm.StepWaiting, farm.WayBackLost:
		r.Text, r.Waiting = e.Text, true
	case farm.StepFailed:
		r.Failed = e.Text
	case farm.StepUndone:
		r.Undone, r.Text = true, e.Text
	case farm.StepDone:
		r.Failed, r.Text, r.Waiting = "", "", false
		if r.Number == r.Of {
			r.Ended = e.Time
		}
	}
}

// Rows are all sides, those at work first, then by name.
func (b *Board) Rows() []*Row {
	out := make([]*Row, 0, len(b.Sides))
	for _, r := range b.Sides {
		out = append(out, r)
	}
	sort.Slice(out, func(i, j int) bool {
		if out[i].IsDone() != out[j].IsDone() {
			return out[j].IsDone()
		}
		return out[i].Key.String() < out[j].Key.String()
	})
	return out
}

// Done is the number of sides whose last step is done.
func (b *Board) Done() int { return b.count(func(r *Row) bool { return r.IsDone() }) }

// Part is what is counted of a run of a kind, in the singular: single shards, where it moves any; pairs, where it makes or retires them alone.
func (b *Board) Part(of Kind) string {
	shards, pairs := 0, 0
	for k := range b.Sides {
		switch {
		case k.Shard != "":
			shards++
		case k.Pair != "" && k.Side == "":
			pairs++
		}
	}
	switch {
	case shards > 0:
		return "shard"
	case pairs > 0 && pairs == len(b.Sides):
		return "pair"
	}
	return cmp.Or(of.Part, "side")
}

// Counted is how many parts are done, and how many are under way, in words: "2 hosts" and "1". Of a run that moves single shards only those count:
// pairs that are made or retired for them are no moves.
func (b *Board) Counted(of Kind) (done string, atWork int) {
	n, all := b.Done(), len(b.Sides)
	if shards, moved := b.Shards(); shards > 0 {
		n = moved
	}
	return farm.Counted(n, b.Part(of)), all - b.Done()
}

// Shards is how many single shards the run moves, and how many it has moved.
func (b *Board) Shards() (all, done int) {
	all = b.count(func(r *Row) bool { return r.Key.Shard != "" })
	return all, b.count(func(r *Row) bool { return r.Key.Shard != "" && r.IsDone() })
}

func (b *Board) count(is func(*Row) bool) int {
	n := 0
	for _, r := range b.Sides {
		if is(r) {
			n++
		}
	}
	return n
}

// IsDone reports whether the side is moved.
func (r *Row) IsDone() bool { return !r.Ended.IsZero() }

// What a side is doing.
const (
	AtWork      = "at work"
	Waits       = "waits"
	TryingAgain = "trying again"
	IsMoved     = "done"
	TakenBack   = "undone"
)

// State is what the side is doing, and what more there is to say of it: bytes, time to go, the reason it waits.
func (r *Row) State(now time.Time) (state, more string) {
	switch {
	case r.Undone:
		return TakenBack, r.Text
	case r.IsDone():
		return IsMoved, fmt.Sprintf("in %.1f s", r.Ended.Sub(r.Started).Seconds())
	case r.Failed != "":
		return TryingAgain, r.Failed
	case r.Waiting:
		return Waits, r.Text
	case r.Bytes > 0:
		return AtWork, r.copyText(now)
	}
	return AtWork, r.Text
}

// Line is the side in one line: step, bytes, time to go, reason it waits. A name of more than so many columns loses its middle; 0: none does.
func (r *Row) Line(now time.Time, most int) string {
	name := table.Short(r.Key.String(), most)
	head := fmt.Sprintf("%-16s %2d/%d %-9s", name, r.Number, r.Of, r.Step)
	switch state, more := r.State(now); state {
	case IsMoved:
		return fmt.Sprintf("%-16s done %s", name, more)
	case AtWork:
		return head + " " + more
	default:
		return head + " " + state + ": " + more
	}
}

func (r *Row) copyText(now time.Time) string {
	text := fmt.Sprintf("%s %.0f MB", r.Text, float64(r.Bytes)/1e6)
	if r.Bytes > r.Total {
		return text // the plan knows the size of the shards only, not of the server's own files
	}
	share := float64(r.Bytes) / float64(r.Total)
	text += fmt.Sprintf(" of %.0f, %.0f %%", float64(r.Total)/1e6, 100*share)
	if took := now.Sub(r.Since); share > 0.02 && share < 1 {
		text += fmt.Sprintf(", %v to go", time.Duration(float64(took)*(1-share)/share).Round(time.Second))
	}
	return text
}

// Quantile of the pauses, 0 to 1; 0 when there were none.
func (b *Board) Quantile(q float64) float64 { return farm.Rank(b.Pauses, q) }
