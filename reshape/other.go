package reshape

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"stowage/farm"
	"stowage/mysql"
	"stowage/mysql/latest"
	"stowage/reshape/spec"
	"stowage/sides"
	"stowage/store"
)

// A spec changes after tenants were activated. What keeps the columns is then made anew, and does not touch rows that nobody writes: the active tenants would be read with columns that say something else, or nothing.

// meaning is what a spec says of carried columns.
type meaning struct {
	Key   []string     `json:"key"`
	Child spec.Child   `json:"child"`
	Carry []spec.Carry `json:"carry"`
}

const meaningDocument = "carried by reshape"

func (w *work) meaningKey(shard farm.ShardName) string { return w.wave.Spec.Name + " " + string(shard) }

func meaningOf(s latest.Shape) meaning {
	m := meaning{s.Parent.Key, s.Child, append([]spec.Carry(nil), s.Carry...)}
	for n := range m.Carry {
		m.Carry[n].Type = "" // the column is there
	}
	return m
}

// keepMeaning notes what the columns of a shard are kept by from now on.
func (w *work) keepMeaning(shard farm.ShardName, shape latest.Shape) error {
	return w.act.Store.ReplaceDocument(meaningDocument, w.meaningKey(shard), time.Now(), meaningOf(shape))
}

// otherSpec: no tenant is active whose columns were filled in by another spec.
func (w *work) otherSpec(ctx context.Context, server *mysql.Server, shard farm.ShardName, shape latest.Shape, t spec.Tables) ([]farm.Finding, error) {
	flags, err := shape.Flags(ctx, server, shard, t[shape.Tenant.Table])
	if err != nil {
		return nil, err
	}
	active := 0
	for _, f := range flags {
		if f.Active {
			active++
		}
	}
	if active == 0 {
		return nil, nil
	}
	what, line, err := w.differs(shard, shape, t)
	if err == nil && what == "" {
		what, line, err = w.oldTriggers(ctx, server, shard, shape, t)
	}
	if err != nil || what == "" {
		return nil, err
	}
	return []farm.Finding{sides.Blocker(fmt.Sprintf("%s:%d", shape.File, shape.Line(line)), fmt.Sprintf("shard %s: %s; active tenants, whose rows were filled in before: %d", shard, what, active),
		"stowage reshape off --all --spec "+shape.Name+", and begin again: waves then fill in these tenants, too")}, nil
}

// differs says what of a spec is not what the columns of a shard are kept by; "": nothing.
func (w *work) differs(shard farm.ShardName, shape latest.Shape, t spec.Tables) (what, line string, err error) {
	for _, c := range shape.Carry {
		if _, there := t[shape.Parent.Table].Column(c.Column); !there {
			return fmt.Sprintf("column %s is new", c.Column), "carry." + c.Column, nil
		}
	}
	var was meaning
	_, err = w.act.Store.LatestDocument(meaningDocument, w.meaningKey(shard), &was)
	if errors.Is(err, store.ErrNone) { // an older version has not kept it
		return "", "", nil
	}
	if err != nil {
		return "", "", err
	}
	a, err := json.Marshal(was)
	if err != nil {
		return "", "", err
	}
	b, err := json.Marshal(meaningOf(shape))
	if err != nil || string(a) == string(b) {
		return "", "", err
	}
	return "what is carried has changed (parent.key, child or carry)", "child", nil
}

// oldTriggers: where a trigger cannot be replaced at once, clients write between the old one and the new one.
func (w *work) oldTriggers(ctx context.Context, server *mysql.Server, shard farm.ShardName, shape latest.Shape, t spec.Tables) (what, line string, err error) {
	flavor, err := server.Flavor(ctx)
	if err != nil || replaces(flavor) || shape.Keep != spec.Triggers {
		return "", "", err
	}
	there, err := latest.ThereTriggers(ctx, server, shard)
	if err != nil {
		return "", "", err
	}
	for _, tr := range shape.Triggers(t) {
		if body, has := there[tr.Name]; has && body != tr.Body {
			return "trigger " + tr.Name + " is of another version, and this server does not replace it at once", "keep", nil
		}
	}
	return "", "", nil
}
