package domains

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"stowage/farm"
	"stowage/mysql"
)

// pair is one pair as its servers are now.
type pair struct {
	name     farm.PairName
	topology farm.Topology
	members  []*member // in the order of sides: a pair's one writer is the first
	record   *Record   // of its newest run, nil for none
}

// member is one server of a pair.
type member struct {
	pair    *pair
	name    farm.InstanceName
	side    farm.SideName
	place   farm.Side
	server  *mysql.Server
	version mysql.Flavor
	facts   mysql.DomainFacts
	goal    uint32
	err     error // it could not be asked
}

// source is whom the member replicates from; nil: nobody.
func (m *member) source() *member {
	ms := m.pair.members
	switch {
	case m.pair.topology == farm.ActiveActive:
		return ms[1-slices.Index(ms, m)]
	case m == ms[0]:
		return nil
	}
	return ms[0]
}

// ignores: a side of a ring gets its own transactions back.
func (m *member) ignores() bool { return m.pair.topology == farm.ActiveActive }

// lacks says what of the goal the member has not; nil when it has all.
func (m *member) lacks() []string {
	var out []string
	if m.facts.Domain != m.goal {
		out = append(out, fmt.Sprintf("gtid_domain_id %d instead of %d", m.goal, m.facts.Domain))
	}
	if !m.facts.Strict {
		out = append(out, "gtid_strict_mode ON")
	}
	if m.ignores() && !m.facts.Ignores {
		out = append(out, "gtid_ignore_duplicates ON")
	}
	if m.source() != nil && m.facts.Replication.UsingGTID != "Slave_Pos" {
		out = append(out, "replication by GTID")
	}
	return out
}

const askedAtOnce = 8

// read asks all servers of the farm. A server that cannot be asked says so in
// its err.
func (a *Act) read(ctx context.Context) ([]*pair, error) {
	var out []*pair
	var wg sync.WaitGroup
	tokens := make(chan struct{}, askedAtOnce)
	for _, fp := range a.Farm.Pairs {
		p := &pair{name: fp.Name, topology: fp.Topology}
		rec, err := a.Kept(fp.Name)
		if err != nil {
			return nil, err
		}
		p.record = rec
		for _, side := range fp.SideNames() {
			m := &member{pair: p, name: fp.Instance(side), side: side, place: fp.Sides[side]}
			m.server = a.Open(m.name, a.Farm.Address(m.place))
			p.members = append(p.members, m)
			tokens <- struct{}{}
			wg.Go(func() {
				m.err = m.ask(ctx)
				<-tokens
			})
		}
		out = append(out, p)
	}
	wg.Wait()
	setGoals(out)
	return out, ctx.Err()
}

func (m *member) ask(ctx context.Context) error {
	f, err := m.server.Flavor(ctx)
	if err != nil || !f.HasGTIDDomains() {
		m.version = f
		return err
	}
	m.version = f
	m.facts, err = m.server.Domains(ctx)
	return err
}

func closeAll(pairs []*pair) {
	for _, p := range pairs {
		for _, m := range p.members {
			_ = m.server.Close()
		}
	}
}

// hasDomains: MySQL has none.
func (p *pair) hasDomains() bool {
	return slices.ContainsFunc(p.members, func(m *member) bool { return m.err == nil && m.version.HasGTIDDomains() })
}

// isSeparate reports whether nothing is to be done.
func (p *pair) isSeparate() bool {
	if p.isOpen() {
		return false
	}
	return !slices.ContainsFunc(p.members, func(m *member) bool { return m.err != nil || len(m.lacks()) > 0 })
}

// View is what Look says.
type View struct {
	FormatVersion int            `json:"format_version"`
	Farm          string         `json:"farm"`
	Pairs         []PairView     `json:"pairs"`
	Findings      []farm.Finding `json:"findings"`
}

