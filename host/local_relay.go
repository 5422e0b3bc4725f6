package host

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"stowage/farm"
	"stowage/internal/safefile"
)

// RelayLog is the first file that Relay lays into a data directory. The instance has the option relay_log = RelayBase.
const (
	RelayBase = "relay-bin"
	RelayLog  = RelayBase + ".000001"
)

// Relay implements Archivist. It is whole or not at all for the server: the list of files is written last.
func (l *Local) Relay(ctx context.Context, r Replaying) error {
	fail := func(err error) error {
		return &farm.Error{Op: "lay out binary log", Subject: string(r.Instance.Name), Err: err}
	}
	pid, err := l.Running(ctx, r.Instance)
	if err == nil && pid != 0 {
		err = fmt.Errorf("%w: its server runs (pid %d)", farm.ErrRefused, pid)
	}
	if err != nil {
		return fail(err)
	}
	logs, err := openLogs(r.Archive)
	defer func() { closeLogs(logs) }()
	if err != nil {
		return fail(err)
	}
	g, _, err := r.begin(ctx, logs)
	if err != nil {
		return fail(err)
	}
	dir, err := safefile.OpenDir(r.Instance.Datadir)
	if err != nil {
		return fail(err)
	}
	defer dir.Close()
	return errOr(fail, l.relay(ctx, dir, g, r))
}

func errOr(fail func(error) error, err error) error {
	if err == nil {
		return nil
	}
	return fail(err)
}

func (l *Local) relay(ctx context.Context, dir *safefile.Dir, g *aLog, r Replaying) error {
	names, err := dir.Names()
	if err != nil {
		return err
	}
	for _, n := range names { // of a call that was killed
		if strings.HasPrefix(n, RelayBase+".") {
			if err := dir.RemoveAll(n); err != nil {
				return err
			}
		}
	}
	portions := g.cut(r.From, r.To)
	all, done := int64(0), int64(0)
	for _, x := range portions {
		all += x.to - x.from
	}
	var list strings.Builder
	for n, x := range portions {
		name := fmt.Sprintf("%s.%06d", RelayBase, n+1)
		if err := l.relayOne(ctx, dir, name, g, x); err != nil {
			return fmt.Errorf("%s from %d to %d: %w", x.file, x.from, x.to, err)
		}
		fmt.Fprintf(&list, "./%s\n", name)
		if done += x.to - x.from; r.Told != nil {
			r.Told(done, all)
		}
	}
	return dir.Replace(RelayBase+".index", []byte(list.String()), 0o640, func(f *os.File) error { return l.Own(f) })
}

// relayOne makes a file of the head of one of the archive and of a portion of it, after all of its checksums were compared.
func (l *Local) relayOne(ctx context.Context, dir *safefile.Dir, name string, g *aLog, x portion) (err error) {
	f := &g.files[g.file(x.file)]
	in, err := g.dir.OpenFile(x.file, os.O_RDONLY, 0)
	if err != nil {
		return err
	}
	defer in.Close()
	scan := f.head.Scan(io.NewSectionReader(in, 0, x.to), x.from, f.head.Start)
	for scan.Next() {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
	}
	if err := scan.Err(); err != nil {
		return err
	}
	head, err := headOf(in, f.head)
	if err != nil {
		return err
	}
	out, err := dir.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o640)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, out.Close()) }()
	if _, err := out.Write(head); err != nil {
		return err
	}
	if _, err := io.Copy(out, io.NewSectionReader(in, x.from, x.to-x.from)); err != nil {
		return err
	}
	return l.Own(out)
}
