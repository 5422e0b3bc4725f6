package snapshot

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"

	"stowage/farm"
	"stowage/mysql"
)

// Place is one side of the pair that serves a shard, and what routing says of it.
type Place struct {
	Side   farm.SideName
	Server *mysql.Server
	Out    string  // why routing says that it is not to be read, "" when it is in rotation
	Serves float64 // percent of the pair's clients that write there
	Alone  bool    // it need not follow anybody: the primary, or a single instance
}

// Seen is a place after it was looked at.
type Seen struct {
	Place
	Not     string // why it is not read: out, fenced, behind; "" when it may be
	Running int    // threads at work
}

// Look asks all places, side by side, how busy they are and whether they have everything. What cannot be asked is not read.
func Look(ctx context.Context, places []Place) []Seen {
	out := make([]Seen, len(places))
	var all sync.WaitGroup
	for i, p := range places {
		all.Go(func() { out[i] = look(ctx, p) })
	}
	all.Wait()
	return out
}

func look(ctx context.Context, p Place) Seen {
	s := Seen{Place: p}
	if err := p.Server.Answers(ctx); err != nil {
		s.Not = "does not answer: " + err.Error()
		return s
	}
	pressure, err := p.Server.Pressure(ctx)
	s.Running = pressure.Running
	var r mysql.Replication
	var fenced bool
	if err == nil {
		r, err = p.Server.Replication(ctx)
	}
	if err == nil && p.Serves > 0 {
		fenced, err = p.Server.IsReadOnly(ctx)
	}
	switch broken := r.Broken(); {
	case err != nil:
		s.Not = "cannot be asked: " + err.Error()
	case p.Out != "":
		s.Not = p.Out
	case fenced:
		s.Not = "is fenced: it is read_only, and clients that write are sent there"
	case !r.Configured && p.Alone:
	case broken != nil:
		s.Not = "does not replicate from its twin: " + broken.Error()
	case !r.Running() || !r.BehindOK:
		s.Not = fmt.Sprintf("does not replicate from its twin: IO thread %s, SQL thread %s", r.IO, r.SQL)
	case r.Behind > 0:
		s.Not = fmt.Sprintf("is %v behind its twin", r.Behind)
	}
	return s
}

// Choose is the side with more room among those that have everything: the one with fewer running threads; of two that are alike, the one that fewer clients write to. No such side: farm.ErrRefused, with the reason of each.
func Choose(seen []Seen) (Seen, error) {
	fit := slices.DeleteFunc(slices.Clone(seen), func(s Seen) bool { return s.Not != "" })
	if len(fit) > 0 {
		return slices.MinFunc(fit, func(a, b Seen) int {
			return cmp.Or(cmp.Compare(a.Running, b.Running), cmp.Compare(a.Serves, b.Serves), cmp.Compare(a.Side, b.Side))
		}), nil
	}
	var why []string
	for _, s := range seen {
		why = append(why, fmt.Sprintf("side %s %s", s.Side, s.Not))
	}
	return Seen{}, &farm.Error{Op: "choose a side", Err: fmt.Errorf("%w: no side can be read: %s", farm.ErrRefused, farm.Some(why)), Hint: "wait until one is in rotation and has caught up, or name one regardless: --side A"}
}

// Why says in one sentence why this side was chosen.
func (s Seen) Why(others []Seen) string {
	text := fmt.Sprintf("reading side %s (%s), %s running", s.Side, s.Server.Name(), farm.Counted(s.Running, "thread"))
	for _, o := range others {
		switch {
		case o.Side == s.Side:
		case o.Not != "":
			text += fmt.Sprintf("; side %s %s", o.Side, o.Not)
		default:
			text += fmt.Sprintf("; side %s has %d", o.Side, o.Running)
		}
	}
	if s.Not != "" {
		text += "; side " + string(s.Side) + " " + s.Not
	}
	return text
}