// PairView is one pair.
type PairView struct {
	Pair     farm.PairName `json:"pair"`
	Topology farm.Topology `json:"topology"`
	// State is of the pair's newest run, "" when there was none.
	State    State        `json:"state,omitempty"`
	Separate bool         `json:"separate"`
	Members  []MemberView `json:"servers"`
	Steps    []string     `json:"steps"` // what Separate, or the undo that was begun, would do
}

// MemberView is one server of it.
type MemberView struct {
	Name        farm.InstanceName  `json:"name"`
	Address     string             `json:"address"`
	Domain      uint32             `json:"gtid_domain_id"`
	Goal        uint32             `json:"goal"`
	Strict      bool               `json:"gtid_strict_mode"`
	Ignores     bool               `json:"gtid_ignore_duplicates"`
	Threads     int                `json:"slave_parallel_threads"`
	Using       string             `json:"using_gtid,omitempty"`
	OldSessions []mysql.OldSession `json:"old_sessions,omitempty"`
	Error       string             `json:"error,omitempty"`
}

// Look says how the pairs stand and what Separate would do to those that are
// named; none: all. It changes nothing.
func (a *Act) Look(ctx context.Context, names ...farm.PairName) (View, error) {
	pairs, err := a.read(ctx)
	defer closeAll(pairs)
	v := View{FormatVersion: 1, Farm: a.Farm.Name, Pairs: []PairView{}, Findings: []farm.Finding{}}
	if err != nil {
		return v, err
	}
	chosen, err := choose(pairs, names)
	if err != nil {
		return v, err
	}
	for _, p := range chosen {
		v.Findings = append(v.Findings, a.findings(ctx, p)...)
		if p.hasDomains() {
			v.Pairs = append(v.Pairs, p.view(ctx))
		}
	}
	return v, nil
}

// choose are the named pairs that have domains; none named: all.
func choose(pairs []*pair, names []farm.PairName) ([]*pair, error) {
	if len(names) == 0 {
		return pairs, nil
	}
	var out []*pair
	for _, n := range names {
		i := slices.IndexFunc(pairs, func(p *pair) bool { return p.name == n })
		if i < 0 {
			return nil, &farm.Error{Op: "domains", Subject: string(n), Err: fmt.Errorf("%w: farm.yaml has no such pair", farm.ErrInput), Hint: "stowage domains lists them"}
		}
		out = append(out, pairs[i])
	}
	return out, nil
}

func (p *pair) view(ctx context.Context) PairView {
	v := PairView{Pair: p.name, Topology: p.topology, Separate: p.isSeparate(), Steps: []string{}}
	if p.record != nil {
		v.State = p.record.State
	}
	for _, m := range p.members {
		f := m.facts
		mv := MemberView{Name: m.name, Address: m.server.Address(), Domain: f.Domain, Goal: m.goal, Strict: f.Strict, Ignores: f.Ignores, Threads: f.Threads}
		if m.source() != nil {
			mv.Using = f.Replication.UsingGTID
		}
		if was := p.was(m.name); was != nil && was.Since != nil && p.record.State.IsOpen() && m.err == nil {
			mv.OldSessions, _ = m.server.SessionsBefore(ctx, was.Since.Before) // only for the eye
		}
		if m.err != nil {
			mv.Error = m.err.Error()
		}
		v.Members = append(v.Members, mv)
	}
	if !v.Separate {
		v.Steps = p.steps()
	}
	return v
}

// steps says what is to be done, a line a step.
func (p *pair) steps() []string {
	var out []string
	rec := p.record
	if rec == nil || !rec.State.IsOpen() {
		rec = p.newRecord()
	}
	steps := forward
	if rec.State == Undoing {
		steps = backward
	}
	for _, s := range steps {
		if s.appliesTo(rec) {
			out = append(out, s.name+": "+s.says)
		}
	}
	return out
}

// some names a few of many, for messages that people read. JSON has all.
func some(names []string, few int) string {
	text := strings.Join(names[:min(few, len(names))], ", ")
	if more := len(names) - few; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}
