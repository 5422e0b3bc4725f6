package move

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"stowage/farm"
	"stowage/host"
	"stowage/mysql"
)

func isBehind(err error) bool { return errors.Is(err, mysql.ErrBehind) }

func poolFile(i host.Instance) string { return filepath.Join(i.Datadir, mysql.PoolFile) }

// dataFile reads a file of the twin: of the others no step wants one.
func (r *replacement) dataFile(ctx context.Context, of *mysql.Server, name string) ([]byte, error) {
	if of != r.Twin {
		return nil, fmt.Errorf("%w: %s of %s", farm.ErrInput, name, of.Name())
	}
	return r.twinHost.ReadFile(ctx, filepath.Join(r.twin.Datadir, name))
}

// rewire makes the twin replicate from the new instance. It comes before the
// new instance's first write: a write that the twin has not been pointed at
// yet would be asked for later, when the binary log no longer connects.
func (r *replacement) rewire(ctx context.Context) error {
	if err := r.Await(ctx, r.Settings.Answer, r.Twin, r.Leaves, r.Returns); err != nil {
		return err
	}
	now, err := r.Twin.Replication(ctx)
	if err != nil {
		return err
	}
	if now.Follows(r.Returns.Address()) && now.Running() {
		return nil
	}
	if err := r.rejoin(ctx); err != nil { // it may have been restarted since it was compared
		return err
	}
	err = r.Phase(ctx, "rewire", "wait", func(ctx context.Context) error {
		return r.bringUp(ctx, r.Leaves, r.Returns)
	})
	if err != nil {
		return err
	}
	return r.Phase(ctx, "rewire", "repoint", func(ctx context.Context) error {
		return r.Repoint(ctx, r.Returns, r.mover.Replication)
	})
}

// unwire points the twin back at the old instance, which has followed it all
// the time and so has whatever was written meanwhile, on either side.
func (r *replacement) unwire(ctx context.Context) error {
	if err := r.Await(ctx, r.Settings.Patience, r.Twin, r.Leaves); err != nil {
		return err
	}
	now, err := r.Twin.Replication(ctx)
	if err != nil {
		return err
	}
	if now.Follows(r.Leaves.Address()) && now.Running() {
		return nil
	}
	return r.Repoint(ctx, r.Leaves, r.mover.Replication)
}

// bringUp waits until `to` has everything that `from` has.
func (r *replacement) bringUp(ctx context.Context, from, to *mysql.Server) error {
	goal, err := from.BinlogPosition(ctx)
	if err != nil {
		return err
	}
	return to.WaitFor(ctx, goal, r.Settings.CatchUp)
}

// retire ends the old instance. Its files stay where they are: they are the
// owner's to delete, and to open again (host.Host.Retire).
func (r *replacement) retire(ctx context.Context) error {
	if err := r.mayRetire(ctx); err != nil {
		return err
	}
	to := r.order.Move.To
	for _, p := range []struct {
		name string
		do   func(context.Context) error
	}{
		{"settle", r.settleConfig},
		{"record", func(context.Context) error {
			return r.mover.awaitFarm(ctx, r.Report, func() error {
				return r.mover.record(r.Pair, r.Side, farm.Side{Host: to.Host, Port: to.Port, Datadir: to.Datadir, Config: to.Config})
			})
		}},
		{"stop", r.stopOld},
	} {
		if err := r.Phase(ctx, "retire", p.name, p.do); err != nil {
			return err
		}
	}
	return nil
}

// mayRetire reads back, from routing and from the twin, that nobody needs the
// old instance any more.
func (r *replacement) mayRetire(ctx context.Context) error {
	t, err := r.Routing(ctx)
	if err != nil {
		return err
	}
	p, ok := t.Pairs[r.Pair]
	if !ok || p.Share(r.Side, r.Side) < 100 || p.Sides[r.Side].Address != r.Returns.Address() {
		return &farm.Error{Op: "retire", Subject: string(r.old.Name),
			Err: errors.New("routing does not show the new instance for the whole side"), Hint: "find out who changed routing during the move"}
	}
	now, err := r.Twin.Replication(ctx)
	if err != nil {
		return err
	}
	if !now.Follows(r.Returns.Address()) {
		return &farm.Error{Op: "retire", Subject: string(r.old.Name), Err: errors.New("the twin does not replicate from the new instance")}
	}
	if pid, err := r.oldHost.Running(ctx, r.old); err != nil || pid == 0 {
		return err // asked before; retired already, or dead
	}
	return r.CheckStrays(ctx)
}

func (r *replacement) stopOld(ctx context.Context) error {
	pid, err := r.oldHost.Running(ctx, r.old)
	if err != nil {
		return err
	}
	if pid != 0 {
		r.awaitNoClients(ctx, 2*time.Second)
		if err := r.Leaves.ForgetSource(ctx); err != nil {
			return err
		}
	}
	to := r.order.Move.To
	is, err := r.oldHost.Retire(ctx, r.old, 10*time.Minute,
		fmt.Sprintf("Stowage moved %s of %s to port %d of host %s.", r.old.Name, r.Pair, to.Port, to.Host))
	if err != nil {
		return err
	}
	return r.releaseOptions(ctx, is)
}

// releaseOptions takes the fence of an old instance that cannot be started any
// more out of its option file: the file is its owner's, and may be others' too.
// Where the instance can be started, the fence stays, and it is said.
func (r *replacement) releaseOptions(ctx context.Context, is host.Retired) error {
	if is.Closed {
		return r.mover.edited.Edit(ctx, r.oldHost, r.old, func(text string) string { return host.UnfenceOptions(r.old, text) })
	}
	if is.Why != "" {
		r.Report(farm.Event{Kind: farm.StepProgress, Text: fmt.Sprintf("%s keeps its fence in %s, so that it takes no writes when it is started by mistake: %s", r.old.Name, r.old.Config, is.Why)})
	}
	return nil
}

// awaitNoClients gives clients that keep idle connections a moment to notice
// the new address. One that does not gets a closed connection it no longer
// has a use for.
func (r *replacement) awaitNoClients(ctx context.Context, budget time.Duration) {
	for deadline := time.Now().Add(budget); time.Now().Before(deadline) && ctx.Err() == nil; {
		n, err := r.Leaves.Clients(ctx)
		if err != nil || n == 0 {
			return
		}
		r.Report(farm.Event{Kind: farm.StepWaiting, Text: "clients still hold idle connections to the old instance"})
		time.Sleep(100 * time.Millisecond)
	}
}
