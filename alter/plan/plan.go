package plan

import (
	"cmp"
	"slices"

	"stowage/farm"
	"stowage/schema"
)

// FormatVersion is that of plans that this code writes and reads.
const FormatVersion = 1

// Kind is what Plan.Kind says.
const Kind = "alter"

// Plan is which tables are changed, how, and in which order.
type Plan struct {
	FormatVersion int    `json:"format_version"`
	Kind          string `json:"kind"` // "alter"
	Name          string `json:"name"`
	Made          string `json:"made,omitempty"`   // RFC 3339
	Script        string `json:"script,omitempty"` // the file that it was made of
	AtOnce        int    `json:"pairs_at_once"`
	// Forms are the ways in which a table is changed: one for each definition that it has now.
	Forms []Form `json:"forms"`
	// Pairs are those that are changed, in order, the first wave first.
	Pairs []Pair `json:"pairs"`
}

// Form is one change of one definition of a table.
type Form struct {
	Change schema.Change `json:"change"`
	Before string        `json:"before"` // as the server defines the table, without its counter
	After  string        `json:"after"`
	schema.Judgement
	Online bool `json:"online"` // clients may write while the server changes it
	// SecondsOnCopy is how long the largest such table took on a copy; nil: not measured.
	SecondsOnCopy *float64 `json:"seconds_on_copy,omitempty"`
}

// Way is how a pair comes to its new tables. It is the name of the runbook.
type Way string

// The ways, from the quickest.
const (
	// Direct: on each side while it serves; nothing but definitions changes.
	Direct Way = "direct"
	// Logged: on the server that takes the writes; replicas get it through the binary log.
	Logged Way = "logged"
	// Apart: each side by itself while its twin serves.
	Apart Way = "apart"
	// Held: one side while the other serves; then all clients go there at once, and the other side applies nothing before its tables are changed, too.
	Held Way = "held"
)

// OneWriter ends the ways of pairs with one writer that change roles meanwhile.
const OneWriter = "-one-writer"

// HeldReplicas is Held + OneWriter of a primary with further replicas. They leave before, and return after the primary is changed: it hands on nothing while it applies nothing.
const HeldReplicas = Held + "-replicas" + OneWriter

// Pair is one pair and its tables.
type Pair struct {
	Pair     farm.PairName          `json:"pair"`
	Topology farm.Topology          `json:"topology"`
	Way      Way                    `json:"way"`
	Wave     int                    `json:"wave"` // from 1
	Sides    map[farm.SideName]Side `json:"sides"`
	Tables   []Table                `json:"tables"`
}

// Side is where one side of a pair lives.
type Side struct {
	Host    farm.HostName `json:"host"`
	Port    int           `json:"port"`
	Datadir string        `json:"datadir"`
}

func sidesOf(p farm.Pair) map[farm.SideName]Side {
	out := map[farm.SideName]Side{}
	for side, at := range p.Sides {
		out[side] = Side{at.Host, at.Port, at.Datadir}
	}
	return out
}

// Table is one table of one shard.
type Table struct {
	Shard farm.ShardName `json:"shard"`
	Form  int            `json:"form"` // of Plan.Forms
	Rows  int64          `json:"rows"` // as the server estimates
	Bytes int64          `json:"bytes"`
}

// Rebuilds reports whether a form writes the table anew: it needs as much disk again meanwhile.
func (f Form) Rebuilds() bool { return f.Algorithm == schema.Copy || f.Algorithm == schema.InPlace }

// IsSame reports whether the table is only written anew, and defined as before.
func (f Form) IsSame() bool { return f.Before == f.After }

// Back gives a table its old definition when a run is given up; "": no statement of ours does. Undo comes first: plans of older versions have, beside it, a Reverse that drops a renamed column.
func (f Form) Back() string { return cmp.Or(f.Undo, f.Reverse) }

// Apart are the statements around the change, where its keys are built apart.
func (f Form) Apart() (schema.Apart, bool) {
	if !f.KeysApart {
		return schema.Apart{}, false
	}
	before, err := schema.Read(f.Before)
	if err != nil {
		return schema.Apart{}, false
	}
	after, err := schema.Read(f.After)
	if err != nil {
		return schema.Apart{}, false
	}
	return schema.KeysApart(f.Change, before, after)
}

// Statements give a table its new definition on a server that serves nobody, one after the other.
func (f Form) Statements() []string {
	if a, is := f.Apart(); is {
		return []string{a.Drop, f.Change.Text, a.Add}
	}
	return []string{f.Change.Text}
}

// WayOf is how a pair of this topology comes to all these forms, and why it does not; "" if it does.
func WayOf(t farm.Topology, replicas int, forms []Form) (w Way, wrong string) {
	worst, instant, online := schema.Unchanged, true, true
	for _, f := range forms {
		if f.Class == schema.Breaking {
			return "", "it is refused"
		}
		if slices.Index(classes, f.Class) > slices.Index(classes, worst) {
			worst = f.Class
		}
		instant = instant && f.Instant
		online = online && (f.Instant || f.Online && f.Algorithm != schema.Copy)
	}
	switch {
	case t == farm.Single && online, t != farm.ActiveActive && instant:
		return Logged, ""
	case t == farm.Single:
		return "", "it is a single instance, and the server blocks all writes while this statement runs; change it in a maintenance window, or with a tool that copies the table"
	case worst == schema.Instant || worst == schema.Unchanged:
		return Direct, ""
	case t != farm.ActiveActive && worst == schema.Directional && replicas > 1:
		return HeldReplicas, ""
	}
	w = Apart
	if worst == schema.Directional {
		w = Held
	}
	if t != farm.ActiveActive {
		w += OneWriter
	}
	return w, ""
}

var classes = []schema.Class{schema.Unchanged, schema.Instant, schema.Invisible, schema.Directional, schema.Breaking}

// Bytes are those of the tables of a pair that are written anew, on one side.
func (p Plan) Bytes(of Pair) (all, largest int64) {
	for _, t := range of.Tables {
		if p.Forms[t.Form].Rebuilds() {
			all += t.Bytes
			largest = max(largest, t.Bytes)
		}
	}
	return all, largest
}

// Waves are how many pairs each wave has.
func (p Plan) Waves() []int {
	var out []int
	for _, x := range p.Pairs {
		for len(out) < x.Wave {
			out = append(out, 0)
		}
		out[x.Wave-1]++
	}
	return out
}
