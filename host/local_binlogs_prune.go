package host

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"stowage/binlog"
	"stowage/farm"
)

// PruneBinlogs removes the files of an archive that end before a place, and logs that are older than its own, and says how many bytes
// they had. Who calls it names the place of the oldest backup that is kept, or of an instance that is restored just now. The file of
// that place and all that follows stays, and so does the last file of a log. A place that is not in the archive is an error, and
// nothing is removed.
func (l *Local) PruneBinlogs(ctx context.Context, into string, before Mark) (removed int64, err error) {
	fail := func(err error) (int64, error) {
		return removed, &farm.Error{Op: "prune binary logs", Subject: into, Err: err}
	}
	top, err := openArchive(into)
	if err != nil {
		return fail(err)
	}
	defer top.Close()
	unlock, err := lockArchive(top)
	if err != nil {
		return fail(err)
	}
	defer unlock()
	logs, err := openLogs(into)
	defer func() { closeLogs(logs) }()
	if err != nil {
		return fail(err)
	}
	at := slices.IndexFunc(logs, func(g *aLog) bool { return g.name == before.Log })
	if at < 0 || logs[at].file(before.File) < 0 {
		return fail(fmt.Errorf("%w: %s", ErrNotArchived, before))
	}
	for _, g := range logs[:at] {
		if err := top.RemoveAll(g.name); err != nil {
			return fail(err)
		}
		removed += g.bytes()
	}
	g := logs[at]
	for _, f := range g.files[:g.file(before.File)] {
		if err := ctx.Err(); err != nil {
			return fail(context.Cause(ctx))
		}
		// The oldest first: what is left after a kill is a log that begins later.
		if err := g.remove(f.name); err != nil {
			return fail(err)
		}
		removed += f.end().Offset
	}
	return removed, errors.Join(g.dir.Sync(), top.Sync())
}

func (g *aLog) remove(name string) error {
	for _, n := range []string{name, name + marksSuffix} {
		if err := g.dir.RemoveAll(n); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// CheckBinlogs reads the whole archive and names the first thing that is damaged, or is not what its marks say: the error wraps a
// *binlog.Fault. A gap is not damage.
func (l *Local) CheckBinlogs(ctx context.Context, into string) error {
	logs, err := openLogs(into)
	defer func() { closeLogs(logs) }()
	for _, g := range logs {
		if err == nil {
			err = errors.Join(g.unreadable...)
		}
		for n := range g.files {
			if err == nil {
				err = g.check(ctx, &g.files[n])
			}
			if err != nil {
				return &farm.Error{Op: "check binary log", Subject: filepath.Join(g.dir.Path(), g.files[n].name), Err: err}
			}
		}
	}
	if err != nil {
		return &farm.Error{Op: "check binary logs", Subject: into, Err: err}
	}
	return nil
}

func (g *aLog) check(ctx context.Context, f *archived) error {
	in, err := g.dir.OpenFile(f.name, os.O_RDONLY, 0)
	if err != nil {
		return err
	}
	defer in.Close()
	scan := f.head.Scan(in, f.head.End, f.head.Start)
	for marks := f.all(); len(marks) > 0; {
		if scan.Whole() < marks[0].Offset && scan.Next() {
			if err := ctx.Err(); err != nil {
				return context.Cause(ctx)
			}
			continue
		}
		if err := scan.Err(); err != nil && scan.Whole() < marks[0].Offset {
			return err
		}
		if at := scan.Whole(); at < marks[0].Offset || at == marks[0].Offset && scan.State().String() != marks[0].State {
			return &binlog.Fault{At: at, Whole: at, Why: fmt.Sprintf("state %s, and the marks say %s at %d,", orNothing(scan.State().String()), orNothing(marks[0].State), marks[0].Offset)}
		}
		marks = marks[1:]
	}
	return f.damage
}
