package host

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"stowage/binlog"
	"stowage/farm"
	"stowage/internal/safefile"
)

// serverLog are the files of a server's binary log as they are on its disk, opened: the server may remove them.
type serverLog struct{ files []*serverFile }

type serverFile struct {
	name   string
	number int64
	file   *os.File
	size   int64 // when it was opened
	head   binlog.Head
	isLast bool // the server writes it, or wrote it last
}

func (s *serverFile) base() string { return strings.TrimSuffix(s.name, filepath.Ext(s.name)) }

func (s *serverLog) close() {
	for _, f := range s.files {
		f.file.Close()
	}
}

// of is the file of that name, or nil.
func (s *serverLog) of(name string) *serverFile {
	if i := slices.IndexFunc(s.files, func(f *serverFile) bool { return f.name == name }); i >= 0 {
		return s.files[i]
	}
	return nil
}

// BinlogIndex is the file in which the server lists the files of its binary log, by what it was started with. The server's own
// @@log_bin_index is better where somebody can ask it.
func (l *Local) BinlogIndex(ctx context.Context, i Instance) (string, error) {
	s, err := l.Options(ctx, i)
	if err != nil {
		return "", err
	}
	path, _, ok := s.Value("log_bin_index")
	if !ok || path == "" {
		base, _, ok := s.Value("log_bin")
		if !ok || base == "" || base == "ON" || base == "OFF" {
			return "", &farm.Error{Op: "find binary log", Subject: string(i.Name), Err: fmt.Errorf("%w: its option files do not name it", farm.ErrInput),
				Hint: "log_bin = NAME in its option file, or ask the server: SELECT @@log_bin_index"}
		}
		path = strings.TrimSuffix(base, filepath.Ext(base)) + ".index"
	} else if filepath.Ext(path) == "" {
		path += ".index"
	}
	if !filepath.IsAbs(path) {
		path = filepath.Join(i.Datadir, path)
	}
	return path, nil
}

// indexTries is how often the list is read again while the server changes it: it does so in place.
const indexTries = 20

// openServerLog opens all files that the server lists.
func openServerLog(ctx context.Context, index, datadir string) (*serverLog, error) {
	for try := 1; ; try++ {
		s, err := tryServerLog(index, datadir)
		if err == nil {
			return s, nil
		}
		if try == indexTries || errors.Is(err, binlog.ErrRefused) {
			return nil, err
		}
		select {
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-time.After(50 * time.Millisecond):
		}
	}
}

func tryServerLog(index, datadir string) (s *serverLog, err error) {
	raw, err := safefile.ReadFile(index, smallFile)
	if err != nil {
		return nil, err
	}
	s = &serverLog{}
	defer func() {
		if err != nil {
			s.close()
		}
	}()
	paths := strings.Split(strings.TrimRight(string(raw), "\n"), "\n")
	for n, path := range paths {
		if !filepath.IsAbs(path) {
			path = filepath.Join(datadir, path)
		}
		f, err := openServerFile(path, n == len(paths)-1)
		if err != nil {
			return s, err
		}
		if f == nil {
			continue
		}
		if n := len(s.files); n > 0 && (f.number <= s.files[n-1].number || f.base() != s.files[n-1].base()) {
			f.file.Close()
			return s, fmt.Errorf("%s lists %s behind %s", index, f.name, s.files[n-1].name)
		}
		s.files = append(s.files, f)
	}
	if len(s.files) == 0 {
		return s, fmt.Errorf("%s lists no file that has begun", index)
	}
	return s, nil
}

// openServerFile opens one file; nil for one that has no head: the server has just made it, or was killed while it made it.
func openServerFile(path string, isLast bool) (*serverFile, error) {
	name := filepath.Base(path)
	if !binlogName().MatchString(name) {
		return nil, fmt.Errorf("%q is not the name of a binary log", name)
	}
	file, err := safefile.OpenFile(path, os.O_RDONLY, 0)
	if err != nil {
		return nil, err
	}
	f := &serverFile{name: name, number: numberOf(binlogName(), name, 2), file: file, isLast: isLast}
	info, err := file.Stat()
	if err == nil {
		f.size = info.Size()
		f.head, err = binlog.ReadHead(file)
	}
	if err == nil {
		return f, nil
	}
	file.Close()
	if binlog.IsCut(err) {
		return nil, nil
	}
	return nil, &fs.PathError{Op: "read", Path: path, Err: err}
}
