package swing

import (
	"context"
	"errors"
	"net"
	"strconv"
	"time"

	"stowage/mysql"
)

// Repoint makes the twin replicate from source. A replica asks its source for
// its whole position, its own domain included (its events come round the
// ring); a source that lacks one of them answers with error 1236, which is
// never retried. So: stop, let the source get everything the twin has applied,
// and only then connect.
func (s *Swing) Repoint(ctx context.Context, source *mysql.Server, as mysql.Account) error {
	if err := s.Twin.StopReplicating(ctx); err != nil {
		return err
	}
	applied, err := s.Twin.AppliedPosition(ctx)
	if err != nil {
		return err
	}
	if err := source.WaitFor(ctx, applied, s.Settings.CatchUp); err != nil {
		// Left as it is, the twin would get nothing from either. It goes on
		// with the source it has; this step is tried again.
		return errors.Join(err, s.resumeTwin(ctx, as))
	}
	return s.Twin.Follow(ctx, source.Address(), as, 30*time.Second)
}

func (s *Swing) resumeTwin(ctx context.Context, as mysql.Account) error {
	ctx, cancel := cleanup(ctx)
	defer cancel()
	now, err := s.Twin.Replication(ctx)
	if err != nil || !now.Configured {
		return err
	}
	return s.Twin.Follow(ctx, net.JoinHostPort(now.Host, strconv.Itoa(now.Port)), as, 10*time.Second)
}
