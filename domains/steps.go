package domains

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"stowage/farm"
	"stowage/host"
	"stowage/mysql"
)

// options puts lines into a server's option file, in place of earlier ones.
func (a *Act) options(ctx context.Context, m *member, lines ...string) error {
	return a.Edit(ctx, m.name, m.place, func(i host.Instance, text string) string { return host.DomainOptions(i, text, lines) })
}

func domainLine(w *Was) string { return "gtid_domain_id = " + strconv.FormatUint(uint64(w.Goal), 10) }

// serialLines: a server that starts again in the middle of it must not apply
// two domains side by side.
func serialLines(w *Was) []string {
	if !w.serial() {
		return nil
	}
	return []string{"slave_parallel_threads = 0"}
}

// optionsApart: effect: each option file has the new domain. Undo: undoOptions.
func (a *Act) optionsApart(ctx context.Context, j *job) error {
	return a.perMember(ctx, j, "options", func(m *member, w *Was) error {
		return a.options(ctx, m, append([]string{domainLine(w)}, serialLines(w)...)...)
	})
}

// serial: effect: replicas apply one transaction at a time. Known by
// slave_parallel_threads. Undo: undoSerial.
func (a *Act) serial(ctx context.Context, j *job) error {
	return a.perMember(ctx, j, "serial", func(m *member, w *Was) error {
		if !w.serial() {
			return nil
		}
		return applier(ctx, m, 0)
	})
}

func applier(ctx context.Context, m *member, threads int) error {
	now, err := m.server.Domains(ctx)
	if err != nil {
		return err
	}
	if now.Threads == threads && now.Replication.Running() {
		return nil
	}
	if err := m.server.SetApplier(ctx, threads); err != nil {
		return err
	}
	return m.server.AwaitReplicating(ctx, startBudget)
}

// domain: effect: sessions that begin from now on write the new domain. What
// number they have is kept.
func (a *Act) domain(ctx context.Context, j *job) error {
	return a.perMember(ctx, j, "domain", func(m *member, w *Was) error { return a.setDomain(ctx, j, m, w, w.Goal) })
}

func (a *Act) setDomain(ctx context.Context, j *job, m *member, w *Was, domain uint32) error {
	now, err := m.server.Domains(ctx)
	if err != nil {
		return err
	}
	if now.Domain == domain && w.Since != nil && w.Since.Domain == domain {
		return nil
	}
	if now.Domain == domain && w.Since == nil && w.Domain == domain {
		return nil // it has always had it
	}
	before, err := m.server.SetDomain(ctx, domain)
	if err != nil {
		return err
	}
	w.Since = &Since{domain, before}
	return a.Keep(*j.record)
}

// sessionsLook is how often sessions of the old domain are looked for.
const sessionsLook = 500 * time.Millisecond

// sessions: done when no client's session is older than the new domain, on any
// server that takes writes, and the old domain has not grown there between two
// looks.
func (a *Act) sessions(ctx context.Context, j *job) error {
	return a.between(j, "sessions", "", func() error {
		said := ""
		grown := map[*member]uint64{}
		for {
			left, quiet, err := a.oldSessions(ctx, j, grown)
			if err != nil || quiet {
				return err
			}
			if text := some(left, 5); text != said && text != "" {
				a.tell(j, "waiting for %d: %s", len(left), text)
				said = text
			}
			if time.Now().After(a.deadline) && len(left) > 0 {
				return fmt.Errorf("%w: after %v %w: %s", farm.ErrRefused, a.Wait, errSessions, farm.Some(left))
			}
			if err := pauseFor(ctx, sessionsLook); err != nil {
				return err
			}
		}
	})
}

// errSessions: somebody may still write the old domain.
var errSessions = errors.New("these write the old GTID domain, or may")

// oldSessions names who may still write the old domain. Sessions cannot be
// asked for their domain, so they are told by their age; that a domain grows
// is seen in the binary log. grown is how far it was at the look before.
func (a *Act) oldSessions(ctx context.Context, j *job, grown map[*member]uint64) (left []string, quiet bool, err error) {
	quiet = true
	for _, m := range j.members {
		w := j.was(m)
		now, err := m.server.Domains(ctx)
		if err != nil {
			return nil, false, err
		}
		want, old := w.Goal, w.Domain
		if j.record.State == Undoing {
			want, old = old, want
		}
		if now.Domain != want { // it was started again, with other options
			if err := a.setDomain(ctx, j, m, w, want); err != nil {
				return nil, false, err
			}
		}
		if now.ReadOnly || w.Since == nil || want == old {
			continue
		}
		older, err := m.server.SessionsBefore(ctx, w.Since.Before)
		if err != nil {
			return nil, false, err
		}
		for _, s := range older {
			left = append(left, fmt.Sprintf("%s on %s", s, m.name))
		}
		own := now.Own(old)
		was, looked := grown[m]
		if grown[m] = own; looked && own == was && len(older) == 0 {
			continue
		}
		if quiet = false; looked && own != was && len(older) == 0 {
			left = append(left, fmt.Sprintf("a session on %s sets gtid_domain_id = %d: that domain has grown from %d to %d", m.name, old, was, own))
		}
	}
	return left, quiet, nil
}

