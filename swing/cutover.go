package swing

import (
	"context"
	"errors"
	"fmt"
	"time"

	"stowage/farm"
	"stowage/mysql"
	"stowage/route"
)

// Cutover hands all writes of a pair from the server that takes them to one
// that replicates from it, which replicates back afterwards. The clients are
// held for as long as it takes; a commit that gets in nevertheless is either
// in front of the lock, and then the next server has it before it opens, or
// refused.
//
// models/cutover.pml is its model: the phases have the same names, and each
// guard can be taken out there to see what it is for. `flip` names the next
// server and opens the gate in one replacement of the table: whatever is done
// to the old server after that (it keeps its fence and its lock until then) no
// client waits for.
type Cutover struct {
	*Swing // routing, settings, events, option files; its three servers are not used

	Step string // for events and borders
	From *mysql.Server
	To   *mysql.Server
	// Replication is what servers log in to each other with.
	Replication mysql.Account
	// Bar are the accounts that read_only does not stop, and that are kept out
	// of the server that does not serve.
	Bar []mysql.Grantee
	// Held: From receives what To writes and does not apply it, until somebody starts its applier.
	Held bool

	users  []string // whom read_only does not stop
	lock   *mysql.WriteLock
	goal   mysql.Position
	opened bool // To may have been opened by this attempt
	found  bool // the gate was closed before this attempt
}

// CutoverPhases are the phases of a cutover, in order.
var CutoverPhases = []string{"close", "drain", "fence", "kill", "lock", "position", "barrier", "open", "flip", "unlock", "release"}

// Budgets behind the closed gate, besides Settings.Drain. All of them spent
// are what clients wait for at worst before a cutover gives up.
const (
	lateClient = 20 * time.Millisecond // docs/reference/routing.md, rule 1. Who comes later than that meets the fence, not the next server
	fenceTime  = time.Second           // statements that write, to end
	killTime   = time.Second
	lockTime   = time.Second
	lockLife   = 15 * time.Second // of a lock whose owner says nothing more
	behindTime = 2 * time.Second  // for the last transactions
	nearEnough = 250 * time.Millisecond
)

// limit is how long clients are held before the cutover is given up.
func (c *Cutover) limit() time.Duration {
	return c.Settings.Drain + fenceTime + killTime + lockTime + behindTime
}

// Run hands over, or changes nothing: before an error is returned, the server
// that served takes writes again and the gate is open, unless the next one had
// been opened already. From that moment it only goes on forward, and an
// attempt that is begun again finds out from the servers which of the two it is.
func (c *Cutover) Run(ctx context.Context) error {
	if err := c.awaitTable(ctx, c.Settings.Answer); err != nil {
		return err
	}
	if err := c.mend(ctx); err != nil {
		return err
	}
	if err := c.await(ctx, c.To, c.From); err != nil {
		return err
	}
	decided, err := c.decided(ctx)
	if err != nil {
		return err
	}
	if !decided {
		if err := c.handOver(ctx); err != nil {
			return err
		}
	}
	return c.finish(ctx)
}

// Undo hands over in the other direction, whatever Run has come to.
func (c *Cutover) Undo(ctx context.Context) error {
	if err := c.awaitTable(ctx, c.Settings.Patience); err != nil {
		return err
	}
	decided, err := c.decided(ctx)
	if err != nil {
		return err
	}
	back := &Cutover{Swing: c.Swing, Step: "undo " + c.Step, From: c.To, To: c.From, Replication: c.Replication, Bar: c.Bar}
	if !decided {
		// To has never taken a write, or takes none any more.
		served, err := c.isNamed(ctx, c.To)
		if err != nil {
			return err
		}
		if served {
			return back.finish(ctx)
		}
		return c.backOut(ctx)
	}
	// The old server may not follow yet, if this was cut short.
	if err := c.finish(ctx); err != nil {
		return err
	}
	return back.Run(ctx)
}

// decided reads from the servers, not from what we remember, whether there is
// a way back: the server that takes writes is the one whose history counts.
func (c *Cutover) decided(ctx context.Context) (bool, error) {
	holder, err := c.holder(ctx)
	return holder == c.To, err
}

