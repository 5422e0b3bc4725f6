package load

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"stowage/farm"
	"stowage/route"
)

// visit is one transaction of a client, through all its attempts.
type visit struct {
	*client
	stop
	wanted    time.Time
	gate      time.Duration // waited at closed gates
	atGate    bool
	disturbed bool // met a gate, a roll-back, a retry or a new connection
	answered  bool // the pause, if any, has been recorded
	attempts  int  // that failed under rule 5
	wrote     bool // the last attempt wrote Options.Column
}

// place is where an attempt goes: the numbers of the rules are those of
// docs/reference/routing.md.
type place struct {
	*link
	pair       farm.PairName
	route      route.Route
	generation int64 // of the routing that said so
}

// outcome of one attempt.
type outcome string

const (
	done    outcome = "done"
	again   outcome = "again"   // nothing was applied: back to rule 1
	failed  outcome = "failed"  // counted; the transaction is given up
	unknown outcome = "unknown" // COMMIT was sent and not answered
)

// stale is the age at which a look must be renewed.
const stale = 20 * time.Millisecond

// enter follows rules 1 to 3: look, wait for an open gate, connect. False:
// the load ended, or the server refused the login (counted as failed).
func (v *visit) enter(ctx context.Context) (place, bool) {
	for {
		looked, generation := time.Now(), v.load.follow.Table().Generation
		pair, r, address, ok := v.load.follow.LookupShard(v.shard, v.name)
		if ok {
			v.pair = pair // a shard may have gone to another
		}
		if !ok || r.Gate != route.Open {
			v.atGate, v.disturbed = true, true
			pause(ctx, 2*time.Millisecond)
			v.gate += time.Since(looked)
			if ctx.Err() != nil {
				return place{}, false
			}
			continue
		}
		k, fresh, err := v.connect(ctx, v.pair, address)
		v.disturbed = v.disturbed || fresh
		switch {
		case err != nil && isLost(err):
			v.retry(ctx, address, "connect", err)
			if ctx.Err() != nil {
				return place{}, false
			}
		case err != nil:
			v.fail(address, "connect", err)
			return place{}, false
		case time.Since(looked) <= stale:
			return place{link: k, pair: pair, route: r, generation: generation}, true
		}
	}
}

// sameRoute is the second look, rule 4.
func (v *visit) sameRoute(at place) bool {
	pair, r, address, ok := v.load.follow.LookupShard(v.shard, v.name)
	return ok && pair == at.pair && r.Gate == at.route.Gate && r.Side == at.route.Side && address == at.address
}

// timed runs one query and keeps its sample. A query that failed has no
// latency: it is counted elsewhere.
func (v *visit) timed(k kind, query func() error) error {
	start := time.Now()
	err := query()
	if err == nil {
		v.samples.add(sample{at: start, micros: micros(time.Since(start)), gate: micros(v.gate), kind: k, pair: v.load.numbers[v.pair]})
	}
	return err
}

func (v *visit) exec(ctx context.Context, at place, k kind, query string, args ...any) error {
	return v.timed(k, func() error {
		_, err := at.conn.ExecContext(ctx, query, args...)
		return err
	})
}

func (v *visit) scan(ctx context.Context, at place, k kind, into any, query string, args ...any) error {
	return v.timed(k, func() error { return at.conn.QueryRowContext(ctx, query, args...).Scan(into) })
}

// passed records the pause of a disturbed visit, once, when the first
// statement of the attempt that may go on has been answered.
func (v *visit) passed() {
	if v.answered {
		return
	}
	v.answered = true
	if v.atGate {
		v.load.tally.count(func(s *Summary) { s.waited(v.shard) })
	}
	if v.disturbed {
		d := time.Since(v.wanted)
		v.load.tally.pause(d)
		v.samples.add(sample{at: v.wanted, micros: micros(d), gate: micros(v.gate), kind: kindPause, pair: v.load.numbers[v.pair]})
	}
}

// rollBack takes an attempt back. A connection that cannot even do that is
// dropped, which comes to the same on the server.
func (v *visit) rollBack(ctx context.Context, at place) {
	if _, err := at.conn.ExecContext(ctx, "ROLLBACK"); err != nil {
		v.disconnect(v.pair)
	}
}

// turnedBack counts an attempt that rule 4 took back.
func (v *visit) turnedBack() outcome {
	v.disturbed = true
	v.load.tally.count(func(s *Summary) { s.RolledBack++ })
	return again
}

// broken sorts an error that came before COMMIT: rule 5 or a failure.
func (v *visit) broken(ctx context.Context, at place, statement string, err error) outcome {
	if isLost(err) {
		v.disconnect(v.pair)
	} else {
		v.rollBack(context.WithoutCancel(ctx), at)
	}
	if isLost(err) || isReadOnly(err) || isNotHere(err) && v.load.follow.Table().Generation != at.generation {
		v.retry(ctx, at.address, statement, err)
		return again
	}
	v.fail(at.address, statement, err)
	return failed
}

