package backup

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"stowage/backup/catalogue"
	"stowage/binlog"
	"stowage/farm"
	"stowage/host"
	"stowage/mysql"
)

// stretch is the part of an archive that is replayed.
type stretch struct {
	archive  host.Archivist
	dir      string
	from, to host.Found
}

// stretch finds the backup and the moment that was asked for in an archive of the host that restores. Its error wraps host.ErrNotArchived when one of them is not there.
func (r *restoring) stretch(ctx context.Context, dir string) (s stretch, err error) {
	b := r.order.last()
	s.dir = dir
	var ok bool
	if s.archive, ok = r.host.(host.Archivist); !ok {
		return s, r.refuse("replay", fmt.Errorf("host %s cannot replay binary logs", r.order.On), "is its agent of this version? stowage agent status")
	}
	if s.from, err = s.archive.ArchiveFrom(ctx, s.dir, seedPoint(b), b.GTID); err == nil {
		err = s.upTo(ctx, r.order.Until, b.GTID)
	}
	return s, err
}

// upTo finds the end of the stretch. A server of MySQL may have transactions that its log never had; a copy of it has them, and so they are in every position behind it.
func (s *stretch) upTo(ctx context.Context, until Until, position string) (err error) {
	beyond := host.Beyond(position, s.from.Position)
	if beyond.IsNothing() {
		s.to, err = placeIn(ctx, s.archive, s.dir, until)
		return err
	}
	if until.GTID != "" {
		wanted, err := binlog.ParseState(until.GTID)
		if err != nil {
			return fmt.Errorf("%w: %w", farm.ErrInput, err)
		}
		if until.GTID = wanted.Without(beyond).String(); until.GTID == "" && !wanted.HasAll(beyond.With(logState(s.from))) {
			return fmt.Errorf("%w: %s is from before the backup", host.ErrNotArchived, wanted)
		}
	}
	if s.to = s.from; until != (Until{}) {
		if s.to, err = placeIn(ctx, s.archive, s.dir, until); err != nil {
			return err
		}
	}
	for _, place := range []*host.Found{&s.from, &s.to} {
		place.Position = logState(*place).With(beyond).String()
	}
	return nil
}

func logState(at host.Found) binlog.State {
	s, _ := binlog.ParseState(at.Position) // the archive made it
	return s
}

// seedPoint is where a backup stands in the binary log of its instance.
func seedPoint(b catalogue.Backup) host.SeedPoint {
	return host.SeedPoint{File: b.File, Offset: b.Offset, By: b.At}
}

// mayTakeLive: a backup that no archive goes on from can be compared with the live server, which still has its own binary log.
func (r *restoring) mayTakeLive() bool { return r.live != nil && r.order.Until == (Until{End: true}) }

// replay applies what was written after the backup, up to the moment that was asked for.
func (r *restoring) replay(ctx context.Context) error {
	b := r.order.last()
	if r.order.Until.isBackup() || !b.IsPhysical() { // a logical one follows the live server, of the shards that it has
		return nil
	}
	var s stretch
	dir, err := r.pull(ctx)
	if err == nil {
		s, err = r.stretch(ctx, dir)
	}
	if err != nil && r.mayTakeLive() {
		r.Report(farm.Event{Kind: farm.StepProgress, Text: "no archived binary log continues this backup: the live server's own logs are used"})
		return nil
	}
	if err != nil {
		return r.notThere(err)
	}
	if err := r.applyLogs(ctx, s); err != nil {
		return err
	}
	return r.unpull(ctx, s)
}

// applyLogs brings the instance to the end of a stretch.
func (r *restoring) applyLogs(ctx context.Context, s stretch) error {
	b := r.order.last()
	if isClone(b) {
		return r.relay(ctx, s)
	}
	reached, err := r.reached(ctx, b.GTID)
	if err != nil {
		return err
	}
	as, err := r.mayDoAll(ctx)
	if err != nil {
		return err
	}
	told := time.Time{}
	var at atomic.Int64
	replaying := host.Replaying{
		Archive: s.dir, From: s.from.Mark, To: s.to.Mark, Reached: reached, Instance: r.order.Instance, Login: as,
		Told: func(done, all int64) {
			at.Store(done)
			if time.Since(told) < 250*time.Millisecond {
				return
			}
			told = time.Now()
			r.Report(farm.Event{Kind: farm.StepProgress, Text: "replaying binary logs", Bytes: done, Total: all})
		},
	}
	err = r.withRoom(ctx, &at, func(ctx context.Context) error { return s.archive.Replay(ctx, replaying) })
	if err != nil {
		return r.notThere(err)
	}
	if err := r.server.DropAccount(ctx, replayer); err != nil {
		return err
	}
	return r.stands(ctx, s.to)
}