// settlePatience is how long the old domain may take to arrive everywhere
// before it is closed by a transaction: replicas that were made since the
// domain was last written never see its end otherwise, and two sides that
// wrote it at once have it in different orders. The one transaction behind
// which everything of the domain lies stands for all of it in the position of
// a copy that is made later.
const settlePatience = 3 * time.Second

// settle: done when each server's binary log, and each replica, ends the old
// domain at the same transaction, and none in it has a higher number. Precondition: nobody writes it.
func (a *Act) settle(ctx context.Context, j *job) error {
	err := a.between(j, "settle", "", func() error {
		for _, domain := range j.oldDomains() {
			if err := a.settleDomain(ctx, j, domain); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	j.record.Settled = true
	return a.keep(j)
}

// oldDomains are those that the pair leaves.
func (j *job) oldDomains() []uint32 {
	var out []uint32
	for _, w := range j.record.Members {
		if w.Domain != w.Goal && !slices.Contains(out, w.Domain) {
			out = append(out, w.Domain)
		}
	}
	return out
}

func (a *Act) settleDomain(ctx context.Context, j *job, domain uint32) error {
	end, patience := time.Now().Add(catchUp), time.Now().Add(settlePatience)
	for {
		ends, high, err := j.endsOf(ctx, domain)
		if err != nil {
			return err
		}
		if len(ends) == 1 && ends[0] == high {
			return nil
		}
		switch {
		case time.Now().After(end):
			return fmt.Errorf("domain %d ends differently after %v: %v", domain, catchUp, ends)
		case len(ends) == 1, time.Now().After(patience):
			first := j.members[0]
			a.tell(j, "closing domain %d at %d-%d-%d", domain, domain, first.facts.ServerID, high.Seq+1)
			if err := first.server.Seal(ctx, domain, high.Seq+1); err != nil {
				return err
			}
			patience = time.Now().Add(settlePatience)
		}
		if err := pauseFor(ctx, 100*time.Millisecond); err != nil {
			return err
		}
	}
}

// endsOf are the transactions at which servers and replicas of the pair end a
// domain, each once, and the one with the highest sequence number in it; of
// several, any.
func (j *job) endsOf(ctx context.Context, domain uint32) (ends []mysql.GTID, high mysql.GTID, err error) {
	add := func(g mysql.GTID) {
		if !slices.Contains(ends, g) {
			ends = append(ends, g)
		}
	}
	twice := false
	for _, m := range j.members {
		now, err := m.server.Domains(ctx)
		if err != nil {
			return nil, high, err
		}
		if err := now.Replication.Broken(); err != nil && m.source() != nil {
			return nil, high, err
		}
		if now.PassesOn || m.source() == nil {
			add(now.Binlog.Last(domain))
		}
		if m.source() != nil {
			add(now.Applied.Last(domain))
		}
		for _, g := range append(now.Written, now.Applied.Last(domain)) {
			switch {
			case g.Domain != domain:
			case g.Seq > high.Seq:
				high, twice = g, false
			case g.Seq == high.Seq && g != high:
				twice = true
			}
		}
	}
	if twice { // two servers gave the same number: it is behind neither
		high.Server = 0
	}
	return ends, high, nil
}

// optionsGTID: effect: each option file has the rest of the goal, too.
func (a *Act) optionsGTID(ctx context.Context, j *job) error {
	return a.perMember(ctx, j, "options-gtid", func(m *member, w *Was) error {
		lines := []string{domainLine(w), "gtid_strict_mode = ON"}
		if m.ignores() {
			lines = append(lines, "gtid_ignore_duplicates = ON")
		}
		return a.options(ctx, m, lines...)
	})
}

// gtid: effect: replication by GTID, as each runbook of a move needs it.
// Precondition: settle.
func (a *Act) gtid(ctx context.Context, j *job) error {
	return a.perMember(ctx, j, "gtid", func(m *member, w *Was) error {
		want := mysql.Applier{Ignores: w.Ignores || m.ignores(), Threads: w.Threads, Using: "Slave_Pos"}
		if err := m.server.SetApplying(ctx, want, startBudget); err != nil {
			return err
		}
		return m.server.SetStrict(ctx, true)
	})
}

// check: done when each server has all that its source has, and is as it should
// be.
func (a *Act) check(ctx context.Context, j *job) error {
	return a.between(j, "check", "", func() error {
		if err := caughtUp(ctx, j); err != nil {
			return err
		}
		for _, m := range j.members {
			now, err := m.server.Domains(ctx)
			if err != nil {
				return err
			}
			m.facts, m.goal = now, j.was(m).Goal
			if lacks := m.lacks(); len(lacks) > 0 {
				return fmt.Errorf("%s does not have what was set: %s", m.name, strings.Join(lacks, ", "))
			}
		}
		return nil
	})
}

// caughtUp returns when each replica has applied what its source has written
// by now.
func caughtUp(ctx context.Context, j *job) error {
	for _, m := range j.members {
		source := m.source()
		if source == nil {
			continue
		}
		if err := m.server.AwaitReplicating(ctx, startBudget); err != nil {
			return err
		}
		goal, err := source.server.BinlogPosition(ctx)
		if err != nil {
			return err
		}
		if err := m.server.WaitFor(ctx, goal, catchUp); err != nil {
			return err
		}
	}
	return nil
}

func pauseFor(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}

// undoGTID: effect: strict mode, duplicates and the way of replication are as
// they were. Precondition: none; nobody writes a domain of others' yet.
func (a *Act) undoGTID(ctx context.Context, j *job) error {
	return a.perMember(ctx, j, "gtid", func(m *member, w *Was) error {
		if err := a.options(ctx, m, append([]string{domainLine(w)}, serialLines(w)...)...); err != nil {
			return err
		}
		if err := m.server.SetStrict(ctx, w.Strict); err != nil {
			return err
		}
		if w.Using == "" {
			return m.server.SetApplying(ctx, mysql.Applier{Ignores: w.Ignores, Threads: w.Threads}, startBudget)
		}
		// One transaction at a time: then the place in the source's binary log is
		// exact, to go on from there by file and position.
		if err := applier(ctx, m, 0); err != nil {
			return err
		}
		if err := j.hasAll(ctx, m); err != nil {
			return err
		}
		return m.server.SetApplying(ctx, mysql.Applier{Ignores: w.Ignores, Using: w.Using}, startBudget)
	})
}

// hasAll waits until a replica has what its source has now: whatever several
// threads had begun has ended then.
func (j *job) hasAll(ctx context.Context, m *member) error {
	goal, err := m.source().server.BinlogPosition(ctx)
	if err != nil {
		return err
	}
	for end := time.Now().Add(catchUp); ; {
		applied, err := m.server.AppliedPosition(ctx)
		if err != nil {
			return err
		}
		if applied.Reached(goal) {
			return nil
		}
		if time.Now().After(end) {
			return fmt.Errorf("%s is behind: it has applied %s of %s", m.name, applied, goal)
		}
		if r, err := m.server.Replication(ctx); err != nil || r.Broken() != nil {
			return errors.Join(err, r.Broken())
		}
		if err := pauseFor(ctx, 50*time.Millisecond); err != nil {
			return err
		}
	}
}

// undoOptions: effect: the option files are as they were, but that replicas
// with several threads stay with one for now.
func (a *Act) undoOptions(ctx context.Context, j *job) error {
	return a.perMember(ctx, j, "options", func(m *member, w *Was) error { return a.options(ctx, m, serialLines(w)...) })
}

func (a *Act) undoDomain(ctx context.Context, j *job) error {
	return a.perMember(ctx, j, "domain", func(m *member, w *Was) error {
		if w.Since == nil && w.Domain == w.Goal {
			return nil
		}
		return a.setDomain(ctx, j, m, w, w.Domain)
	})
}

func (a *Act) undoSerial(ctx context.Context, j *job) error {
	return a.perMember(ctx, j, "serial", func(m *member, w *Was) error {
		if !w.serial() {
			return nil
		}
		if err := a.options(ctx, m); err != nil {
			return err
		}
		if err := j.hasAll(ctx, m); err != nil {
			return err
		}
		return applier(ctx, m, w.Threads)
	})
}

func (a *Act) undoCheck(ctx context.Context, j *job) error {
	return a.between(j, "check", "", func() error {
		for _, m := range j.members {
			w := j.was(m)
			now, err := m.server.Domains(ctx)
			if err != nil {
				return err
			}
			if now.Domain != w.Domain || now.Strict != w.Strict || now.Ignores != w.Ignores || now.Threads != w.Threads ||
				w.Using != "" && now.Replication.UsingGTID != w.Using {
				return fmt.Errorf("%s is not as it was: %+v", m.name, farmFacts(now))
			}
			if w.Using == "" {
				continue
			}
			if err := m.server.AwaitReplicating(ctx, startBudget); err != nil {
				return err
			}
		}
		return nil
	})
}

// farmFacts is what undoCheck compares, for its message.
func farmFacts(f mysql.DomainFacts) string {
	return fmt.Sprintf("gtid_domain_id %d, gtid_strict_mode %v, gtid_ignore_duplicates %v, slave_parallel_threads %d, using GTID %q",
		f.Domain, f.Strict, f.Ignores, f.Threads, f.Replication.UsingGTID)
}
