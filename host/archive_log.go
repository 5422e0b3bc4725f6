package host

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"stowage/binlog"
	"stowage/farm"
	"stowage/internal/lazy"
	"stowage/internal/nested"
	"stowage/internal/safefile"
)

// aLog is one log of an archive: its directory, and what is known of it.
type aLog struct {
	dir   *safefile.Dir
	name  string // of the directory
	about aboutLog
	files []archived // in the order of their numbers
	// unreadable are files that do not begin as one does, each with why. They count as missing.
	unreadable []error
	// checked is when the server's files were last read to their end; zero: nobody knows.
	checked time.Time
	// came is how many bytes were appended, most how many may be at once; 0: all.
	came, most int64
}

// aboutLog is log.json.
type aboutLog struct {
	FormatVersion int       `json:"format_version"`
	ServerID      uint32    `json:"server_id"`
	FirstFile     string    `json:"first_file"`
	Head          string    `json:"head_sha256"` // of the first file
	Created       time.Time `json:"created"`     // the first file, by the server
	Began         time.Time `json:"began"`       // the archive of this log
	// Why says why the server's log was not the one before; empty for the first.
	Why string `json:"why,omitempty"`
}

// archived is one file of a log.
type archived struct {
	name   string
	number int64
	head   binlog.Head
	marks  []known // at least one; of a closed file the first and the last
	// between are the lines between these two, unread.
	between []byte
	size    int64 // of the file: more than its last mark where a writer was killed
	// remade: the marks are not on the disk as they are here.
	remade bool
	// damage is what a scan of the file without marks found behind the last of them.
	damage error
}

func (f *archived) end() known { return f.marks[len(f.marks)-1] }

// all are all marks of the file. Where they cannot be read, the first and the last do: more is read of the file then.
func (f *archived) all() []known {
	between, err := parseMarks(f.between)
	if err != nil || len(between) == 0 || between[0].Offset < f.marks[0].Offset || between[len(between)-1].Offset > f.end().Offset {
		return f.marks
	}
	return append(append([]known{f.marks[0]}, between...), f.end())
}

const (
	logFile     = "log.json"
	checkedFile = "checked"
	logFormat   = 1
)

var (
	logName    = lazy.Regexp(`^(\d{4,})-s\d+-[0-9a-f]{8}$`)
	binlogName = lazy.Regexp(`^(.+)\.(\d{6,})$`)
)

// openLogs opens all logs of an archive, the oldest first. Close them.
func openLogs(into string) (logs []*aLog, err error) {
	top, err := safefile.OpenDir(into)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer top.Close()
	names, err := top.Names()
	if err != nil {
		return nil, err
	}
	names = slices.DeleteFunc(names, func(n string) bool { return !logName().MatchString(n) })
	slices.SortFunc(names, func(a, b string) int { return int(numberOf(logName(), a, 1) - numberOf(logName(), b, 1)) })
	defer func() {
		if err != nil {
			closeLogs(logs)
		}
	}()
	for _, name := range names {
		g, err := openLog(top, name)
		if errors.Is(err, fs.ErrNotExist) {
			continue // its maker was killed before it had a file
		}
		if err != nil {
			return logs, err
		}
		logs = append(logs, g)
	}
	return logs, nil
}

func closeLogs(logs []*aLog) {
	for _, g := range logs {
		g.dir.Close()
	}
}

// openLog reads what is known of a log. It is fs.ErrNotExist when it has no log.json.
func openLog(top *safefile.Dir, name string) (*aLog, error) {
	dir, err := top.Sub(name)
	if err != nil {
		return nil, err
	}
	g := &aLog{dir: dir, name: name}
	if err := g.load(); err != nil {
		dir.Close()
		return nil, err
	}
	return g, nil
}

func (g *aLog) load() error {
	about := g.readAbout()
	if about != nil && !errors.Is(about, fs.ErrNotExist) {
		return &farm.Error{Op: "read archive of a binary log", Subject: filepath.Join(g.dir.Path(), logFile), Err: about}
	}
	if f, err := g.dir.OpenFile(checkedFile, os.O_RDONLY, 0); err == nil {
		if info, err := f.Stat(); err == nil {
			g.checked = info.ModTime()
		}
		f.Close()
	}
	names, err := g.dir.Names()
	if err != nil {
		return err
	}
	names = slices.DeleteFunc(names, func(n string) bool { return !binlogName().MatchString(n) })
	slices.SortFunc(names, func(a, b string) int { return strings.Compare(numbered(a), numbered(b)) })
	for _, n := range names {
		a, err := g.read(n)
		var fault *binlog.Fault
		if errors.As(err, &fault) || errors.Is(err, binlog.ErrRefused) {
			g.unreadable = append(g.unreadable, fmt.Errorf("%s: %w", filepath.Join(g.dir.Path(), n), err))
			continue
		}
		if err != nil {
			return &farm.Error{Op: "read archive of a binary log", Subject: filepath.Join(g.dir.Path(), n), Err: err}
		}
		g.files = append(g.files, a)
	}
	if len(g.files) == 0 {
		return about // nobody knows whose log it was to be
	}
	return nil
}

