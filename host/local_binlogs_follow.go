package host

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"stowage/binlog"
	"stowage/internal/safefile"
)

// slab is how much is appended before it is made safe: so much is read again after a kill.
const slab = 32 << 20

// follow brings what the server has and the log does not.
func (g *aLog) follow(ctx context.Context, source *serverLog, begun time.Time) error {
	for _, s := range source.files {
		if n := len(g.files); n > 0 && s.number < g.files[n-1].number {
			continue // archived, or removed from the archive since
		}
		if at := g.file(s.name); at < 0 {
			if err := g.add(s); err != nil {
				return fmt.Errorf("%s: %w", s.name, err)
			}
		}
		if err := g.bring(ctx, &g.files[len(g.files)-1], s, begun.Unix()+clockSlack); err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
	}
	return g.setChecked(begun)
}

// add begins a file with its head, which is there whole or not at all.
func (g *aLog) add(s *serverFile) error {
	head, err := headOf(s.file, s.head)
	if err != nil {
		return err
	}
	first := known{Offset: s.head.End, State: s.head.Start.String()}
	if n := len(g.files); n > 0 {
		first.At = g.files[n-1].end().At
	}
	if err := g.dir.Replace(s.name, head, 0o640, nil); err != nil {
		return err
	}
	g.came += s.head.End
	g.files = append(g.files, archived{name: s.name, number: s.number, head: s.head, marks: []known{first}, size: s.head.End, remade: true})
	return nil
}

// bring appends to the last file of the log.
func (g *aLog) bring(ctx context.Context, a *archived, s *serverFile, limit int64) error {
	if a.remade {
		lines, err := text(a.marks)
		if err == nil {
			err = g.dir.Replace(a.name+marksSuffix, lines, 0o640, nil)
		}
		if err != nil {
			return err
		}
		a.remade = false
	}
	if a.end().Closed != "" {
		return nil
	}
	out, err := g.dir.OpenFile(a.name, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer out.Close()
	if a.size > a.end().Offset { // what a killed writer left; the server has it, too
		if err := out.Truncate(a.end().Offset); err != nil {
			return err
		}
	}
	ap := appender{log: g, a: a, in: s.file, out: out, clock: clock{a.end().At, limit}}
	scan := s.head.Scan(io.NewSectionReader(s.file, 0, s.size), a.end().Offset, mustState(a.end().State))
	for scan.Next() {
		if err := ap.transaction(scan); err != nil {
			return err
		}
		if ctx.Err() != nil {
			return errors.Join(ap.flush(scan), context.Cause(ctx))
		}
		if g.most > 0 && g.came+scan.Whole()-a.end().Offset >= g.most {
			if err := ap.flush(scan); err != nil {
				return err
			}
			return errMore
		}
	}
	if err := ap.flush(scan); err != nil {
		return err
	}
	return ap.close(s, scan)
}

// appender copies what a scan has found to be right, some of it at once.
type appender struct {
	log     *aLog
	a       *archived
	in      io.ReaderAt
	out     *os.File
	clock   clock
	pending []known // marks of what is not copied yet
}

// transaction notes one.
func (p *appender) transaction(scan *binlog.Scanner) error {
	p.clock.see(scan.Transaction())
	last := p.a.end()
	if n := len(p.pending); n > 0 {
		last = p.pending[n-1]
	}
	if p.clock.at-last.At >= markEvery {
		p.mark(scan)
	}
	if scan.Whole()-p.a.end().Offset < slab {
		return nil
	}
	return p.flush(scan)
}

func (p *appender) mark(scan *binlog.Scanner) {
	p.pending = append(p.pending, known{Offset: scan.Whole(), At: p.clock.at, State: scan.State().String()})
}

// flush copies up to the end of what is right, and marks it once it is on the disk.
func (p *appender) flush(scan *binlog.Scanner) error {
	from, to := p.a.end().Offset, scan.Whole()
	if from == to {
		return nil
	}
	if n := len(p.pending); n == 0 || p.pending[n-1].Offset < to {
		p.mark(scan)
	}
	_, err := io.Copy(io.NewOffsetWriter(p.out, from), io.NewSectionReader(p.in, from, to-from))
	if err == nil {
		err = p.out.Sync()
	}
	if err == nil {
		err = addMarks(p.log.dir, p.a.name, p.pending)
	}
	if err != nil {
		return err
	}
	p.a.marks, p.a.size, p.pending = append(p.a.marks, p.pending...), to, nil
	p.log.came += to - from
	return nil
}

// close notes that nothing more will come, where that is so.
func (p *appender) close(s *serverFile, scan *binlog.Scanner) error {
	end := p.a.end()
	fault := scan.Err()
	switch {
	case scan.Ending() != binlog.Open:
		end.Closed = string(scan.Ending())
	case s.isLast && (fault == nil || binlog.IsCut(fault)):
		return nil // the server is at it
	case s.isLast:
		return fault
	case fault == nil || binlog.IsCut(fault):
		end.Closed = leftOpen
	default:
		var f *binlog.Fault
		if !errors.As(fault, &f) {
			return fault // it could not be read: perhaps the next time
		}
		end.Closed = leftDamaged
	}
	end.Size = s.size
	all := sparse(append(p.a.marks, end))
	lines, err := text(all)
	if err == nil {
		err = p.log.dir.Replace(p.a.name+marksSuffix, lines, 0o640, nil)
	}
	if err == nil {
		p.a.marks = all
	}
	return err
}

// setChecked notes when the server's files were read to their end.
func (g *aLog) setChecked(at time.Time) error {
	g.checked = at
	return setCheckedIn(g.dir, at)
}

func setCheckedIn(dir *safefile.Dir, at time.Time) error {
	f, err := dir.OpenFile(checkedFile, os.O_WRONLY|os.O_CREATE, 0o640)
	if err != nil {
		return err
	}
	defer f.Close()
	t := unix.NsecToTimeval(at.UnixNano())
	return unix.Futimes(int(f.Fd()), []unix.Timeval{t, t})
}
