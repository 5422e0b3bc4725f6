package host

import (
	"context"
	"io"
	"os"

	"stowage/binlog"
)

// feeder writes what mariadb-binlog reads: a file with nothing but a portion of it, every checksum of which was looked at.
type feeder struct {
	head binlog.Head
	file *os.File
	into io.Writer
	fed  int64
	tell func(at int64)
}

func feed(ctx context.Context, f *archived, file *os.File, x portion, into io.Writer, tell func(int64)) error {
	head, err := headOf(file, f.head)
	if err != nil {
		return err
	}
	if _, err := into.Write(head); err != nil {
		return err
	}
	fd := &feeder{head: f.head, file: file, into: into, fed: x.from, tell: func(at int64) { tell(at - x.from) }}
	scan := f.head.Scan(io.NewSectionReader(file, 0, x.to), x.from, binlog.State{})
	for scan.Next() {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err := fd.transaction(scan.Transaction()); err != nil {
			return err
		}
	}
	if err := scan.Err(); err != nil {
		return err
	}
	return fd.upTo(x.to)
}

// fedAtOnce is how much is looked at before it is sent, and how much of a statement by rows a server is sent at once, in bytes: with base64
// it is less than the smallest max_allowed_packet that anybody has.
const fedAtOnce = 512 << 10

// transaction sends one, or leaves it to the next.
func (f *feeder) transaction(t binlog.Transaction) error {
	if d := t.Definition; d != (binlog.Part{}) {
		event := make([]byte, d.End-d.Begin)
		if _, err := f.file.ReadAt(event, d.Begin); err != nil {
			return err
		}
		alone, err := f.head.DefineAlone(event)
		if err == nil {
			err = f.upTo(t.Begin)
		}
		if err == nil {
			_, err = f.into.Write(alone)
		}
		if err == nil {
			err = f.upTo(d.Begin)
		}
		if err != nil {
			return err
		}
		f.fed = d.End
	}
	if t.End-f.fed < fedAtOnce {
		return nil
	}
	return f.upTo(t.End)
}

// upTo sends all that was not sent yet.
func (f *feeder) upTo(to int64) (err error) {
	if to-f.fed < fedAtOnce {
		_, err = io.Copy(f.into, io.NewSectionReader(f.file, f.fed, to-f.fed))
	} else {
		err = f.head.Split(f.into, f.file, f.fed, to, fedAtOnce)
	}
	f.fed = to
	f.tell(to)
	return err
}
