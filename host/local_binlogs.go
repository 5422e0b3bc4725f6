package host

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"stowage/binlog"
	"stowage/farm"
	"stowage/internal/lasting"
	"stowage/internal/safefile"
)

// ErrArchiving: another process archives the same binary log just now.
var ErrArchiving = errors.New("another process archives this binary log")

// ArchiveBinlogs appends to an archive what the instance's binary log has had since the last call, up to its last whole transaction. into is
// what ArchiveDir says; index is the server's @@log_bin_index, a path of this machine, or empty: then it is what BinlogIndex says.
//
// It may be killed anywhere and called again; calls for the same archive at the same time are ErrArchiving, all but one. What was archived
// stays as it is: a server whose files are not what was archived of them gets another log. When the server's files are damaged, what is
// before the damage is archived, and the error wraps a *binlog.Fault.
func (l *Local) ArchiveBinlogs(ctx context.Context, i Instance, index, into string) (Archived, error) {
	fail := func(err error) (Archived, error) {
		return Archived{}, &farm.Error{Op: "archive binary log", Subject: string(i.Name), Err: err}
	}
	if index == "" {
		var err error
		if index, err = l.BinlogIndex(ctx, i); err != nil {
			return fail(err)
		}
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
	logs, g, err := l.bringUp(ctx, top, i, index, into, 0)
	defer func() { closeLogs(logs) }()
	if g == nil {
		return fail(err)
	}
	out := describe(logs, g)
	out.Appended = g.came
	if err != nil {
		err = &farm.Error{Op: "archive binary log", Subject: string(i.Name), Err: err}
	}
	return out, err
}

// bringUp appends what is new to an archive that is locked: most bytes of it, or a little more, where most is not 0; then the error is errMore.
// The log is nil when nothing could be appended to. The caller closes all logs.
func (l *Local) bringUp(ctx context.Context, top *safefile.Dir, i Instance, index, into string, most int64) (logs []*aLog, g *aLog, err error) {
	if logs, err = openLogs(into); err != nil {
		return logs, nil, err
	}
	begun := time.Now()
	source, err := openServerLog(ctx, index, i.Datadir)
	if err != nil {
		return logs, nil, err
	}
	defer source.close()
	g, isNew, err := choose(top, logs, source, begun)
	if err != nil {
		return logs, nil, err
	}
	if isNew {
		logs = append(logs, g)
	}
	g.most = most
	return logs, g, g.follow(ctx, source, begun)
}

// errMore: the server has more than was to be read at once.
var errMore = errors.New("there is more")

// ArchiveState says what there is in an archive, and asks no server. It is fs.ErrNotExist when there is nothing.
func (l *Local) ArchiveState(_ context.Context, into string) (Archived, error) {
	logs, err := openLogs(into)
	defer func() { closeLogs(logs) }()
	if err == nil && len(logs) == 0 {
		err = fs.ErrNotExist
	}
	if err != nil {
		return Archived{}, &farm.Error{Op: "read archive of a binary log", Subject: into, Err: err}
	}
	return describe(logs, logs[len(logs)-1]), nil
}

// openArchive makes the archive's directory, for good, and opens it. The directory that holds those of all instances is made by people: where a file
// system is not mounted, nothing is written below its mount point.
func openArchive(into string) (*safefile.Dir, error) {
	top := filepath.Dir(filepath.Dir(into))
	if _, err := os.Stat(top); err != nil {
		return nil, &farm.Error{Op: "open archive", Subject: top, Err: err, Hint: "mount the file system that it is on, or make the directory: mkdir -m 700 " + top}
	}
	if err := os.MkdirAll(into, 0o750); err != nil {
		return nil, err
	}
	for _, dir := range []string{filepath.Dir(into), top} {
		if err := lasting.SyncDir(dir); err != nil {
			return nil, err
		}
	}
	return safefile.OpenDir(into)
}

func lockArchive(top *safefile.Dir) (unlock func(), err error) {
	f, err := top.OpenFile("lock", os.O_RDWR|os.O_CREATE, 0o640)
	if err != nil {
		return nil, err
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		f.Close()
		if errors.Is(err, unix.EWOULDBLOCK) {
			return nil, ErrArchiving
		}
		return nil, err
	}
	return func() {
		_ = unix.Flock(int(f.Fd()), unix.LOCK_UN) // a process that we start just now has the descriptor, too, until it is another program
		f.Close()
	}, nil
}

// choose is the log that the server's files continue: one that is there, or a new one.
func choose(top *safefile.Dir, logs []*aLog, source *serverLog, now time.Time) (g *aLog, isNew bool, err error) {
	why := ""
	for _, g := range slices.Backward(logs) {
		differs, err := g.differs(source)
		if err != nil {
			return nil, false, err
		}
		if differs == "" {
			return g, false, nil
		}
		if why == "" {
			why = differs // from the newest: an older one is of a server that was replaced before
		}
	}
	first := source.files[0]
	sum, err := headSum(first.file, first.head)
	if err != nil {
		return nil, false, err
	}
	number := int64(1)
	if n := len(logs); n > 0 {
		number = numberOf(logName(), logs[n-1].name, 1) + 1
	}
	g, err = makeLog(top, aboutLog{
		FormatVersion: logFormat, ServerID: first.head.ServerID, FirstFile: first.name, Head: sum, Created: first.head.Created,
		Began: now.UTC().Truncate(time.Second), Why: why,
	}, number)
	return g, true, err
}

// differs says why the server's files do not continue a log; empty: they do.
func (g *aLog) differs(source *serverLog) (string, error) {
	if len(g.files) == 0 {
		sum, err := headSum(source.files[0].file, source.files[0].head)
		if err != nil || sum == g.about.Head {
			return "", err
		}
		return "the archive has no file, and was begun for another log", nil
	}
	for n := range g.files {
		f := &g.files[n]
		if s := source.of(f.name); s != nil {
			if why, err := g.differsIn(f, s); why != "" || err != nil {
				return why, err
			}
		}
	}
	last := &g.files[len(g.files)-1]
	if source.of(last.name) != nil {
		return "", nil
	}
	first := source.files[0]
	switch {
	case first.base() != last.base():
		return fmt.Sprintf("the server's files begin with %s, and %s was archived last", first.name, last.name), nil
	case first.number < last.number:
		return fmt.Sprintf("the server has %s and later files, and not %s, which was archived last", first.name, last.name), nil
	case first.head.ServerID != last.head.ServerID:
		return fmt.Sprintf("the server's id is %d, and was %d when %s was written", first.head.ServerID, last.head.ServerID, last.name), nil
	}
	if had, lacks := first.head.Start.Lacks(mustState(last.end().State)); lacks && (had.Source != "" || hasDomain(first.head.Start, had.Domain)) {
		return fmt.Sprintf("the server's log had not had transaction %s when %s began; the archive has it", had, first.name), nil
	}
	return "", nil
}

func hasDomain(s binlog.State, domain uint32) bool {
	_, ok := s.Last(domain)
	return ok
}

// mustState is a state of a mark; nothing for one that cannot be read, which then has a gap.
func mustState(text string) binlog.State {
	s, _ := binlog.ParseState(text)
	return s
}

// differsIn compares a file that is archived with the server's of the same name: how it begins, how long it is, and, where more is to come,
// the last bytes archived.
func (g *aLog) differsIn(f *archived, s *serverFile) (string, error) {
	in, err := g.dir.OpenFile(f.name, os.O_RDONLY, 0)
	if err != nil {
		return "", err
	}
	defer in.Close()
	is, err := headOf(s.file, s.head)
	if err != nil {
		return "", err
	}
	was, err := headOf(in, f.head)
	if err != nil {
		return "", err
	}
	end := f.end()
	switch {
	case !bytes.Equal(is, was):
		return fmt.Sprintf("%s of the server begins in another way than what was archived: it was made on %s by server %d, and on %s by server %d", f.name,
			f.head.Created.Format(time.RFC3339), f.head.ServerID, s.head.Created.Format(time.RFC3339), s.head.ServerID), nil
	case s.size < end.Offset:
		return fmt.Sprintf("%s of the server has %d bytes, and %d were archived", f.name, s.size, end.Offset), nil
	case end.Size != 0 && end.Size != s.size:
		return fmt.Sprintf("%s of the server has %d bytes, and had %d when it was closed", f.name, s.size, end.Size), nil
	}
	if end.Closed != "" {
		return "", nil
	}
	from := max(f.head.End, end.Offset-comparedEnd)
	a, b := make([]byte, end.Offset-from), make([]byte, end.Offset-from)
	_, err1 := io.ReadFull(io.NewSectionReader(in, from, end.Offset-from), a)
	_, err2 := io.ReadFull(io.NewSectionReader(s.file, from, end.Offset-from), b)
	if err := errors.Join(err1, err2); err != nil {
		return "", err
	}
	if !bytes.Equal(a, b) {
		return fmt.Sprintf("%s of the server differs from what was archived before offset %d", f.name, end.Offset), nil
	}
	return "", nil
}

// comparedEnd is how many of the last bytes of a file are compared: the checksums of some transactions.
const comparedEnd = 64 << 10

func (f *archived) base() string { return strings.TrimSuffix(f.name, filepath.Ext(f.name)) }

// bytes are those of all files of the log.
func (g *aLog) bytes() (n int64) {
	for i := range g.files {
		n += g.files[i].end().Offset
	}
	return n
}

// describe says what there is of a log.
func describe(logs []*aLog, g *aLog) Archived {
	out := Archived{Identity: g.name, Files: int64(len(g.files)), Bytes: g.bytes(), Gaps: g.gaps()}
	for _, other := range logs {
		if other.about.Why != "" {
			out.Forks = append(out.Forks, other.name+": "+other.about.Why)
		}
	}
	if len(g.files) > 0 {
		last := &g.files[len(g.files)-1]
		end := last.end()
		out.Last, out.LastAt, out.Position = g.mark(last, end.Offset), second(end.At), mustState(end.State).Position()
		out.From, out.Until = g.span()
	}
	return out
}

// span is the first and the last second that can be asked for. In the second of the last transaction more may have been written, and in
// the one in which the server's files were read.
func (g *aLog) span() (from, until time.Time) {
	until = second(g.files[len(g.files)-1].end().At).Add(-time.Second)
	if at := g.checked.UTC().Truncate(time.Second).Add(-time.Second); at.After(until) {
		until = at
	}
	return g.files[0].head.Created, until
}
