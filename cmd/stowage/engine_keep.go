package main

import (
	"context"
	"errors"
	"sync"
	"time"

	"stowage/engine"
	"stowage/farm"
	"stowage/workspace"
)

// engineKeeper sees to it that an engine listens where agents dial it, for a
// verb that is no act: that of a move in this workspace, for as long as it
// runs, or one of our own. With ours the workspace is locked, so that no move
// begins on an engine that ends with us.
type engineKeeper struct {
	d    *desk
	o    engine.Options
	quit context.CancelFunc
	gone sync.WaitGroup

	release func()
	server  *engine.Server
}

// keepEngine returns when one listens; stop ends ours.
func keepEngine(ctx context.Context, d *desk, o engine.Options) (stop func(), err error) {
	k := &engineKeeper{d: d, o: o}
	const patience = 10 * time.Second // whoever has the workspace may be about to start one
	for end := time.Now().Add(patience); ; {
		if err = k.see(ctx); err == nil {
			break
		}
		var held *workspace.Held
		if !errors.As(err, &held) || ctx.Err() != nil || time.Now().After(end) {
			return nil, err
		}
		time.Sleep(200 * time.Millisecond)
	}
	watching, quit := context.WithCancel(context.WithoutCancel(ctx))
	k.quit = quit
	k.gone.Go(func() { k.watch(watching) })
	return k.close, nil
}

// see starts an engine where none listens.
func (k *engineKeeper) see(ctx context.Context) error {
	address := k.d.farm.Agents.Engine
	if k.server != nil || listens(address) { // ours is started again by itself
		return nil
	}
	release, err := k.d.Lock("calls to agents")
	if err != nil {
		return err
	}
	server, err := engine.Start(ctx, k.o)
	if err != nil {
		release()
		return &farm.Error{Op: "start engine", Subject: address, Err: err, Hint: "agents of farm.yaml names the address it listens on"}
	}
	k.server, k.release = server, release
	return nil
}

// watch takes over from a move that ends while we still need an engine.
func (k *engineKeeper) watch(ctx context.Context) {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for k.server == nil {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		_ = k.see(ctx) // calls wait; it is tried again
	}
}

func (k *engineKeeper) close() {
	k.quit()
	k.gone.Wait()
	if k.server != nil {
		_ = k.server.Close()
		k.release()
	}
}
