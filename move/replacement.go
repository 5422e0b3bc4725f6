package move

import (
	"encoding/json"
	"fmt"

	"stowage/act"
	"stowage/engine"
	"stowage/farm"
	"stowage/host"
	"stowage/mysql"
	"stowage/placement"
	"stowage/session"
	"stowage/swing"
)

// replacement is one side being replaced: the swing, and the three instances
// and hosts it is about.
type replacement struct {
	*swing.Swing
	task
	order  order
	memory memory

	old, fresh, twin             host.Instance
	oldHost, freshHost, twinHost host.Host

	linked []*mysql.Server // others of the pair whose links show how links are made
}

// TheSwing lets the steps of package swing work on a replacement.
func (r *replacement) TheSwing() swing.Dance { return dance{r.Swing, r} }

func (m *Mover) replacement(c engine.Call, step act.Step, beat func(string)) (*replacement, error) {
	r := &replacement{}
	var err error
	if r.task, err = m.task(c, step, beat, &r.order, &r.memory); err != nil {
		return nil, err
	}
	mv := r.order.Move
	r.About = farm.Event{Pair: mv.Pair, Side: mv.Side}
	r.old, r.fresh = m.instance(mv.Instance, mv.From), m.instance(mv.Instance, mv.To)
	r.twin = m.instance(r.order.TwinInstance, r.order.Twin)
	for _, h := range []struct {
		into *host.Host
		name farm.HostName
	}{{&r.oldHost, mv.From.Host}, {&r.freshHost, mv.To.Host}, {&r.twinHost, r.order.Twin.Host}} {
		found, err := m.Host(h.name)
		if err != nil {
			return nil, err
		}
		*h.into = found
	}
	r.Swing = &swing.Swing{
		Pair: mv.Pair, Side: mv.Side, Router: m.Router,
		Leaves:    mysql.Open(mv.Instance+" (old)", r.old.Dial(), m.Admin, m.Log),
		Returns:   mysql.Open(mv.Instance+" (new)", r.fresh.Dial(), m.Admin, m.Log),
		Twin:      mysql.Open(r.order.TwinInstance, r.twin.Dial(), m.Admin, m.Log),
		Scheduler: r.memory.Scheduler,
		Apart:     r.memory.Apart,
		Settings:  drainLonger(m.Settings, c.Attempt),
		Border:    r.AtBorder,
		Tell: func(kind farm.EventKind, phase, text string, millis float64) {
			r.Report(farm.Event{Kind: kind, Phase: phase, Text: text, Millis: millis})
		},
	}
	r.Note = func(text string) { r.WriteDown("measured", text, "") }
	r.First = r.KeepFirstMinute
	r.Lasting, r.Rejoin, r.DataFile = newLasting(r), r.rejoin, r.dataFile
	return r, nil
}

// drainLonger lets a gate stay closed for longer when it could not be drained
// again and again: clients that run one transaction of seconds after the other
// leave no better moment. 2, 2, 4, 4, 8, 8, 16, 16 seconds.
func drainLonger(s swing.Settings, attempt int) swing.Settings {
	s.Drain <<= min(3, max(0, attempt-1)/2)
	return s
}

func (m *Mover) instance(name farm.InstanceName, p placement.Place) host.Instance {
	return session.InstanceAt(m.Workspace, name, p.Address, farm.Side{Port: p.Port, Datadir: p.Datadir, Config: p.Config, GroupSuffix: p.GroupSuffix})
}

func (r *replacement) Close() {
	for _, s := range []*mysql.Server{r.Leaves, r.Returns, r.Twin} {
		_ = s.Close() // nothing is lost with a connection
	}
}

func (r *replacement) Remember() json.RawMessage {
	r.memory.Scheduler = r.Scheduler
	raw, err := json.Marshal(r.memory)
	if err != nil { // a struct of strings and numbers always encodes
		return nil
	}
	return raw
}

// owner marks the new instance's directory as made by this run for this side.
func (r *replacement) owner() string {
	return fmt.Sprintf("%s, %s with server_id %d", r.mover.Owner, r.order.Move.Instance, r.order.Move.ServerID)
}
