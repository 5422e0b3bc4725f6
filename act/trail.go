package act

import (
	"context"
	"strings"

	"stowage/engine"
	"stowage/farm"
	"stowage/mysql"
	"stowage/store"
)

// trail writes down every statement that the steps of a run send to servers
// and that changes something there: whose step it was, and who wanted the run.
type trail struct {
	deeds *store.Trail
	run   string
	who   string
	why   string
}

func newTrail(deeds *store.Trail, run, why string) *trail {
	return &trail{deeds: deeds, run: run, who: Who(), why: why}
}

// maxDeedError bounds what a server says about a statement.
const maxDeedError = 2000

// follow is a context under which statements are written down for a step.
func (t *trail) follow(ctx context.Context, c engine.Call) context.Context {
	if t == nil {
		return ctx
	}
	pair, side, _ := strings.Cut(c.Subject, "/")
	step := store.Deed{Run: t.run, Who: t.who, Why: t.why, Part: c.Subject, Step: c.Step, Undo: c.Undo,
		Pair: farm.PairName(pair)}
	if s := farm.SideName(side); s == farm.A || s == farm.B || s.IsReplica() {
		step.Side = s
	}
	return WriteDown(ctx, t.deeds, step)
}

// WriteDown is a context under which each statement that changes something on a
// server gets a line in a trail before it is sent: about says whose it is.
func WriteDown(ctx context.Context, trail *store.Trail, about store.Deed) context.Context {
	return mysql.WithTrail(ctx, func(s mysql.Sent) {
		d := about
		d.Kind, d.Server, d.Address, d.Text = "statement", s.Server, s.Address, s.Statement
		if s.Err != nil {
			d.Error = strings.ToValidUTF8(s.Err.Error(), "?")
			d.Error = d.Error[:min(len(d.Error), maxDeedError)]
		}
		if s.Rows {
			trail.AddRows(d)
			return
		}
		trail.Add(d)
	})
}

// Deeds are orders as lines of the trail.
func Deeds(orders []store.Order) []store.Deed {
	out := make([]store.Deed, 0, len(orders))
	for _, o := range orders {
		out = append(out, store.Deed{ID: o.At.UnixNano(), Time: o.At.UTC(), Run: o.Run, Kind: o.Verb, Who: o.Who, Why: o.Why, Part: o.Part, Text: o.What})
	}
	return out
}
