package rows

import (
	"context"
	"fmt"
	"strings"
	"time"

	"stowage/mysql"
)

// Renaming is a RENAME of all tables of a database that waits in the server.
type Renaming struct {
	server mysql.Door
	done   chan error
	thread uint64
	cancel context.CancelFunc
}

// RenameAside begins to rename tables: away to their other name, or back. It
// returns when the server has the statement waiting behind a lock, or done.
func RenameAside(ctx context.Context, server *mysql.Server, tables []*CopyTable, aside bool, lockWait time.Duration) (*Renaming, error) {
	s := mysql.Through(server)
	w, err := OpenStream(ctx, server, lockWait)
	if err != nil {
		return nil, err
	}
	// Views, triggers and constraints are not looked at by name now.
	r := &Renaming{server: s, done: make(chan error, 1)}
	if err := w.conn.QueryRowContext(ctx, "SELECT CONNECTION_ID()").Scan(&r.thread); err != nil {
		w.Close()
		return nil, s.Fail("rename tables", err)
	}
	var pairs []string
	for _, t := range tables {
		if t.IsAside != aside {
			pairs = append(pairs, t.At()+" TO "+t.Aside(aside).At())
		}
	}
	if len(pairs) == 0 {
		r.done <- nil
		return r, w.Close()
	}
	// Names are written in the session's character set, which is binary here.
	var running context.Context
	running, r.cancel = context.WithCancel(context.WithoutCancel(ctx))
	go func() {
		defer w.Close()
		_, err := w.conn.ExecContext(running, "SET NAMES utf8mb4")
		if err == nil {
			_, err = w.conn.ExecContext(running, "RENAME TABLE "+mysql.OwnComment+" "+strings.Join(pairs, ", "))
		}
		r.done <- s.Fail("rename tables", err)
	}()
	return r, r.queued(ctx)
}

func (r *Renaming) queued(ctx context.Context) error {
	_, processes, err := r.server.Words(ctx)
	if err != nil {
		r.Cancel()
		return err
	}
	for {
		select {
		case err := <-r.done:
			r.done <- err
			return err
		default:
		}
		records, err := r.server.Records(ctx, "SELECT STATE AS state FROM "+processes+" WHERE ID = ? AND INFO LIKE 'RENAME%'", r.thread)
		if err != nil {
			r.Cancel()
			return err
		}
		if len(records) == 1 && strings.Contains(records[0]["state"], "metadata lock") {
			return nil
		}
		if err := mysql.Sleep(ctx, 2*time.Millisecond); err != nil {
			r.Cancel()
			return r.server.Fail("rename tables", err)
		}
	}
}

// Wait waits for the end of the RENAME.
func (r *Renaming) Wait(ctx context.Context) error {
	select {
	case err := <-r.done:
		r.done <- err
		return err
	case <-ctx.Done():
		return r.server.Fail("rename tables", ctx.Err())
	}
}

// Cancel gives the statement up; whether it was carried out is to be read back.
func (r *Renaming) Cancel() {
	ctx, cancel := context.WithTimeout(context.Background(), mysql.StatementTimeout)
	defer cancel()
	_ = r.server.Kill(ctx, r.thread)
	if r.cancel != nil {
		r.cancel()
	}
	err := <-r.done
	r.done <- err
}

// EndRenames ends every RENAME of the copier that still waits in the server:
// one that a killed copier has left would be carried out later, when nobody
// expects it. It returns when none is left.
func EndRenames(ctx context.Context, server *mysql.Server) error {
	s := mysql.Through(server)
	_, processes, err := s.Words(ctx)
	if err != nil {
		return err
	}
	for {
		records, err := s.Records(ctx, "SELECT ID AS id FROM "+processes+" WHERE INFO LIKE 'RENAME TABLE "+mysql.OwnComment+"%'")
		if err != nil || len(records) == 0 {
			return err
		}
		for _, r := range records {
			var id uint64
			if _, err := fmt.Sscan(r["id"], &id); err != nil {
				return s.Fail("end RENAME", err)
			}
			if err := s.Kill(ctx, id); err != nil {
				return err
			}
		}
		if err := mysql.Sleep(ctx, 5*time.Millisecond); err != nil {
			return s.Fail("end RENAME", err)
		}
	}
}
