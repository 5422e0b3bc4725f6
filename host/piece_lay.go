package host

import (
	"archive/tar"
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"

	"stowage/binlog"
	"stowage/internal/nested"
	"stowage/internal/safefile"
)

// layer makes an archive of pieces, one behind the other: byte for byte what they were made of.
type layer struct {
	top  *safefile.Dir
	log  *safefile.Dir
	name string // of the log
	// files are those of the log, as far as they have come.
	files map[string]*laid
	first string // the file with which the first piece begins
	from  known  // and where
	last  Piece
	bytes int64
}

// laid is one file.
type laid struct {
	end   int64 // of what has come
	marks []known
}

// lay reads pieces until r ends.
func lay(ctx context.Context, top *safefile.Dir, r io.Reader) (*layer, error) {
	l := &layer{top: top, files: map[string]*laid{}}
	in := bufio.NewReaderSize(r, unpackBuffer)
	for n := 0; ; n++ {
		if _, err := in.Peek(1); err != nil {
			if errors.Is(err, io.EOF) && n > 0 {
				return l, l.finish()
			}
			if errors.Is(err, io.EOF) {
				err = errors.New("no piece came")
			}
			return l, err
		}
		if err := l.piece(ctx, in); err != nil {
			return l, err
		}
	}
}

// piece lays one.
func (l *layer) piece(ctx context.Context, r io.Reader) error {
	in := tar.NewReader(r)
	for {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		h, err := in.Next()
		if err != nil {
			return fmt.Errorf("a piece has no end: %w", err)
		}
		if h.Name == pieceFile {
			l.last = Piece{}
			if err := json.NewDecoder(io.LimitReader(in, smallFile)).Decode(&l.last); err != nil {
				return err
			}
			if l.first == "" {
				l.first, l.from = l.last.From.File, l.last.begins()
			}
			if _, err := in.Next(); !errors.Is(err, io.EOF) { // both blocks of zeros behind it are read
				return fmt.Errorf("something follows %s: %w", pieceFile, err)
			}
			return nil
		}
		if err := l.member(h, in); err != nil {
			return fmt.Errorf("%.200s: %w", h.Name, err)
		}
	}
}

// portionName takes the name of a portion apart.
func portionName(name string) (file string, offset int64, ok bool) {
	file, text, ok := cutLast(name, "+")
	offset, err := strconv.ParseInt(text, 10, 64)
	return file, offset, ok && err == nil && offset >= 0 && binlogName().MatchString(file) && !strings.ContainsAny(file, "/\x00")
}

func (l *layer) member(h *tar.Header, in io.Reader) error {
	log, name, ok := strings.Cut(h.Name, "/")
	if !ok || h.Typeflag != tar.TypeReg || !logName().MatchString(log) || l.name != "" && log != l.name {
		return errors.New("it is no part of this log")
	}
	if l.log == nil {
		dir, err := l.top.Mkdir(log, 0o750)
		if err != nil {
			return err
		}
		l.log, l.name = dir, log
	}
	if file, offset, is := portionName(name); is {
		return l.portion(file, offset, h.Size, in)
	}
	raw, err := io.ReadAll(io.LimitReader(in, smallFile))
	if err != nil {
		return err
	}
	switch file, isMarks := strings.CutSuffix(name, marksSuffix); {
	case name == logFile:
		return l.log.Replace(logFile, raw, 0o640, nil)
	case isMarks && l.files[file] != nil:
		marks, err := parseMarks(raw)
		l.files[file].marks = append(l.files[file].marks, marks...)
		return err
	}
	return errors.New("it is no part of a log")
}

// portion writes a part of a file at its place.
func (l *layer) portion(name string, offset, size int64, in io.Reader) (err error) {
	f, err := l.log.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o640)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	n, err := io.Copy(io.NewOffsetWriter(f, offset), in)
	if err != nil {
		return err
	}
	if n != size {
		return io.ErrUnexpectedEOF
	}
	if size == 0 { // the server took the file away before its last event, which has no transaction, was read
		if err := extend(f, offset); err != nil {
			return err
		}
	}
	l.bytes += n
	is := l.files[name]
	if is == nil {
		is = &laid{}
		l.files[name] = is
	}
	if offset > is.end && l.first != "" { // only the first piece begins in the middle of a file
		return fmt.Errorf("nothing came for what is before offset %d", offset)
	}
	is.end = max(is.end, offset+size)
	return nil
}

// extend makes a file at least so long. What is before a portion of nothing is a hole.
func extend(f *os.File, size int64) error {
	is, err := f.Stat()
	if err != nil || is.Size() >= size {
		return err
	}
	return f.Truncate(size)
}

// finish writes the marks.
func (l *layer) finish() error {
	for name, f := range l.files {
		if err := l.mark(name, f); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return errors.Join(l.log.Sync(), l.top.Sync())
}

func (l *layer) mark(name string, f *laid) error {
	in, err := l.log.OpenFile(name, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer in.Close()
	head, err := binlog.ReadHead(in)
	if err != nil {
		return err
	}
	marks := f.marks
	slices.SortStableFunc(marks, func(a, b known) int { return cmp.Compare(a.Offset, b.Offset) })
	if len(marks) == 0 || marks[0].Offset > head.End {
		marks = append([]known{{Offset: head.End, At: l.from.At, State: head.Start.String()}}, marks...)
	}
	out := marks[:1:1]
	for _, k := range marks[1:] {
		if last := &out[len(out)-1]; k.Offset > last.Offset {
			out = append(out, k)
		} else if k.Closed != "" {
			*last = k
		}
	}
	lines, err := text(out)
	if err == nil {
		err = errors.Join(in.Sync(), l.log.Replace(name+marksSuffix, lines, 0o640, nil))
	}
	return err
}

// dropCut removes the file with which the first piece begins when only its end came.
func (l *layer) dropCut() error {
	if l.from.Offset == 0 || len(l.files) == 1 {
		return nil
	}
	for _, n := range []string{l.first, l.first + marksSuffix} {
		if err := l.log.RemoveAll(n); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

func (l *layer) close() {
	if l.log != nil {
		l.log.Close()
	}
}

// available is what a spool has of a log: all from a place on.
type available struct {
	File string `json:"file"`
	known
}

const availableFile = "available.json"

// available is where what a spool has of a log begins; ok is false where it has all that it ever archived.
func (g *aLog) available() (a available, ok bool, err error) {
	f, err := g.dir.OpenFile(availableFile, os.O_RDONLY, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return a, false, nil
	}
	if err != nil {
		return a, false, err
	}
	defer f.Close()
	raw, err := io.ReadAll(io.LimitReader(f, smallFile))
	if err == nil {
		err = nested.Unmarshal(bytes.TrimSpace(raw), &a)
	}
	return a, err == nil, err
}

func setAvailable(dir *safefile.Dir, a available) error {
	raw, err := json.Marshal(a)
	if err != nil {
		return err
	}
	return dir.Replace(availableFile, append(raw, '\n'), 0o640, nil)
}