// holder is the server whose history counts.
func (c *Cutover) holder(ctx context.Context) (*mysql.Server, error) {
	named, other := c.From, c.To
	toNamed, err := c.isNamed(ctx, c.To)
	if err != nil {
		return nil, err
	}
	if toNamed {
		named, other = c.To, c.From
	}
	namedClosed, err := named.IsReadOnly(ctx)
	if err != nil {
		return nil, err
	}
	otherClosed, err := other.IsReadOnly(ctx)
	if err != nil && !namedClosed {
		return named, nil // it serves, and the other is down
	}
	if err != nil {
		return nil, err
	}
	if otherClosed {
		return named, nil
	}
	has, err := named.BinlogPosition(ctx)
	if err != nil {
		return nil, err
	}
	otherHas, err := other.BinlogPosition(ctx)
	if err != nil {
		return nil, err
	}
	if namedClosed && otherHas.Reached(has) {
		return other, nil // opened, and not yet named
	}
	if !has.Reached(otherHas) {
		return nil, &farm.Error{Op: c.Step, Subject: string(other.Name()),
			Err: fmt.Errorf("%w: it takes writes that %s, which routing names, does not have (%s, %s)",
				farm.ErrOutcomeUnknown, named.Name(), otherHas, has),
			Hint: "find out who wrote them: docs/guide/switchover.md; nothing has been changed"}
	}
	return named, c.Swing.fence(ctx, other) // it takes writes by mistake, and has got none
}

// isNamed reports whether routing sends the clients to the server.
func (c *Cutover) isNamed(ctx context.Context, server *mysql.Server) (bool, error) {
	p, err := c.pair(ctx)
	if err != nil {
		return false, err
	}
	is := p.Sides[c.Side].Address
	if is != c.From.Address() && is != c.To.Address() {
		return false, &farm.Error{Op: c.Step, Subject: string(c.Pair), Err: fmt.Errorf("%w: routing sends its clients to %s, not to %s or %s",
			farm.ErrRefused, is, c.From.Address(), c.To.Address()), Hint: "find out who changed routing during the move"}
	}
	return is == server.Address(), nil
}

func (c *Cutover) pair(ctx context.Context) (*route.Pair, error) {
	t, err := c.Router.Read(ctx)
	if err != nil {
		return nil, err
	}
	p, ok := t.Pairs[c.Pair]
	if !ok {
		return nil, &farm.Error{Op: "read routing", Subject: string(c.Pair), Err: fmt.Errorf("%w: no such pair", farm.ErrInput)}
	}
	if p.GateIsClosed(c.Side) && c.closedAt.IsZero() {
		c.closedAt, c.found = t.Written, true // by an attempt that was killed
	}
	return p, nil
}

// handOver is everything that can be taken back.
func (c *Cutover) handOver(ctx context.Context) error {
	return Handover{
		Within: c.within, Ready: c.near, Hold: c.limit(),
		Phases: []Phase{{Name: "close", Do: c.closeGates}, {Name: "drain", Do: c.drainAll}, {Name: "fence", Do: c.fenceFrom}, {Name: "kill", Do: c.kill},
			{Name: "lock", Do: c.lockFrom}, {Name: "position", Do: c.position}, {Name: "barrier", Do: c.barrier}},
		Back: func(ctx context.Context, _ error) error { return c.backOut(ctx) },
	}.Run(ctx)
}

// finish goes forward only, and may be begun again at any point.
func (c *Cutover) finish(ctx context.Context) error {
	return Handover{Within: c.within, Phases: []Phase{{Name: "open", Do: c.openTo}, {Name: "flip", Do: c.flipTo},
		{Name: "unlock", Do: c.unlock}, {Name: "release", Do: c.release}}}.Run(ctx)
}

func (c *Cutover) within(ctx context.Context, name string, do func(context.Context) error) error {
	return c.Phase(ctx, c.Step, name, do)
}

