package host

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"stowage/farm"
	"stowage/internal/safefile"
)

const (
	pulling  = "pulling"   // what comes, until it is whole
	setAside = "set-aside" // begins the name of a log that differed from the repository's
)

// receiveTail lays the end of a log into a spool that lacks it.
func (l *Local) receiveTail(ctx context.Context, i Instance, key string, r io.Reader) (Copied, error) {
	fail := func(err error) (Copied, error) {
		return Copied{}, &farm.Error{Op: "bring spool of binary log up to date", Subject: string(i.Name), Err: err}
	}
	spool, err := l.openSpool(key, i.Name)
	if err != nil {
		return fail(err)
	}
	defer spool.close()
	if err := spool.top.RemoveAll(pulling); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fail(err)
	}
	in, err := spool.top.Mkdir(pulling, 0o700)
	if err != nil {
		return fail(err)
	}
	defer in.Close()
	got, err := lay(ctx, in, r)
	defer got.close()
	if err == nil {
		err = errors.Join(setAvailable(got.log, available{File: got.first, known: got.from}), setCheckedIn(got.log, second(got.last.Checked)))
	}
	if err == nil {
		err = l.settle(spool, in, got)
	}
	if err != nil {
		return fail(err)
	}
	return Copied{Bytes: got.bytes, Files: len(got.files)}, nil
}

// settle gives a log that has come its place. One of that name is behind it, or another server's after all: what only it has is kept.
func (l *Local) settle(spool *spool, in *safefile.Dir, got *layer) error {
	top := spool.top
	for _, g := range spool.logs {
		if g.name != got.name {
			continue
		}
		as := fmt.Sprintf("%s-%s-%s", setAside, g.name, time.Now().UTC().Format("20060102T150405.000000000Z"))
		isAhead := compareMarks(g.end(), got.last.To) > 0
		if isAhead {
			l.log.Warn("the spool has another binary log than the repository: it is set aside", "directory", filepath.Join(top.Path(), as))
		}
		if err := top.Rename(g.name, top, as); err != nil {
			return err
		}
		if !isAhead {
			if err := top.RemoveAll(as); err != nil {
				return err
			}
		}
	}
	if err := in.Rename(got.name, top, got.name); err != nil {
		return err
	}
	return errors.Join(in.Sync(), top.Sync(), top.RemoveAll(pulling))
}
