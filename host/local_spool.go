package host

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"stowage/farm"
	"stowage/internal/lazy"
	"stowage/internal/safefile"
)

// A spool is an archive of binary logs on its way into a repository: the same directory, on the host of the instance, below a directory of ours. What
// the repository has for good is taken away from it, but for what the next call compares: the head of the last file, and its last bytes.

// KeepSpool says where binary logs lie until a repository has them: a directory of ours.
func (l *Local) KeepSpool(dir string) { l.spool = dir }

var errNoSpool = errors.New("this program has no directory for a spool")

// Spooling asks for what is new of an instance's binary log, for a repository.
type Spooling struct {
	Instance Instance `json:"instance"`
	Index    string   `json:"index,omitempty"` // the server's @@log_bin_index
	Key      string   `json:"key"`             // of the repository: SpoolKey
	Kept     *Kept    `json:"kept,omitempty"`  // what it has; nil: nobody knows
	Most     int64    `json:"most"`            // bytes to be read at once
	Still    bool     `json:"still,omitempty"` // the server's files are not read
	// Silence is how long an idle server's repository waits for the next empty piece; at least a second.
	Silence time.Duration `json:"silence,omitempty"`
}

// Spooled is what came of it.
type Spooled struct {
	// Behind: the repository has what the spool lacks. Its end is to be laid into the spool before anything else.
	Behind   bool   `json:"behind,omitempty"`
	Appended int64  `json:"appended"`
	More     bool   `json:"more,omitempty"` // the server has more
	Next     *Piece `json:"next,omitempty"` // what the repository is to be given; nil: it has all
	Held     int64  `json:"held"`           // bytes of logs in the spool
}

var spoolKey = lazy.Regexp(`^[0-9a-f]{16}$`)

// spoolDir is the archive of an instance in a spool.
func (l *Local) spoolDir(key string, instance farm.InstanceName) (string, error) {
	switch {
	case l.spool == "":
		return "", errNoSpool
	case !spoolKey().MatchString(key):
		return "", fmt.Errorf("%w: %.100q is not the key of a repository", farm.ErrInput, key)
	case !filepath.IsLocal(string(instance)) || filepath.Base(string(instance)) != string(instance):
		return "", fmt.Errorf("%w: the name cannot be that of a directory", farm.ErrInput)
	}
	of := filepath.Join(l.spool, key)
	if err := os.MkdirAll(of, 0o700); err != nil {
		return "", err
	}
	return filepath.Join(of, string(instance), "binlog"), nil
}

// spool is such a directory, open and locked.
type spool struct {
	top    *safefile.Dir
	logs   []*aLog
	unlock func()
}

func (l *Local) openSpool(key string, instance farm.InstanceName) (*spool, error) {
	into, err := l.spoolDir(key, instance)
	if err != nil {
		return nil, err
	}
	s := &spool{}
	if s.top, err = openArchive(into); err != nil {
		return nil, err
	}
	if s.unlock, err = lockArchive(s.top); err != nil {
		return nil, errors.Join(err, s.top.Close())
	}
	if s.logs, err = openLogs(into); err != nil {
		s.close()
		return nil, err
	}
	return s, nil
}

func (s *spool) close() {
	closeLogs(s.logs)
	s.unlock()
	s.top.Close()
}

// SpoolBinlogs implements Archivist.
func (l *Local) SpoolBinlogs(ctx context.Context, s Spooling) (out Spooled, err error) {
	fail := func(err error) (Spooled, error) {
		return out, &farm.Error{Op: "archive binary log", Subject: string(s.Instance.Name), Err: err, Hint: farm.Hint(err)}
	}
	if s.Index == "" && !s.Still {
		if s.Index, err = l.BinlogIndex(ctx, s.Instance); err != nil {
			return fail(err)
		}
	}
	spool, err := l.openSpool(s.Key, s.Instance.Name)
	if err != nil {
		return fail(err)
	}
	defer spool.close()
	if s.Kept != nil {
		if out.Behind, err = isBehind(spool.logs, *s.Kept); err != nil || out.Behind {
			return orFail(out, err, fail)
		}
		for _, g := range spool.logs {
			if err := g.trim(*s.Kept); err != nil {
				return fail(err)
			}
		}
	}
	if s.Kept == nil && len(spool.logs) == 0 {
		return out, nil // nobody knows from where on
	}
	if !s.Still {
		if err := mayFill(spool.top.Path(), s.Most); err != nil {
			return fail(err)
		}
		closeLogs(spool.logs)
		var g *aLog
		spool.logs, g, err = l.bringUp(ctx, spool.top, s.Instance, s.Index, spool.top.Path(), s.Most)
		if g != nil {
			out.Appended = g.came
		}
		if out.More = errors.Is(err, errMore); err != nil && !out.More {
			return fail(err)
		}
	}
	for _, g := range spool.logs {
		out.Held += g.held()
	}
	if s.Kept != nil {
		out.Next, err = next(spool.logs, *s.Kept, s.Silence)
	}
	return orFail(out, err, fail)
}