// near waits with the gate open until nothing is in sight that would keep it
// closed for long: the next server follows and is within moments, and no long
// transaction is open. Where that is not so, clients notice nothing.
func (c *Cutover) near(ctx context.Context) error {
	if c.Lasting != nil { // an attempt that was killed may have left it otherwise
		if err := c.Lasting.Fenced(ctx, c.To); err != nil {
			return err
		}
	}
	if err := c.From.EndOrphanedLock(ctx); err != nil {
		return err
	}
	p, err := c.From.Privileged(ctx, c.Replication.User)
	if err != nil {
		return err
	}
	for _, account := range p.Bar {
		if !contains(c.Bar, account) {
			return &farm.Error{Op: c.Step, Subject: string(c.From.Name()),
				Err:  fmt.Errorf("%w: account %s has got READ ONLY ADMIN since the move began", farm.ErrRefused, account),
				Hint: "revoke it, or start the move again; clients were not held"}
		}
	}
	c.users = p.Users
	if err := c.writers().AwaitNoLongWork(ctx, c.Settings, c.waiting); err != nil {
		return err
	}
	if err := c.To.Follow(ctx, c.From.Address(), c.Replication, 30*time.Second); err != nil {
		return err
	}
	for range 20 {
		goal, err := c.From.BinlogPosition(ctx)
		if err != nil {
			return err
		}
		asked := time.Now()
		if err := c.To.WaitFor(ctx, goal, behindTime); err != nil {
			return &farm.Error{Op: c.Step, Subject: string(c.To.Name()), Err: err,
				Hint: "nothing has been held; it is tried again when the new instance has caught up"}
		}
		if time.Since(asked) < nearEnough {
			return nil
		}
		c.tell(farm.StepWaiting, "ready", fmt.Sprintf("%s is %v behind", c.To.Name(), time.Since(asked).Round(time.Millisecond)), 0)
	}
	return &farm.Error{Op: c.Step, Subject: string(c.To.Name()), Err: fmt.Errorf("%w: it stays more than %v behind", mysql.ErrBehind, nearEnough),
		Hint: "clients were not held; it follows too slowly for the present writes"}
}

func contains(all []mysql.Grantee, one mysql.Grantee) bool {
	for _, g := range all {
		if g == one {
			return true
		}
	}
	return false
}

// closeGates closes the gate. From here on clients wait.
func (c *Cutover) closeGates(ctx context.Context) error {
	if c.found { // they wait already, since then
		return nil
	}
	return c.closeGate(ctx)
}

// writers are the clients of the pair; the server serves nobody else.
func (c *Cutover) writers() Clients {
	return Clients{On: []*mysql.Server{c.From}, Subject: string(c.From.Name())}
}

// drainAll waits until the work that was open when the gate closed has ended:
// read_only would make its COMMIT fail.
func (c *Cutover) drainAll(ctx context.Context) error { return c.drain(ctx, c.writers(), c.settle()) }

// settle is how long a client may come after its look. A swing waits longer,
// for there a late write is taken by the other side; here it meets the fence
// and is run again.
func (c *Cutover) settle() time.Duration {
	return max(lateClient, c.Router.Guarantee().Settle-(route.DefaultGoodFor+30*time.Millisecond)+lateClient)
}

// fenceFrom stops everybody whom read_only stops, the scheduler, and new
// sessions of those whom it does not stop; for a server that dies now and
// starts again, too.
func (c *Cutover) fenceFrom(ctx context.Context) error {
	if err := c.From.Bar(ctx, c.Bar, true); err != nil {
		return err
	}
	return c.Swing.fence(ctx, c.From)
}

// kill ends the sessions that read_only does not stop.
func (c *Cutover) kill(ctx context.Context) error {
	n, err := c.From.EndSessionsOf(ctx, c.users, killTime)
	if err == nil && n > 0 {
		c.tell(farm.StepProgress, "kill", fmt.Sprintf("ended %s of accounts that read_only does not stop", farm.Counted(n, "session")), 0)
	}
	return err
}

// lockFrom stops what is left: a session that was killed in the middle of a
// commit finishes it before, or never.
func (c *Cutover) lockFrom(ctx context.Context) error {
	lock, err := c.From.LockWrites(ctx, lockTime, lockLife)
	if err != nil {
		return err
	}
	c.lock = lock
	return nil
}

// position is read behind the lock: nothing is written after it.
func (c *Cutover) position(ctx context.Context) error {
	at, err := c.lock.Position(ctx)
	c.goal = at
	return err
}

// barrier waits until the next server has everything, and makes sure that
// nothing came after it: a lock whose session was lost is no lock.
func (c *Cutover) barrier(ctx context.Context) error {
	if err := c.To.WaitFor(ctx, c.goal, behindTime); err != nil {
		return err
	}
	now, err := c.lock.Position(ctx)
	if err != nil {
		return err
	}
	if !now.Equal(c.goal) {
		return &farm.Error{Op: "catch up", Subject: string(c.From.Name()), Err: fmt.Errorf("it wrote up to %s behind its own lock, which was at %s", now, c.goal)}
	}
	return nil
}

