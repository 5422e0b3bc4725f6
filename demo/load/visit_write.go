package load

import (
	"context"
	"fmt"
	"time"
)

// write runs one write transaction to its end: acknowledged, failed, or given
// up because the load ends.
func (v *visit) write(ctx context.Context) {
	for {
		at, ok := v.enter(ctx)
		if !ok {
			v.giveUp(ctx)
			return
		}
		seq, end := v.writeOnce(ctx, at)
		if end == unknown {
			end = v.readBack(ctx, seq)
		}
		if end != again {
			return
		}
		if ctx.Err() != nil {
			v.giveUp(ctx)
			return
		}
	}
}

// writeOnce is one attempt. seq is what it wrote, if it got that far.
func (v *visit) writeOnce(stopping context.Context, at place) (seq int64, end outcome) {
	ctx := context.WithoutCancel(stopping) // Stop lets a transaction finish
	err := v.exec(ctx, at, kindBegin, "START TRANSACTION")
	if err != nil {
		return 0, v.broken(stopping, at, kindBegin.String(), err)
	}
	var n int64
	if err := v.scan(ctx, at, kindCounter, &n, v.counterQuery(), v.name); err != nil {
		return 0, v.broken(stopping, at, kindCounter.String(), err)
	}
	if !v.sameRoute(at) {
		v.rollBack(ctx, at)
		return 0, v.turnedBack()
	}
	v.passed()
	if end := v.checkCounter(ctx, at, n); end != done {
		return 0, end
	}
	seq = n + 1
	listing := 1 + v.rnd.Int64N(max(1, v.load.rows[v.shard]))
	if v.wrote, err = v.insertReceipt(ctx, at, seq, listing, 1+v.rnd.IntN(500)); err != nil {
		return 0, v.broken(stopping, at, kindInsert.String(), err)
	}
	if err := v.exec(ctx, at, kindUpdate, fmt.Sprintf("UPDATE `%s`.counters SET n = n + 1 WHERE client = ?", v.shard), v.name); err != nil {
		return 0, v.broken(stopping, at, kindUpdate.String(), err)
	}
	return seq, v.commit(stopping, at, seq)
}

func (v *visit) counterQuery() string {
	return fmt.Sprintf("SELECT n FROM `%s`.counters WHERE client = ? FOR UPDATE", v.shard)
}

// checkCounter compares the counter with what this client was last
// acknowledged. On its first visit the database may be ahead: a run that was
// killed may have committed a write it did not live to record. Later nobody
// but this client writes the row, so ahead is a failure too.
func (v *visit) checkCounter(ctx context.Context, at place, n int64) outcome {
	last := v.acked[v.shard]
	switch {
	case n < last:
		// Not written on: a write on top of an old row would hide the damage
		// behind more of it.
		v.sawStale(at, kindCounter.String(), n)
		v.rollBack(ctx, at)
		return failed
	case n > last && v.visited[v.shard]:
		v.fail(at.address, kindCounter.String(), fmt.Errorf("counter is %d and only %d was acknowledged", n, last))
		v.acked[v.shard] = n
		v.rollBack(ctx, at)
		return failed
	}
	v.acked[v.shard] = n
	v.visited[v.shard] = true
	return done
}

func (v *visit) commit(stopping context.Context, at place, seq int64) outcome {
	err := v.exec(context.WithoutCancel(stopping), at, kindCommit, "COMMIT")
	switch {
	case err == nil:
		v.acknowledge(at, seq)
		return done
	case isReadOnly(err):
		return v.broken(stopping, at, kindCommit.String(), err)
	case !isLost(err):
		v.fail(at.address, kindCommit.String(), err)
	}
	v.disconnect(v.pair)
	return unknown
}

// acknowledge puts a write into the ledger, before anything else is done.
func (v *visit) acknowledge(at place, seq int64) {
	v.acked[v.shard] = seq
	err := v.ledger.append(entry{client: v.name, shard: v.shard, seq: seq, side: at.route.Side, address: at.address, at: time.Now()})
	if err != nil {
		v.fail(at.address, "write ledger", err) // the evidence is incomplete: not a clean run
	}
	v.load.tally.count(func(s *Summary) {
		s.Acknowledged++
		if v.wrote {
			s.WithColumn++
		}
	})
}

// readBack finds out whether a commit that was not answered happened, through
// current routing, for as long as it takes. The lock on the counter waits for
// the transaction in question, should the server still be working on it.
func (v *visit) readBack(stopping context.Context, seq int64) outcome {
	ctx := context.WithoutCancel(stopping)
	v.disturbed, v.answered = true, false // the wait for this answer is a pause too
	for stopping.Err() == nil {
		at, ok := v.enter(stopping)
		if !ok {
			pause(stopping, 50*time.Millisecond) // the load ends, or a login was refused
			continue
		}
		applied, end := v.wasApplied(stopping, at, seq)
		switch {
		case end == failed:
			pause(stopping, 10*time.Millisecond) // counted; and still unknown
		case end == done:
			v.passed()
			v.load.tally.count(func(s *Summary) { s.UnknownResolved++ })
			v.rollBack(ctx, at)
			if !applied {
				return again
			}
			v.acknowledge(at, seq)
			return done
		}
	}
	v.load.tally.count(func(s *Summary) { s.UnknownLeft++ })
	// The next run starts from the database, whatever it holds.
	return failed
}

func (v *visit) wasApplied(stopping context.Context, at place, seq int64) (applied bool, end outcome) {
	ctx := context.WithoutCancel(stopping)
	if err := v.exec(ctx, at, kindBegin, "START TRANSACTION"); err != nil {
		return false, v.broken(stopping, at, kindBegin.String(), err)
	}
	var n, receipts int64
	if err := v.scan(ctx, at, kindCounter, &n, v.counterQuery(), v.name); err != nil {
		return false, v.broken(stopping, at, kindCounter.String(), err)
	}
	if !v.sameRoute(at) {
		v.rollBack(ctx, at)
		return false, v.turnedBack()
	}
	query := fmt.Sprintf("SELECT COUNT(*) FROM `%s`.receipts WHERE client = ? AND seq = ?", v.shard)
	if err := v.scan(ctx, at, kindReadBack, &receipts, query, v.name, seq); err != nil {
		return false, v.broken(stopping, at, kindReadBack.String(), err)
	}
	return receipts > 0, done
}
