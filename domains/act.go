package domains

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"stowage/farm"
	"stowage/host"
	"stowage/mysql"
)

// Act gives sides domains of their own, and takes that back. It asks nobody
// else's leave: whoever uses it holds the workspace's lock, and has seen that
// no move is open.
type Act struct {
	Farm *farm.Farm
	Open func(farm.InstanceName, string) *mysql.Server
	// Edit changes the option file of an instance; what is as it was is not
	// written.
	Edit func(ctx context.Context, name farm.InstanceName, place farm.Side, change func(host.Instance, string) string) error
	// Kept is the newest record of a pair, nil for none. Keep makes a record
	// durable before it returns.
	Kept func(farm.PairName) (*Record, error)
	Keep func(Record) error
	// Tell says what goes on, a line at a time.
	Tell func(string)
	// Border is called before and after each effect; tests kill the program
	// there. Nil in production.
	Border func(string) error
	// Wait is how long sessions of the old domain are waited for.
	Wait time.Duration

	deadline time.Time // of the waiting
}

// Budgets of single statements' effects: seconds in practice; a replica that
// is further behind than this is not ready for a change of its ways.
const (
	startBudget = 30 * time.Second
	catchUp     = 2 * time.Minute
)

// step is one step of a pair's run. It may be run again at any time.
type step struct {
	name, says string
	applies    func(*Record) bool // nil: always
	do         func(*Act, context.Context, *job) error
}

func (s step) appliesTo(r *Record) bool { return s.applies == nil || s.applies(r) }

// job is one pair that is being changed.
type job struct {
	*pair
	record *Record
	names  []string // of the steps that applied when it began
}

// was is what the record has of a member.
func (j *job) was(m *member) *Was { return j.record.member(m.name) }

func anySerial(r *Record) bool {
	return slices.ContainsFunc(r.Members, Was.serial)
}

func unsettled(r *Record) bool { return !r.Settled }

// forward are the steps of Separate, in order.
var forward = []step{
	{"options", "write the new gtid_domain_id into the option file of each server", unsettled, (*Act).optionsApart},
	{"serial", "let replicas apply one transaction at a time while two domains are written (slave_parallel_threads = 0)", func(r *Record) bool { return unsettled(r) && anySerial(r) }, (*Act).serial},
	{"domain", "SET GLOBAL gtid_domain_id on each server: new sessions write it", unsettled, (*Act).domain},
	{"sessions", "wait for sessions that write the old domain to end: pools have to reconnect", unsettled, (*Act).sessions},
	{"settle", "wait until replicas have applied the old domain, and close it with one transaction that changes nothing", unsettled, (*Act).settle},
	{"options-gtid", "write gtid_strict_mode, and for pairs in which both sides write gtid_ignore_duplicates, into the option files", nil, (*Act).optionsGTID},
	{"gtid", "server by server: stop the replica, gtid_ignore_duplicates and MASTER_USE_GTID = slave_pos, start it, gtid_strict_mode", nil, (*Act).gtid},
	{"check", "each server has what the others have, by GTID", nil, (*Act).check},
}

// backward are the steps of Undo, in order.
var backward = []step{
	{"undo gtid", "server by server: gtid_strict_mode, gtid_ignore_duplicates and MASTER_USE_GTID as they were", nil, (*Act).undoGTID},
	{"undo options", "take the lines out of the option files", nil, (*Act).undoOptions},
	{"undo domain", "SET GLOBAL gtid_domain_id to what it was", nil, (*Act).undoDomain},
	{"undo sessions", "wait for sessions that write the new domain to end", anySerial, (*Act).sessions},
	{"undo serial", "slave_parallel_threads as it was", anySerial, (*Act).undoSerial},
	{"undo check", "each server has what the others have", nil, (*Act).undoCheck},
}