// openTo ends the next server's replication, notes where its own history
// begins, and lets it take writes: the point of decision.
func (c *Cutover) openTo(ctx context.Context) error {
	c.opened = true
	r, err := c.To.Replication(ctx)
	if err != nil {
		return err
	}
	if r.Configured && (r.IO != "No" || r.SQL != "No") {
		if err := c.To.StopReplicating(ctx); err != nil {
			return err
		}
	}
	begins, err := c.To.BinlogPosition(ctx)
	if err != nil {
		return err
	}
	if err := c.Swing.open(ctx, c.To); err != nil {
		return err
	}
	c.tell(farm.StepProgress, "open", fmt.Sprintf("%s takes writes from %s on", c.To.Name(), begins), 0)
	if err := c.To.Bar(ctx, c.Bar, false); err != nil {
		return err
	}
	return c.restoreScheduler(ctx, c.To)
}

// flipTo names the next server and lets the clients go.
func (c *Cutover) flipTo(ctx context.Context) error {
	was := false
	err := c.Router.Change(ctx, c.Pair, func(p *route.Pair) error {
		was = p.GateIsClosed(c.Side)
		p.Serve(c.Side, c.Side, c.To.Address(), 100)
		p.OpenGate(c.Side)
		return nil
	})
	if err == nil && was {
		c.tellOpen(fmt.Sprintf("served by %s", c.To.Name()))
	}
	return err
}

// unlock turns the old server into a replica of the next: the way back. A
// commit that waits behind the lock fails when it is released, because
// read_only is ON, and is made sure to be ON, before.
func (c *Cutover) unlock(ctx context.Context) error {
	if err := c.Swing.fence(ctx, c.From); err != nil {
		return err
	}
	if err := c.lock.Release(ctx); err != nil {
		return err
	}
	if err := c.From.EndOrphanedLock(ctx); err != nil {
		return err
	}
	if err := c.From.Bar(ctx, c.Bar, true); err != nil { // it would wait behind the lock
		return err
	}
	if err := c.To.ForgetSource(ctx); err != nil {
		return err
	}
	if c.Held {
		return c.From.DemoteHeld(ctx, c.To.Address(), c.Replication, 30*time.Second)
	}
	return c.From.Demote(ctx, c.To.Address(), c.Replication, 30*time.Second)
}

// release reads back that nobody is held and that there is a way back.
func (c *Cutover) release(ctx context.Context) error {
	p, err := c.pair(ctx)
	if err != nil {
		return err
	}
	if p.GateIsClosed(c.Side) || p.Sides[c.Side].Address != c.To.Address() {
		return &farm.Error{Op: c.Step, Subject: string(c.Pair), Err: errors.New("routing does not show what was decided"), Hint: "find out who changed routing"}
	}
	closed, err := c.To.IsReadOnly(ctx)
	if err == nil && closed {
		err = &farm.Error{Op: c.Step, Subject: string(c.To.Name()), Err: errors.New("it refuses writes, and serves")}
	}
	if err != nil || c.Held {
		return err
	}
	return c.checkReplication(ctx, c.From, c.To)
}

// backOut takes back what was done before the decision: the server takes
// writes again, then the lock goes, and the clients.
func (c *Cutover) backOut(ctx context.Context) error {
	ctx, cancel := c.persist(ctx)
	defer cancel()
	if decided, err := c.decided(ctx); err == nil && decided {
		return nil // it failed behind the point of decision; the next attempt goes on
	}
	if c.opened {
		// Whether To was opened is not known: it must not be, before From is.
		if err := c.Swing.fence(ctx, c.To); err != nil {
			return fmt.Errorf("%w: %w", farm.ErrOutcomeUnknown, err)
		}
	} else if c.Lasting != nil {
		if err := c.Lasting.Fenced(ctx, c.To); err != nil {
			return fmt.Errorf("%w: %w", farm.ErrOutcomeUnknown, err)
		}
	}
	// Opened first, so that commits which wait behind the lock succeed. When
	// that fails, reopen does not give up so soon.
	_ = c.From.SetReadOnly(ctx, false)
	_ = c.lock.Release(ctx) // whatever becomes of the session: it is ended below
	_ = c.From.EndOrphanedLock(ctx)
	if err := c.reopen(ctx, c.From); err != nil {
		return fmt.Errorf("%w: %w", farm.ErrOutcomeUnknown, err)
	}
	err := c.openGate(ctx, "backed out")
	c.closedAt, c.found = time.Time{}, false
	// After the gate: the server may be down, and its clients' way must not
	// wait for accounts that few of them use.
	if err := errors.Join(err, c.From.Bar(ctx, c.Bar, false)); err != nil {
		return err
	}
	_ = c.To.Follow(ctx, c.From.Address(), c.Replication, 10*time.Second) // the next attempt needs it, and asks again
	return nil
}