// retry counts one attempt under rule 5 and waits a little, so that a side
// that is gone is not hammered.
func (v *visit) retry(ctx context.Context, address, statement string, err error) {
	v.disturbed = true
	v.attempts++
	f := v.failure(address, statement, err)
	v.load.tally.count(func(s *Summary) { s.Retried++; s.Retries = keep(s.Retries, f) })
	v.load.o.Log.Debug("query retried", "client", v.name, "pair", v.pair, "address", address, "statement", statement, "error", err)
	pause(ctx, min(time.Duration(v.attempts)*2*time.Millisecond, 100*time.Millisecond))
}

func (v *visit) fail(address, statement string, err error) {
	v.load.tally.fail(v.failure(address, statement, err))
	v.load.o.Log.Error("query failed", "client", v.name, "pair", v.pair, "shard", v.shard, "address", address, "statement", statement, "error", err)
}

func (t *tally) fail(f Failure) {
	t.count(func(s *Summary) { s.Failed++; s.Failures = keep(s.Failures, f) })
}

func (v *visit) failure(address, statement string, err error) Failure {
	return Failure{Time: time.Now().UTC(), Client: v.name, Pair: v.pair, Shard: v.shard,
		Address: address, Statement: statement, Error: err.Error()}
}

// sawStale counts a read that misses this client's own acknowledged write.
func (v *visit) sawStale(at place, statement string, saw int64) {
	f := v.failure(at.address, statement, fmt.Errorf("saw %d after %d was acknowledged", saw, v.acked[v.shard]))
	v.load.tally.count(func(s *Summary) { s.StaleReads++; s.Stale = keep(s.Stale, f) })
	v.load.o.Log.Error("stale read", "client", v.name, "pair", v.pair, "shard", v.shard, "address", at.address, "saw", saw, "acknowledged", v.acked[v.shard])
}

// read runs one query outside a transaction. It must see the client's own
// writes, so it follows the rules of a transaction; its answer is not used
// when the second look finds another route.
func (v *visit) read(ctx context.Context, k kind) {
	for {
		at, ok := v.enter(ctx)
		if !ok {
			v.giveUp(ctx)
			return
		}
		switch v.readOnce(context.WithoutCancel(ctx), at, k) {
		case done:
			v.load.tally.count(func(s *Summary) { s.Reads++ })
			return
		case failed:
			return
		}
		if ctx.Err() != nil {
			v.giveUp(ctx)
			return
		}
	}
}

func (v *visit) readOnce(ctx context.Context, at place, k kind) outcome {
	rows := v.load.rows[v.shard]
	var err error
	var seq int64
	switch k {
	case kindListing:
		var body string
		err = v.scan(ctx, at, k, &body, fmt.Sprintf("SELECT body FROM `%s`.listings WHERE id = ?", v.shard), 1+v.rnd.Int64N(max(1, rows)))
		if rows == 0 && errors.Is(err, sql.ErrNoRows) {
			err = nil
		}
	case kindListings:
		err = v.timed(k, func() error { return v.listings(ctx, at, 1+v.rnd.Int64N(users(rows))) })
	case kindReceipt:
		err = v.scan(ctx, at, k, &seq, fmt.Sprintf("SELECT COALESCE(MAX(seq), 0) FROM `%s`.receipts WHERE client = ?", v.shard), v.name)
	}
	if err != nil {
		return v.broken(ctx, at, k.String(), err)
	}
	if !v.sameRoute(at) {
		return v.turnedBack()
	}
	v.passed()
	if k == kindReceipt && seq < v.acked[v.shard] {
		v.sawStale(at, k.String(), seq)
	}
	return done
}

// listings reads all listings of a user to the last row.
func (v *visit) listings(ctx context.Context, at place, user int64) error {
	rows, err := at.conn.QueryContext(ctx, fmt.Sprintf("SELECT id, title, price FROM `%s`.listings WHERE user_id = ? ORDER BY id LIMIT 20", v.shard), user)
	if err != nil {
		return err
	}
	for rows.Next() {
		var id, price int64
		var title string
		if err := rows.Scan(&id, &title, &price); err != nil {
			return errors.Join(err, rows.Close())
		}
	}
	return errors.Join(rows.Err(), rows.Close())
}

// giveUp counts a transaction that the end of the load cut short before
// anything was applied. A refused login has been counted as failed.
func (v *visit) giveUp(ctx context.Context) {
	if ctx.Err() != nil {
		v.load.tally.count(func(s *Summary) { s.Abandoned++ })
	}
}
