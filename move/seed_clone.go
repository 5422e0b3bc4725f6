package move

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"stowage/farm"
	"stowage/fresh"
	"stowage/host"
	"stowage/mysql"
)

// startFresh bounds the start of a server that has nothing to recover.
const startFresh = 10 * time.Minute

// seedByClone makes a new, empty server and lets it become a copy of the twin
// by itself, with MySQL's clone plugin: the bytes go from server to server. The
// server ends when it is done, and is started again as the copy; what it then
// says of itself decides whether there is one. A clone that was cut short is
// begun anew: nothing of it can be used.
func (r *replacement) seedByClone(ctx context.Context) error {
	founder, ok := r.freshHost.(host.Founder)
	if !ok {
		return &farm.Error{Op: "seed", Subject: string(r.order.Move.To.Host), Err: fmt.Errorf("%w: nothing there can make an empty instance", farm.ErrRefused)}
	}
	if err := r.stopHalfSeeded(ctx); err != nil {
		return err
	}
	if err := r.freshHost.Wipe(ctx, r.fresh, r.owner()); err != nil {
		return err
	}
	if err := r.writeConfig(ctx); err != nil {
		return err
	}
	as := r.newcomer()
	if err := founder.Found(ctx, r.fresh, freshSetup(as)); err != nil {
		return err
	}
	if err := r.freshHost.Start(ctx, r.fresh, startFresh); err != nil {
		return err
	}
	empty := mysql.Open(r.Returns.Name(), r.fresh.Dial(), as, r.mover.Log)
	defer empty.Close()
	if err := fresh.Check(ctx, empty, r.fresh, r.order.Move.ServerID); err != nil {
		return err
	}
	n := note{From: string(r.order.TwinInstance)}
	var err error
	if n.Bytes, err = r.clone(ctx, empty); err != nil {
		return err
	}
	if err := r.awaitEnd(ctx, 5*time.Minute); err != nil {
		return err
	}
	if err := r.freshHost.Start(ctx, r.fresh, startFresh); err != nil {
		return err
	}
	at, err := r.Returns.Cloned(ctx, r.Twin.Address())
	if err != nil {
		return err
	}
	n.Position = at.String()
	return r.writeNote(ctx, n)
}

// newcomer is the account of the empty server, until it is a copy and has the
// twin's. Root on its host reads the password in the server's first statements:
// it is the one that the statement which clones shows him anyway.
func (r *replacement) newcomer() mysql.Account {
	as, own := r.mover.Backup.At(r.Twin.Address()), r.mover.Admin.At(r.fresh.Dial())
	as.TLS, as.PublicKey = own.TLS, own.PublicKey
	return as
}

func freshSetup(as mysql.Account) []byte {
	return []byte(strings.Join(mysql.FreshStatements(as), ";\n") + ";\n")
}

// clone lets the new server, which is empty, clone the twin, no faster than the
// throttle lets it, and reports how far it is.
func (r *replacement) clone(ctx context.Context, empty *mysql.Server) (int64, error) {
	pace, done := r.mover.Throttle.Begin(ctx, []*mysql.Server{r.Twin, r.Leaves}, r.order.Move.To.Host, r.order.Twin.Host)
	defer done()
	var copied atomic.Int64
	limit := host.Copy{Rate: pace.Rate, Moved: pace.Moved}
	watched := limit.Watch(ctx, copied.Load, func(rate int64) {
		// The server may be gone because the clone has ended: then it says so itself.
		if err := empty.LimitClone(ctx, rate); err != nil && ctx.Err() == nil {
			r.mover.Log.Warn("the rate of a clone could not be set", "server", r.fresh.Name, "bytes_per_second", rate, "error", err)
		}
	})
	defer watched()
	err := empty.Clone(ctx, r.Twin.Address(), r.mover.Backup, func(done, total int64) {
		copied.Store(done)
		r.Report(farm.Event{Kind: farm.StepProgress, Text: "cloning from " + string(r.order.TwinInstance) + pace.Slowed(), Bytes: done, Total: total})
	})
	return copied.Load(), err
}

// awaitEnd waits until the new instance's server has ended by itself. One that
// has a supervisor may be up again before we look: then it has another process.
func (r *replacement) awaitEnd(ctx context.Context, budget time.Duration) error {
	first, err := r.freshHost.Running(ctx, r.fresh)
	for deadline := time.Now().Add(budget); err == nil; {
		var pid int
		if pid, err = r.freshHost.Running(ctx, r.fresh); err != nil {
			return err
		}
		if pid == 0 || pid != first {
			return nil
		}
		if _, err := r.Returns.Cloned(ctx, r.Twin.Address()); err == nil {
			return nil // started again between the clone's end and our first look
		}
		if time.Now().After(deadline) {
			return &farm.Error{Op: "seed", Subject: string(r.fresh.Name), Err: errors.New("the server cloned and does not end"), Hint: "read its error log"}
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(50 * time.Millisecond):
		}
	}
	return err
}

// stopHalfSeeded stops the server that a clone needs to run while it is seeded.
// Only one of ours: the directory carries this move's mark. A seed that is
// complete is not touched here; the step start's undo stops its server.
func (r *replacement) stopHalfSeeded(ctx context.Context) error {
	if err := r.freshHost.Claimable(ctx, r.fresh, r.owner()); err != nil {
		return err
	}
	pid, err := r.freshHost.Running(ctx, r.fresh)
	if err != nil || pid == 0 {
		return err
	}
	return r.freshHost.Stop(ctx, r.fresh, 5*time.Minute)
}