// notThere makes what the archive does not have a refusal: asking again does not bring it.
func (r *restoring) notThere(err error) error {
	if !errors.Is(err, host.ErrNotArchived) {
		return err
	}
	return r.refuse("replay", err, moreLogs)
}

// moreLogs is what to do about a moment that the archive does not have.
const moreLogs = "archive the newest writes: stowage backup binlogs; stowage backup status says up to when each pair can be restored"

// replayer is an account of the restored instance for the time of the replay. What is in a binary log may be anything: Stowage's own account is not
// allowed to do that, and need not be.
const replayer = "stowage_replay"

// mayDoAll makes that account, with another password each time, while nobody can connect. The binary log of the instance does not know it.
func (r *restoring) mayDoAll(ctx context.Context) (host.Login, error) {
	founder, ok := r.host.(host.Founder)
	if !ok {
		return host.Login{}, r.refuse("replay", fmt.Errorf("host %s cannot set up an instance", r.order.On), "is its agent of this version? stowage agent status")
	}
	password := rand.Text()
	setup := mysql.AllAllowed(replayer, password)
	if err := r.stop(ctx); err != nil {
		return host.Login{}, err
	}
	if err := founder.SetUp(ctx, r.order.Instance, []byte(setup)); err != nil {
		return host.Login{}, err
	}
	return host.Login{User: replayer, Password: password, Address: r.order.Instance.Dial()}, r.start(ctx)
}

// placeIn is where the moment is that was asked for.
func placeIn(ctx context.Context, archive host.Archivist, dir string, until Until) (host.Found, error) {
	switch {
	case until.GTID != "":
		return archive.ArchiveUntil(ctx, dir, until.GTID)
	case !until.Time.IsZero():
		return archive.ArchiveAt(ctx, dir, until.Time)
	}
	state, err := archive.ArchiveState(ctx, dir)
	return host.Found{Mark: state.Last, Position: state.Position, At: state.LastAt}, err
}

// reached is the position of the instance, when no session of an attempt that was killed is left there; "" where nothing was replayed yet.
func (r *restoring) reached(ctx context.Context, begin string) (string, error) {
	for end := time.Now().Add(time.Minute); ; {
		n, err := r.server.Clients(ctx)
		if err != nil {
			return "", err
		}
		if n == 0 {
			break
		}
		if time.Now().After(end) {
			return "", r.refuse("replay", fmt.Errorf("%s connected to an instance that no client should know yet", farm.Counted(n, "client is")), "find that client and stop it, then restore again")
		}
		if err := pause(ctx, 200*time.Millisecond); err != nil {
			return "", err
		}
	}
	at, err := r.server.BinlogPosition(ctx)
	if err != nil {
		return "", err
	}
	first, err := mysql.ParsePosition(begin)
	if err != nil {
		return "", err
	}
	if first.Reached(at) { // it has no more than it began with
		return "", nil
	}
	return at.String(), nil
}

// stands makes sure that the instance is no further than where it was to be brought: that all of it has come is what Replay says.
func (r *restoring) stands(ctx context.Context, to host.Found) error {
	want, err := mysql.ParsePosition(to.Position)
	if err != nil {
		return err
	}
	is, err := r.server.BinlogPosition(ctx)
	if err != nil {
		return err
	}
	if !want.Reached(is) { // what leaves no transaction behind, as a temporary table does, leaves it short of the place
		return r.refuse("replay", fmt.Errorf("it is at %s instead of %s", is, want), "restore again; if this repeats, the archive and the server's own log differ: stowage backup check")
	}
	r.memory.GTID = is.String()
	if !to.At.IsZero() {
		r.memory.At = to.At
	}
	return nil
}

func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(d):
		return nil
	}
}
