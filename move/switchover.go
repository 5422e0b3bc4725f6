package move

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"strconv"
	"time"

	"stowage/act"
	"stowage/engine"
	"stowage/farm"
	"stowage/host"
	"stowage/internal/nested"
	"stowage/mysql"
	"stowage/placement"
	"stowage/swing"
)

// The runbooks of pairs in which side A takes all writes.
const (
	// Switchover moves side A, the primary or a single instance.
	Switchover = "switchover"
	// Replica moves side B, the replica, or a further one.
	Replica = "replica"
)

// successionOrder is what a part says that moves one side of a pair with one
// writer. Twin is the server that takes the writes: in a switchover the side
// itself.
type successionOrder struct {
	order
	Source         placement.Place   `json:"source"` // seeded from: a replica where there is one
	SourceInstance farm.InstanceName `json:"source_instance"`
	Others         []otherReplica    `json:"others,omitempty"` // of the farm file, that follow the side
}

// newSuccession is the order of one part of a pair with one writer.
func newSuccession(p *farm.Pair, m placement.Move, sides map[farm.SideName]placement.Place, options map[string]string) (act.Runbook, json.RawMessage, error) {
	book, _ := ByName(Switchover)
	o := successionOrder{Source: sides[farm.A], SourceInstance: p.Instance(farm.A)}
	for _, side := range p.SideNames()[1:] {
		at := sides[side]
		if side == farm.B || side == m.Side { // a primary is seeded from B, a replica from itself
			o.Source, o.SourceInstance = at, p.Instance(side)
		}
		o.Others = append(o.Others, otherReplica{p.Instance(side), net.JoinHostPort(at.Address, strconv.Itoa(at.Port))})
	}
	if m.Side != farm.A {
		book, _ = ByName(Replica)
		o.Others = nil
	}
	o.order = order{Runbook: book.Name, Move: m, TwinInstance: p.Instance(farm.A), Twin: sides[farm.A], Options: options}
	args, err := json.Marshal(o)
	return book, args, err
}

// otherReplica is a server that follows the one that is moved.
type otherReplica struct {
	Name    farm.InstanceName `json:"name"`
	Address string            `json:"address"`
}

// successionMemory is what the steps hand on to each other, besides what those
// of a replacement do.
type successionMemory struct {
	memory
	Bar    []mysql.Grantee `json:"bar,omitempty"`    // accounts that read_only does not stop
	Others []otherReplica  `json:"others,omitempty"` // were re-pointed, and are pointed back by undo
}

// succession is one instance that takes the place of another in a pair with
// one writer. What it has in common with the replacement of a side of an
// active-active pair it does the same way: Leaves is the old instance, Returns
// the new one, Twin the server that takes the writes.
type succession struct {
	*replacement
	book   string
	order  successionOrder
	memory successionMemory

	source     host.Instance
	sourceHost host.Host
	from       *mysql.Server // the source of the seed
}

// successionOf opens a part of one of the two runbooks.
func successionOf(book string) func(*Mover, engine.Call, act.Step, func(string)) (*succession, error) {
	return func(m *Mover, c engine.Call, step act.Step, beat func(string)) (*succession, error) {
		r, err := m.replacement(c, step, beat)
		if err != nil {
			return nil, err
		}
		s := &succession{replacement: r, book: book}
		if err := nested.Unmarshal(c.Args, &s.order); err != nil {
			return nil, fmt.Errorf("read order of %s: %w", c.Subject, err)
		}
		if len(c.State) > 0 {
			if err := nested.Unmarshal(c.State, &s.memory); err != nil {
				return nil, fmt.Errorf("read state of %s: %w", c.Subject, err)
			}
		}
		s.source = m.instance(s.order.SourceInstance, s.order.Source)
		if s.sourceHost, err = m.Host(s.order.Source.Host); err != nil {
			return nil, err
		}
		s.from = mysql.Open(s.order.SourceInstance, s.source.Dial(), m.Admin, m.Log)
		s.linked = []*mysql.Server{s.from}
		return s, nil
	}
}

