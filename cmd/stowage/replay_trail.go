package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"stowage/act"
	"stowage/store"
)

// store.Replay is what replays that write are called among the runs of a store.

// writeDown makes a run of a replay that writes and opens the audit trail for
// it: what is sent under the context that comes back leaves its line first. The
// function ends both, with how the replay ended. Outside of a workspace there is
// no place for a trail, which is said.
func (a *app) writeDown(ctx context.Context, r *ring, given []string) (context.Context, func(error), error) {
	if r.workspace == nil {
		a.say("note: there is no workspace here, so no audit trail is kept")
		return ctx, func(error) {}, nil
	}
	s, err := store.Open(filepath.Join(r.workspace.State(), "stowage.db"))
	if err != nil {
		return ctx, nil, err
	}
	run, err := newReplay(s, r.f.to)
	if err != nil {
		_ = s.Close()
		return ctx, nil, err
	}
	trail, err := s.OpenTrail()
	if err != nil {
		_ = s.Close()
		return ctx, nil, err
	}
	about := store.Deed{Run: run.ID, Who: act.Who()}
	begun := about
	begun.Kind, begun.Text = store.Replay, fmt.Sprintf("%s --to %s --writes --throw-away %s", strings.Join(given, " "), r.f.to, r.f.throwAway)
	trail.Add(begun)
	a.say("%s: stowage log --run %s shows what was sent", run.ID, run.ID)
	return act.WriteDown(ctx, trail, about), func(ended error) {
		if err := trail.Close(); err != nil {
			a.log.Warn("the audit trail has a gap", "error", err)
		}
		run.State, run.Ended = store.Done, time.Now()
		if ended != nil {
			run.State = store.Failed
		}
		if err := s.PutRun(run); err != nil {
			a.log.Warn("how the replay ended is not kept", "run", run.ID, "error", err)
		}
		_ = s.Close()
	}, nil
}

// newReplay makes the next run of its kind.
func newReplay(s *store.Store, to string) (store.Run, error) {
	runs, err := s.Runs(store.Replay)
	if err != nil {
		return store.Run{}, err
	}
	run := store.Run{ID: fmt.Sprintf("%s-%d", store.Replay, len(runs)+1), Kind: store.Replay, Subject: to, State: store.Running, Started: time.Now(), PID: os.Getpid()}
	return run, s.PutRun(run)
}