func orFail[T any](out T, err error, fail func(error) (T, error)) (T, error) {
	if err != nil {
		return fail(err)
	}
	return out, nil
}

// isBehind reports whether the repository has what a spool does not have, or has otherwise: a spool that is new, or was brought back from a copy.
func isBehind(logs []*aLog, k Kept) (bool, error) {
	if len(k.Logs) == 0 {
		return false, nil
	}
	last := k.Logs[len(k.Logs)-1].Last
	for _, g := range logs {
		if g.name != last.log() {
			continue
		}
		if compareMarks(g.end(), last.To) < 0 {
			return true, nil
		}
		if g.file(last.To.File) < 0 || compareMarks(last.To, g.availableFrom()) < 0 {
			return false, nil // the repository has lost its newest pieces, and nothing is left here to be compared
		}
		is, err := g.tailAt(last.To)
		return is != last.Tail, err
	}
	return true, nil
}

// end is that of a log; the zero Mark where it has no file.
func (g *aLog) end() Mark {
	if len(g.files) == 0 {
		return Mark{}
	}
	last := &g.files[len(g.files)-1]
	return g.mark(last, last.end().Offset)
}

// tailAt is tailSum of a file of the log.
func (g *aLog) tailAt(m Mark) (string, error) {
	f, err := g.dir.OpenFile(m.File, os.O_RDONLY, 0)
	if err != nil {
		return "", err
	}
	defer f.Close()
	return tailSum(f, m.Offset)
}

// leastFree is what a spool leaves to others on its disk: a twentieth of it, at most so many bytes.
const leastFree = 4 << 30

// mayFill is nil when there is room for what is to be read.
func mayFill(dir string, most int64) error {
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		return err
	}
	free, least := int64(st.Bavail)*st.Bsize, min(leastFree, int64(st.Blocks)*st.Bsize/20)
	if free-most >= least {
		return nil
	}
	return &farm.Error{Op: "read", Subject: dir, Err: fmt.Errorf("%w: its disk has %s left, too little for more binary logs", unix.ENOSPC, farm.RoundQuantity(float64(free), farm.KindBytes)),
		Hint: "make room on that disk, or bring the repository back: it takes what waits here"}
}

// trim takes away what the repository has for good.
func (g *aLog) trim(k Kept) error {
	its, ok := k.log(g.name)
	if !ok || len(g.files) == 0 {
		return nil
	}
	from := available{File: its.Last.To.File, known: its.Last.ends()}
	if len(its.Window) > 0 {
		from = available{File: its.Window[0].From.File, known: its.Window[0].begins()}
	}
	at := g.file(from.File)
	if at < 0 || g.files[at].end().Offset < from.Offset {
		return nil // it is of another spool, whose last piece is longer
	}
	was, ok, err := g.available()
	if err != nil || ok && compareMarks(g.mark(&g.files[at], from.Offset), Mark{File: was.File, Offset: was.Offset}) <= 0 {
		return err
	}
	if err := setAvailable(g.dir, from); err != nil {
		return err
	}
	for _, f := range g.files[:at] {
		if err := g.remove(f.name); err != nil {
			return err
		}
	}
	g.files = g.files[at:]
	return g.punch(&g.files[0], from.Offset)
}

// punch gives the room back of what is before an offset, but for the head and what tailSum reads. Not every file system can do that.
func (g *aLog) punch(a *archived, offset int64) error {
	const block = 4096
	from := (a.head.End + block - 1) / block * block
	to := (offset - comparedEnd) / block * block
	if to <= from {
		return nil
	}
	f, err := g.dir.OpenFile(a.name, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := unix.Fallocate(int(f.Fd()), unix.FALLOC_FL_PUNCH_HOLE|unix.FALLOC_FL_KEEP_SIZE, from, to-from); !errors.Is(err, unix.EOPNOTSUPP) && !errors.Is(err, unix.ENOSYS) {
		return err
	}
	return nil
}

// held is what the log takes up on the disk.
func (g *aLog) held() (n int64) {
	for _, a := range g.files {
		f, err := g.dir.OpenFile(a.name, os.O_RDONLY, 0)
		if err != nil {
			continue
		}
		var st unix.Stat_t
		if unix.Fstat(int(f.Fd()), &st) == nil {
			n += st.Blocks * 512
		}
		f.Close()
	}
	return n
}

// sendPiece writes a piece of a spool.
func (l *Local) sendPiece(ctx context.Context, i Instance, key string, p Piece, w io.Writer) error {
	fail := func(err error) error {
		return &farm.Error{Op: "read spool of binary log", Subject: string(i.Name), Err: err}
	}
	spool, err := l.openSpool(key, i.Name)
	if err != nil {
		return fail(err)
	}
	defer spool.close()
	for _, g := range spool.logs {
		if g.name == p.log() {
			return errOr(fail, g.writePiece(ctx, p, w))
		}
	}
	return fail(fmt.Errorf("%w: %s", ErrNotArchived, p.log()))
}
