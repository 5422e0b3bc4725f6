package fresh

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync/atomic"
	"time"

	"stowage/farm"
	"stowage/host"
	"stowage/mysql"
)

// Clone makes a new, empty server that becomes a copy of a MySQL server by itself, with its clone plugin: the bytes go from server to server. The
// server ends when it is done, and is started again as the copy; what it then says of itself decides whether there is one. A clone that was cut
// short is begun anew: nothing of it can be used.
type Clone struct {
	Host host.Host
	New  host.Instance // claimed and empty, with its option file; its server does not run
	ID   uint32        // its server_id
	// Copy is the new server with the account that it has as a copy, which is Own.
	Copy *mysql.Server
	Own  mysql.Account
	// Donor is the address of the server that is copied, As the account that may.
	Donor string
	As    mysql.Account
	// Rate and Moved are those of a host.Copy.
	Rate  func() int64
	Moved func(int64)
	Told  func(done, total int64)
	Log   *slog.Logger
}

// Cloned is what came of it: where the copy stands, and how many bytes were copied.
type Cloned struct {
	Position mysql.Position
	Seed     host.SeedPoint
	Bytes    int64
}

// cloneEnds is how long the server may take to end behind a clone.
const cloneEnds = 5 * time.Minute

// Run carries it out. The copy runs then.
func (c Clone) Run(ctx context.Context) (out Cloned, err error) {
	founder, ok := c.Host.(host.Founder)
	if !ok {
		return out, &farm.Error{Op: "clone", Subject: string(c.New.Name), Err: fmt.Errorf("%w: nothing on its host can make an empty instance", farm.ErrRefused)}
	}
	as := c.Newcomer()
	if err := founder.Found(ctx, c.New, Setup(as)); err != nil {
		return out, err
	}
	if err := c.Host.Start(ctx, c.New, startBudget); err != nil {
		return out, err
	}
	empty := mysql.Open(c.New.Name, c.New.Dial(), as, c.Log)
	defer empty.Close()
	if err := Check(ctx, empty, c.New, c.ID); err != nil {
		return out, err
	}
	if out.Bytes, err = c.copy(ctx, empty); err != nil {
		return out, err
	}
	if err := c.awaitEnd(ctx); err != nil {
		return out, err
	}
	if err := c.Host.Start(ctx, c.New, startBudget); err != nil {
		return out, err
	}
	if out.Position, err = c.Copy.Cloned(ctx, c.Donor); err != nil {
		return out, err
	}
	out.Seed.File, out.Seed.Offset, err = c.Copy.ClonedPlace(ctx)
	return out, err
}

// Newcomer is the account of the empty server, until it is a copy and has the
// donor's. Root on its host reads the password in the server's first statements:
// it is the one that the statement which clones shows him anyway.
func (c Clone) Newcomer() mysql.Account {
	as, own := c.As.At(c.Donor), c.Own.At(c.New.Dial())
	as.TLS, as.PublicKey = own.TLS, own.PublicKey
	return as
}

// Setup are the first statements of a server that will clone.
func Setup(as mysql.Account) []byte {
	return []byte(strings.Join(mysql.FreshStatements(as), ";\n") + ";\n")
}

// copy lets the new server, which is empty, clone the donor no faster than it may.
func (c Clone) copy(ctx context.Context, empty *mysql.Server) (int64, error) {
	var copied atomic.Int64
	limit := host.Copy{Rate: c.Rate, Moved: c.Moved}
	watched := limit.Watch(ctx, copied.Load, func(rate int64) {
		// The server may be gone because the clone has ended: then it says so itself.
		if err := empty.LimitClone(ctx, rate); err != nil && ctx.Err() == nil {
			c.Log.Warn("the rate of a clone could not be set", "server", c.New.Name, "bytes_per_second", rate, "error", err)
		}
	})
	defer watched()
	err := empty.Clone(ctx, c.Donor, c.As, func(done, total int64) {
		copied.Store(done)
		c.Told(done, total)
	})
	return copied.Load(), err
}

// awaitEnd waits until the new instance's server has ended by itself. One that
// has a supervisor may be up again before we look: then it has another process.
func (c Clone) awaitEnd(ctx context.Context) error {
	first, err := c.Host.Running(ctx, c.New)
	for deadline := time.Now().Add(cloneEnds); err == nil; {
		var pid int
		if pid, err = c.Host.Running(ctx, c.New); err != nil {
			return err
		}
		if pid == 0 || pid != first {
			return nil
		}
		if _, err := c.Copy.Cloned(ctx, c.Donor); err == nil {
			return nil // started again between the clone's end and our first look
		}
		if time.Now().After(deadline) {
			return &farm.Error{Op: "clone", Subject: string(c.New.Name), Err: errors.New("the server cloned and does not end"), Hint: "read its error log"}
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(50 * time.Millisecond):
		}
	}
	return err
}
