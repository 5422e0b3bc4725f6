package backup

import (
	"context"
	"fmt"

	"stowage/farm"
	"stowage/host"
	"stowage/vault"
)

// spooling is the archiving of one instance's binary log into a repository: by the host of the instance into a spool, and from there, piece by piece, to
// the host that runs restic.
type spooling struct {
	act    *Act
	on     host.Archivist
	from   farm.HostName // of the instance
	keeper farm.HostName // that runs restic
	place  vault.Place
	order  host.Spooling

	kept     host.Kept
	down     error // the repository does not take anything
	appended int64
	held     int64
}

const (
	// spooledAtOnce is how much is read before it goes into the repository.
	spooledAtOnce = 256 << 20
	// mostSpare is how many pieces that nobody needs stay in a repository.
	mostSpare = 64
)

// archiveInto brings the archive in a repository up to date. What a repository that does not answer would have been given stays in the spool.
func (a *Act) archiveInto(ctx context.Context, x *Archiving, s spooling) error {
	s.act, x.Dir = a, s.place.Subject()
	s.order.Key, s.order.Most = host.SpoolKey(s.place), spooledAtOnce
	keeper, err := a.archivist(ctx, s.keeper, x.Instance)
	if err == nil {
		s.kept, err = keeper.KeptBinlogs(ctx, s.place, x.Instance)
	}
	s.down = err
	if err := s.run(ctx); err != nil {
		return err
	}
	x.Archived, x.Appended = s.kept.Archived, s.appended
	if s.down != nil {
		return &farm.Error{Op: "archive binary log", Subject: string(x.Instance), Hint: hintOr(s.down, "bring the repository back: what waits goes there with the next pass"),
			Err: fmt.Errorf("host %s cannot use the repository; %s of binary logs wait on host %s: %w", s.keeper, farm.RoundQuantity(float64(s.held), farm.KindBytes), s.from, s.down)}
	}
	if s.kept.Spare > mostSpare {
		if _, err := keeper.ForgetBinlogs(ctx, s.place, x.Instance, nil); err != nil {
			a.Log.Info("pieces of binary logs that nobody needs stay in the repository", "instance", x.Instance, "error", err) // somebody else uses the repository: the next pass
		}
	}
	return nil
}

// run reads what is new and hands it on, until there is nothing more.
func (s *spooling) run(ctx context.Context) error {
	wasBehind := false
	for {
		if s.order.Kept = &s.kept; s.down != nil {
			s.order.Kept = nil
		}
		got, err := s.on.SpoolBinlogs(ctx, s.order)
		s.appended, s.held = s.appended+got.Appended, got.Held
		if err != nil {
			return err
		}
		if got.Behind && wasBehind {
			return &farm.Error{Op: "archive binary log", Subject: string(s.order.Instance.Name), Err: fmt.Errorf("%w: its spool on host %s differs from the repository also after it was brought up to date", farm.ErrRefused, s.from),
				Hint: "stowage backup check reads the pieces in the repository"}
		}
		if got.Behind {
			wasBehind = true
			s.down = s.bringBack(ctx)
			continue
		}
		s.order.Still = !got.More
		hasNext := got.Next != nil && s.down == nil
		if hasNext {
			s.down = s.push(ctx, *got.Next)
		}
		if hasNext && s.down == nil {
			s.kept = s.kept.With(*got.Next)
		} else if !got.More {
			return nil
		}
	}
}

// push brings a piece of the spool into the repository.
func (s *spooling) push(ctx context.Context, p host.Piece) error {
	from, to, err := s.ends()
	if err != nil {
		return err
	}
	i := s.order.Instance
	_, err = host.Copy{From: from, Origin: host.Origin{Instance: i, Piece: &p, Spool: s.order.Key},
		To: to, Target: host.Destination{Stored: host.Stored{Place: s.place, Set: host.Journal(i.Name), Name: "piece"}, Piece: &p}}.Run(ctx)
	return err
}

// bringBack lays the end of the repository's log into the spool.
func (s *spooling) bringBack(ctx context.Context) error {
	to, from, err := s.ends()
	if err != nil {
		return err
	}
	i := s.order.Instance
	_, err = host.Copy{From: from, Origin: host.Origin{Instance: host.Instance{Name: i.Name}, Stored: host.Stored{Place: s.place, Set: host.Journal(i.Name), Name: "tail"}, Logs: &host.Wanted{Tail: true}},
		To: to, Target: host.Destination{Instance: i, Spool: s.order.Key}}.Run(ctx)
	return err
}

// ends are the host of the spool, and the one that runs restic.
func (s *spooling) ends() (spool, keeper host.Host, err error) {
	if spool, err = s.act.Host(s.from); err != nil {
		return nil, nil, err
	}
	keeper, err = s.act.Host(s.keeper)
	return spool, keeper, err
}