// Separate gives each side of the named pairs, or of all, a domain of its own. It continues with runs that were cut short.
func (a *Act) Separate(ctx context.Context, names ...farm.PairName) ([]farm.Finding, error) {
	return a.each(ctx, names, func(p *pair) (bool, error) {
		if p.record != nil && p.record.State == Undoing {
			return false, refused(p.name, errors.New("it is being taken back"), "stowage domains undo "+string(p.name))
		}
		return p.hasDomains() && !p.isSeparate(), nil
	}, func(j *job) {
		j.begin()
	}, way{Separating, Separate, forward})
}

// way is where a run goes: what it is called meanwhile and then, and its
// steps.
type way struct {
	during, end State
	steps       []step
}

// aside are the first steps of a way: those after which new sessions write
// another domain. All pairs take them before the first is waited for, so that
// pools have to reconnect once, and not once a pair.
func (w way) aside() int {
	return 1 + slices.IndexFunc(w.steps, func(s step) bool { return strings.HasSuffix(s.name, "domain") })
}

// Undo takes back what Separate did to the named pairs, or to all it did
// something to.
func (a *Act) Undo(ctx context.Context, names ...farm.PairName) ([]farm.Finding, error) {
	return a.each(ctx, names, func(p *pair) (bool, error) {
		if p.record == nil || p.record.State == Undone {
			return false, nil
		}
		for _, m := range p.members {
			was := p.record.member(m.name)
			if was == nil || was.Address != m.server.Address() {
				return false, refused(p.name, fmt.Errorf("%s has moved since its domain was changed", m.name), "leave it as it is: each side has a domain of its own; or set the options by hand")
			}
		}
		return true, nil
	}, func(j *job) { j.record.Settled = false }, way{Undoing, Undone, backward})
}

// begin makes the record of a run that is not open. What the servers were
// before the first run stays, as long as they are the same servers: somebody
// may have changed a setting back, or a twin was moved.
func (j *job) begin() {
	if j.record.State.IsOpen() {
		return
	}
	same := j.record.State == Separate && !slices.ContainsFunc(j.members, func(m *member) bool {
		w := j.was(m)
		return w == nil || w.Address != m.server.Address()
	})
	if !same {
		j.record = j.newRecord()
	}
	j.record.Settled = false
}

func refused(pair farm.PairName, err error, hint string) error {
	return &farm.Error{Op: "domains", Subject: string(pair), Err: fmt.Errorf("%w: %w", farm.ErrRefused, err), Hint: hint}
}

// each does something to the pairs that want it. Findings of all of them come
// before anything is done to the first.
func (a *Act) each(ctx context.Context, names []farm.PairName, wants func(*pair) (bool, error), begin func(*job), w way) ([]farm.Finding, error) {
	pairs, err := a.read(ctx)
	defer closeAll(pairs)
	if err != nil {
		return nil, err
	}
	chosen, err := choose(pairs, names)
	if err != nil {
		return nil, err
	}
	findings := []farm.Finding{}
	var todo []*pair
	for _, p := range chosen {
		wanted, err := wants(p)
		if err != nil {
			return findings, err
		}
		if !wanted && !slices.ContainsFunc(p.members, func(m *member) bool { return m.err != nil }) {
			continue
		}
		findings = append(findings, a.findings(ctx, p)...)
		todo = append(todo, p)
	}
	if farm.Blocks(findings) {
		return findings, refused("", errors.New("there are blockers"), "remedy them, or name the pairs that are to be changed")
	}
	var jobs []*job
	for _, p := range todo {
		j := &job{pair: p, record: p.record}
		if j.record == nil {
			j.record = &Record{}
		}
		begin(j)
		jobs = append(jobs, j)
	}
	return findings, a.runAll(ctx, jobs, w)
}

// runAll takes all pairs aside and then each to its end. One that is held up
// by sessions does not hold up the others.
func (a *Act) runAll(ctx context.Context, jobs []*job, w way) error {
	for _, j := range jobs {
		j.record.State = w.during
		if err := a.keep(j); err != nil {
			return err
		}
		if err := a.run(ctx, j, w, 0, w.aside()); err != nil {
			return err
		}
	}
	a.deadline = time.Now().Add(a.Wait)
	var held error
	for _, j := range jobs {
		err := a.run(ctx, j, w, w.aside(), len(w.steps))
		if errors.Is(err, farm.ErrRefused) {
			held = errors.Join(held, err)
			continue
		}
		if err != nil {
			return errors.Join(err, held)
		}
		j.record.State = w.end
		if err := a.keep(j); err != nil {
			return err
		}
		a.tell(j, "done")
	}
	return held
}