func (s *succession) Close() {
	s.replacement.Close()
	_ = s.from.Close()
}

func (s *succession) Remember() json.RawMessage {
	s.replacement.memory.Scheduler = s.Scheduler
	s.memory.memory = s.replacement.memory
	raw, err := json.Marshal(s.memory)
	if err != nil { // a struct of strings and numbers always encodes
		return nil
	}
	return raw
}

// movesPrimary reports whether the side that takes the writes is moved.
func (s *succession) movesPrimary() bool { return s.book == Switchover }

// seededFrom is the replacement as its step `seed` is to see it: the twin is
// whom the copy is taken from.
func (s *succession) seededFrom() *replacement {
	view, swung := *s.replacement, *s.Swing
	view.Swing = &swung
	view.twin, view.twinHost, swung.Twin = s.source, s.sourceHost, s.from
	view.order.TwinInstance, view.order.Twin = s.order.SourceInstance, s.order.Source
	return &view
}

// seed copies from a replica where there is one: the primary has clients.
func (s *succession) seed(ctx context.Context) error {
	view := s.seededFrom()
	if err := view.seed(ctx); err != nil {
		return err
	}
	s.replacement.memory.Seed, s.replacement.memory.Position = view.memory.Seed, view.memory.Position
	return nil
}

// compare compares every row with the server that takes the writes and against
// the old instance, whose readers must find everything again.
func (s *succession) compare(ctx context.Context) error {
	sources := []*mysql.Server{s.Twin}
	if !s.movesPrimary() {
		sources = append(sources, s.Leaves)
	}
	return s.compareWith(ctx, sources)
}

// preload warms the new instance with the pages that the old one holds.
func (s *succession) preload(ctx context.Context) error {
	if s.movesPrimary() {
		return s.replacement.preload(ctx) // the twin is the old one
	}
	view := s.seededFrom() // so is the source of the seed
	return view.preload(ctx)
}

// cutover is the handing over of the writes.
func (s *succession) cutover(ctx context.Context) (*swing.Cutover, error) {
	as, err := s.replicationAs(ctx) // the old primary has no link yet
	return &swing.Cutover{Swing: s.Swing, Step: "cutover", From: s.Leaves, To: s.Returns,
		Replication: as, Bar: s.memory.Bar}, err
}

func (s *succession) handOver(ctx context.Context) error {
	if err := s.comparedSinceItsStart(ctx, s.compare); err != nil {
		return err
	}
	c, err := s.cutover(ctx)
	if err != nil {
		return err
	}
	return c.Run(ctx)
}

func (s *succession) handBack(ctx context.Context) error {
	c, err := s.cutover(ctx)
	if err != nil {
		return err
	}
	return c.Undo(ctx)
}

// soak watches, for as long as the goals ask: the new instance answers, and
// whoever is to follow follows. Until it ends the way back is open.
func (s *succession) soak(ctx context.Context) error {
	for deadline := time.Now().Add(s.Settings.Soak); ; {
		if err := s.look(ctx); err != nil {
			return err
		}
		if !time.Now().Before(deadline) {
			return nil
		}
		s.Report(farm.Event{Kind: farm.StepWaiting, Text: fmt.Sprintf("watching %s until %s", s.fresh.Name, deadline.Local().Format(time.TimeOnly))})
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(min(200*time.Millisecond, time.Until(deadline)+time.Millisecond)):
		}
	}
}

func (s *succession) look(ctx context.Context) error {
	source, follower := s.Twin, s.Returns
	if s.movesPrimary() {
		source, follower = s.Returns, s.Leaves
	}
	r, err := follower.Replication(ctx)
	if err != nil {
		return err
	}
	if err := r.Broken(); err != nil {
		return &farm.Error{Op: "watch", Subject: string(follower.Name()), Err: err}
	}
	if !r.Follows(source.Address()) {
		return &farm.Error{Op: "watch", Subject: string(follower.Name()), Err: fmt.Errorf("it does not replicate from %s", source.Address())}
	}
	return source.Ping(ctx)
}