func (g *aLog) readAbout() error {
	f, err := g.dir.OpenFile(logFile, os.O_RDONLY, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	raw, err := io.ReadAll(io.LimitReader(f, smallFile))
	if err != nil {
		return err
	}
	if err := nested.Unmarshal(raw, &g.about); err != nil {
		g.about = aboutLog{Why: "its " + logFile + " cannot be read: " + err.Error()}
		return nil
	}
	if g.about.FormatVersion != logFormat {
		return fmt.Errorf("%w: its format is %d, and this program knows %d", farm.ErrInput, g.about.FormatVersion, logFormat)
	}
	return nil
}

// read reads what is known of one file.
func (g *aLog) read(name string) (archived, error) {
	a := archived{name: name, number: numberOf(binlogName(), name, 2)}
	f, err := g.dir.OpenFile(name, os.O_RDONLY, 0)
	if err != nil {
		return a, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return a, err
	}
	a.size = info.Size()
	if a.head, err = binlog.ReadHead(f); err != nil {
		return a, err
	}
	a.marks, a.between, err = readMarks(g.dir, name)
	if err == nil && a.end().Offset <= a.size {
		return a, nil
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return a, err
	}
	from := known{}
	if n := len(g.files); n > 0 {
		from.At = g.files[n-1].end().At
	}
	a.remade, a.between = true, nil
	a.marks, a.damage = survey(f, from, info.ModTime().Unix()+clockSlack)
	if len(a.marks) == 0 {
		return a, a.damage
	}
	return a, nil
}

func numberOf(re *regexp.Regexp, name string, group int) int64 {
	m := re.FindStringSubmatch(name)
	if m == nil {
		return 0
	}
	n, _ := strconv.ParseInt(m[group], 10, 64) // digits; one too large for 64 bits is the largest
	return n
}

// numbered is a name that sorts by its number.
func numbered(name string) string {
	m := binlogName().FindStringSubmatch(name)
	return fmt.Sprintf("%s.%020d", m[1], numberOf(binlogName(), name, 2))
}

// headSum is the sum of a file's head, as closed.
func headSum(r io.ReaderAt, h binlog.Head) (string, error) {
	raw, err := headOf(r, h)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(raw)
	return hex.EncodeToString(sum[:]), nil
}

// headOf is a file's head, without the mark that the file is in use.
func headOf(r io.ReaderAt, h binlog.Head) ([]byte, error) {
	raw := make([]byte, h.End)
	if _, err := r.ReadAt(raw, 0); err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	raw[binlog.InUseByte] &^= binlog.InUseBit
	return raw, nil
}

// gaps are the stretches of the log that are not there.
func (g *aLog) gaps() []Gap {
	var out []Gap
	for n := 1; n < len(g.files); n++ {
		was, is := &g.files[n-1], &g.files[n]
		if missing(was.end().State, is.head.Start) {
			out = append(out, Gap{
				After: g.mark(was, was.end().Offset), Before: g.mark(is, is.head.End),
				Has: was.end().State, Next: is.head.Start.String(), Last: second(was.end().At),
			})
		}
	}
	return out
}

// missing reports whether there were transactions between a state and the beginning of the next file.
func missing(has string, next binlog.State) bool {
	state, err := binlog.ParseState(has)
	if err != nil {
		return true
	}
	_, lacks := state.Lacks(next)
	return lacks
}

func (g *aLog) mark(f *archived, offset int64) Mark {
	return Mark{Log: g.name, File: f.name, Offset: offset}
}

// file is the one of that name; its place is -1 when there is none.
func (g *aLog) file(name string) (at int) {
	return slices.IndexFunc(g.files, func(f archived) bool { return f.name == name })
}

// make makes the directory of a log that has no file yet.
func makeLog(top *safefile.Dir, about aboutLog, number int64) (*aLog, error) {
	name := fmt.Sprintf("%04d-s%d-%s", number, about.ServerID, about.Head[:8])
	dir, err := top.Mkdir(name, 0o750)
	if errors.Is(err, fs.ErrExist) {
		dir, err = top.Sub(name) // made by one that was killed before it wrote log.json
	}
	if err != nil {
		return nil, err
	}
	raw, err := json.MarshalIndent(about, "", "  ")
	if err == nil {
		err = dir.Replace(logFile, append(raw, '\n'), 0o640, nil)
	}
	if err = errors.Join(err, top.Sync()); err != nil {
		dir.Close()
		return nil, err
	}
	return &aLog{dir: dir, name: name, about: about}, nil
}