// newRecord is what the pair's servers are now.
func (p *pair) newRecord() *Record {
	r := &Record{FormatVersion: 1, Pair: p.name}
	for _, m := range p.members {
		w := Was{Name: m.name, Side: m.side, Address: m.server.Address(), Domain: m.facts.Domain, Strict: m.facts.Strict,
			Ignores: m.facts.Ignores, Threads: m.facts.Threads, Goal: m.goal}
		if m.source() != nil {
			w.Using = m.facts.Replication.UsingGTID
		}
		r.Members = append(r.Members, w)
	}
	return r
}

// run goes through some steps of a way.
func (a *Act) run(ctx context.Context, j *job, w way, from, to int) error {
	if j.names == nil {
		for _, s := range w.steps {
			if s.appliesTo(j.record) {
				j.names = append(j.names, s.name)
			}
		}
	}
	for _, s := range w.steps[from:to] {
		if !s.appliesTo(j.record) {
			continue
		}
		a.tell(j, "%d/%d %s: %s", slices.Index(j.names, s.name)+1, len(j.names), s.name, s.says)
		if err := s.do(a, ctx, j); err != nil {
			return a.cutShort(ctx, j, s, err)
		}
	}
	return nil
}

// cutShort says how a run that did not arrive goes on.
func (a *Act) cutShort(ctx context.Context, j *job, s step, err error) error {
	verb := map[State]string{Separating: "separate", Undoing: "undo"}[j.record.State]
	hint := "then go on: stowage domains " + verb + " " + string(j.name)
	if verb == "separate" {
		hint += "; or back: stowage domains undo " + string(j.name)
	}
	switch more := farm.Hint(err); {
	case errors.Is(err, errSessions):
		hint = "let them reconnect (restart the pool, or KILL the session when it is idle); " + hint
	case more != "":
		hint = more + "; " + hint
	default:
		hint = "remedy that; " + hint
	}
	if !errors.Is(err, farm.ErrRefused) {
		err = fmt.Errorf("%w: %w", farm.ErrInterrupted, err)
	}
	if ctx.Err() != nil {
		err, hint = farm.ErrInterrupted, "go on: stowage domains "+verb+" "+string(j.name)
	}
	return &farm.Error{Op: "domains, step " + s.name, Subject: string(j.name), Err: err, Hint: hint}
}

func (a *Act) tell(j *job, format string, args ...any) {
	if a.Tell != nil {
		a.Tell(string(j.name) + ": " + fmt.Sprintf(format, args...))
	}
}

func (a *Act) keep(j *job) error {
	return a.between(j, "record", "", func() error { return a.Keep(*j.record) })
}

// between is an effect between its two borders, "domains before domain A".
func (a *Act) between(j *job, name string, side farm.SideName, do func() error) error {
	at := strings.TrimSpace(name + " " + string(side))
	if err := a.border(j, "before", at); err != nil {
		return err
	}
	if err := do(); err != nil {
		return err
	}
	return a.border(j, "after", at)
}

func (a *Act) border(j *job, when, at string) error {
	if a.Border == nil {
		return nil
	}
	if j.record.State == Undoing || j.record.State == Undone {
		at = "back " + at
	}
	return a.Border("domains " + when + " " + at)
}

// perMember is an effect on each server of the pair, one after the other.
func (a *Act) perMember(ctx context.Context, j *job, name string, do func(*member, *Was) error) error {
	for _, m := range j.members {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err := a.between(j, name, m.side, func() error { return do(m, j.was(m)) }); err != nil {
			return err
		}
	}
	return nil
}
