package host

import (
	"context"
	"errors"
	"fmt"
	"io"

	"stowage/binlog"
	"stowage/farm"
	"stowage/vault"
)

// An archive in a directory goes to another host as one in a repository does: in pieces. Each of its files is one.

// lent is what is wanted of an archive in a directory.
type lent struct {
	logs []*aLog
	some []Piece
}

func lend(p vault.Place, instance farm.InstanceName, w Wanted) (*lent, error) {
	dir, err := ArchiveDir(p, instance)
	if err != nil {
		return nil, err
	}
	l := &lent{}
	if l.logs, err = openLogs(dir); err == nil {
		var all []chain
		if all, err = chainsOf(l.logs); err == nil {
			l.some, err = w.pick(all)
		}
	}
	if err != nil {
		l.close()
		return nil, err
	}
	return l, nil
}

func (l *lent) close() { closeLogs(l.logs) }

// chainsOf are the logs of an archive, the oldest first.
func chainsOf(logs []*aLog) (out []chain, err error) {
	for _, g := range logs {
		c := chain{log: g.name}
		for n := range g.files {
			p, err := g.pieceOf(g.beginning(n), spot{n, g.files[n].end()}, 0)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", g.files[n].name, err)
			}
			c.pieces = append(c.pieces, *p)
		}
		if len(c.pieces) > 0 {
			out = append(out, c)
		}
	}
	return out, nil
}

// write writes the pieces one after the other. What is not as it was archived is an error that wraps vault.ErrDamaged.
func (l *lent) write(ctx context.Context, w io.Writer) error {
	for _, p := range l.some {
		for _, g := range l.logs {
			if g.name != p.log() {
				continue
			}
			err := g.writePiece(ctx, p, w)
			if errors.Is(err, binlog.ErrDamaged) {
				err = fmt.Errorf("%w: %w", vault.ErrDamaged, err)
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// sendLent writes what is wanted of an archive in a directory.
func (l *Local) sendLent(ctx context.Context, p vault.Place, instance farm.InstanceName, w Wanted, to io.Writer) error {
	fail := func(err error) error {
		return &farm.Error{Op: "read binary logs", Subject: p.Subject() + " " + Journal(instance), Err: err}
	}
	some, err := lend(p, instance, w)
	if err != nil {
		return fail(err)
	}
	defer some.close()
	return errOr(fail, some.write(ctx, to))
}

// reachLent is ReachBinlogs of an archive in a directory.
func reachLent(ctx context.Context, p vault.Place, instance farm.InstanceName, w Wanted) (bytes int64, err error) {
	some, err := lend(p, instance, w)
	if err == nil {
		defer some.close()
		for _, piece := range some.some {
			bytes += piece.Bytes
		}
		if w.Read {
			err = some.write(ctx, io.Discard)
		}
	}
	if err != nil {
		return 0, &farm.Error{Op: "find binary logs", Subject: p.Subject() + " " + Journal(instance), Err: err}
	}
	return bytes, nil
}
