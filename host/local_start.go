package host

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"stowage/farm"
	"stowage/internal/lazy"
	"stowage/internal/optionfile"
	"stowage/internal/safefile"
)

// Options implements Host.
func (l *Local) Options(ctx context.Context, i Instance) (Start, error) {
	pid, err := l.Running(ctx, i)
	if err != nil {
		return Start{}, err
	}
	if pid == 0 {
		if inside := contained(i); inside != 0 {
			return Start{Contained: inside, Suffix: i.GroupSuffix}, nil
		}
	}
	if _, err := safefile.ReadFile(i.Config, smallFile); err != nil {
		return Start{}, &farm.Error{Op: "read option file", Subject: i.Config, Err: err, Hint: l.whichFiles(pid)}
	}
	var p process
	if pid == 0 {
		p = process{suffix: i.GroupSuffix, files: []string{i.Config}, account: l.credential, series: l.series(ctx, l.server)}
	} else if p, err = l.process(ctx, pid, true); err != nil {
		return Start{}, &farm.Error{Op: "read command line", Subject: string(i.Name), Err: err}
	}
	out := Start{PID: pid, Reader: nameOf(p.account), Suffix: p.suffix}
	seen := lookAs(p.account)
	lines := seen.lines(p, i, func(text string) string { return UnfenceOptions(i, text) })
	out.Files, out.Skipped, out.Options = i.named(seen.files), seen.skipped, p.starts(lines)
	persisted, err := p.persisted(i, out.Options)
	if err != nil {
		return Start{}, err
	}
	out.Options, out.Persisted = append(out.Options, persisted...), len(persisted)
	for _, o := range out.Options {
		if !slices.Contains(out.Groups, o.Group) && o.Group != "" {
			out.Groups = append(out.Groups, o.Group)
		}
		if o.File == optionfile.CommandLine && !slices.ContainsFunc(whereOptions, func(w string) bool { return strings.HasPrefix(w, "--"+strings.ReplaceAll(o.Key, "_", "-")+"=") }) {
			out.Argued++
		}
	}
	if out.Reads(i.Config) {
		out.Fence = fenceFault(seen, p, i, persisted)
	}
	out.Sharers = l.sharers(ctx, i, pid)
	if err := writable(i.Config); err != nil {
		out.Unwritable = err.Error()
	}
	return out, nil
}

// named are files with the instance's own by the name that farm.yaml has for
// it: its server may know it by another, through a link.
func (i Instance) named(files []string) []string {
	out := slices.Clone(files)
	for n, f := range out {
		if isSameFile(f, i.Config) {
			out[n] = i.Config
		}
	}
	return out
}

func isSameFile(a, b string) bool {
	if a == b {
		return true
	}
	x, err := os.Stat(a)
	if err != nil {
		return false
	}
	y, err := os.Stat(b)
	return err == nil && os.SameFile(x, y)
}

// whichFiles says which files a server that runs was started with.
func (l *Local) whichFiles(pid int) string {
	if pid == 0 {
		return "say where it is: config of the side in farm.yaml"
	}
	p, err := l.process(context.Background(), pid, false)
	if err != nil || len(p.files) == 0 {
		return "say where it is: config of the side in farm.yaml"
	}
	hint := "config of the side in farm.yaml: its server, pid " + strconv.Itoa(pid) + ", begins with " + strings.Join(p.files, ", ")
	if p.suffix != "" {
		hint += " and has group_suffix " + p.suffix
	}
	return hint
}

// process is how a server was started.
type process struct {
	files   []string // with which it begins
	suffix  string
	given   []optionfile.Line   // on its command line
	account *syscall.Credential // that reads the files; nil: ours
	series  series
	datadir string // the directory that it works in
}

// series is which groups with a version a server reads.
type series struct {
	number  string // "10.11"
	mariaDB bool
}

var versionText = lazy.Regexp(`Ver (\d+\.\d+)`)

// programFile is a program as it is on the disk: an upgrade makes it another.
type programFile struct {
	path  string
	size  int64
	wrote time.Time
}

// series asks a server program which it is, once: it takes as long as a start.
func (l *Local) series(ctx context.Context, program string) series {
	info, err := os.Stat(program)
	if err != nil {
		return l.askSeries(ctx, program)
	}
	file := programFile{program, info.Size(), info.ModTime()}
	if known, ok := l.allSeries.Load(file); ok {
		return known.(series)
	}
	is := l.askSeries(ctx, program)
	if is.number != "" {
		l.allSeries.Store(file, is)
	}
	return is
}

func (l *Local) askSeries(ctx context.Context, program string) series {
	out, err := l.command(ctx, program, "--no-defaults", "--version").Output()
	if m := versionText().FindSubmatch(out); err == nil && m != nil {
		return series{string(m[1]), bytes.Contains(out, []byte("MariaDB"))}
	}
	return series{"", true}
}

// process reads how a server was started. Its series takes a program to find out.
func (l *Local) process(ctx context.Context, pid int, needsSeries bool) (process, error) {
	dir := "/proc/" + strconv.Itoa(pid)
	args := argsOf(pid)
	var st unix.Stat_t
	if err := unix.Stat(dir, &st); err != nil || len(args) == 0 || args[0] == "" {
		return process{}, errors.Join(err, fmt.Errorf("process %d has ended", pid))
	}
	first := max(0, slices.IndexFunc(args, isServerName)) // a loader may come before the server
	a := optionfile.ParseArguments(args[first+1:])
	p := process{files: a.Files(nil, ""), suffix: a.Suffix, given: a.Options}
	if a.File == "" && !a.None {
		p.files = a.Files(packaged(dir))
	}
	p.datadir, _ = os.Readlink(dir + "/cwd")
	// Who asks for an account was root when it read them.
	if asks := slices.ContainsFunc(a.Options, func(o optionfile.Line) bool { return o.Key == "user" }); os.Geteuid() == 0 && !asks && st.Uid != 0 {
		p.account = &syscall.Credential{Uid: st.Uid, Gid: st.Gid, Groups: groupsOfProcess(pid)}
	}
	program, err := os.Readlink(dir + "/exe")
	if err != nil || first > 0 {
		program = l.server
	}
	if needsSeries {
		p.series = l.series(ctx, program)
	}
	return p, nil
}

// packaged are the files that a server reads where its command line names none:
// those of its package, and its user's own.
func packaged(dir string) (files []string, own string) {
	files = slices.Clone(optionfile.PackagedFiles)
	if its := environment(dir, "MYSQL_HOME", "MARIADB_HOME"); its != "" {
		files = append(files, filepath.Join(its, "my.cnf"))
	}
	if home := environment(dir, "HOME"); home != "" {
		own = filepath.Join(home, ".my.cnf")
	}
	return files, own
}

func environment(dir string, names ...string) string {
	raw, _ := os.ReadFile(dir + "/environ")
	for _, name := range names {
		for _, e := range bytes.Split(raw, []byte{0}) {
			if v, ok := bytes.CutPrefix(e, []byte(name+"=")); ok {
				return string(v)
			}
		}
	}
	return ""
}

// starts are the options of files with those of the command line behind them.
// mysqld_multi hands a server what the file has in its group as arguments, the
// next time as it is then: what is there counts as in the file, but last.
func (p process) starts(lines []optionfile.Line) []optionfile.Line {
	out := slices.Clone(lines)
	own := "mysqld" + p.suffix
	inFile := func(o optionfile.Line) bool {
		return p.suffix != "" && slices.ContainsFunc(lines, func(x optionfile.Line) bool { return x.Group == own && x.Key == o.Key })
	}
	if slices.ContainsFunc(p.given, inFile) {
		for _, o := range lines {
			if o.Group == own {
				out = append(out, o)
			}
		}
	}
	for _, o := range p.given {
		if o.Key != "user" && !inFile(o) && (p.suffix == "" || !isFenceOption(o)) {
			out = append(out, o)
		}
	}
	return out
}

// isFenceOption: mysqld_multi hands over a fence too, and it is taken out of the
// file before the next start.
func isFenceOption(o optionfile.Line) bool {
	return o.Key == "loose_super_read_only" || o.Key == "read_only" || o.Key == "event_scheduler"
}

func nameOf(account *syscall.Credential) string {
	if account == nil {
		return safefile.UserName(uint32(os.Geteuid()))
	}
	return safefile.UserName(account.Uid)
}

// fenceFault is why a fence at the end of the option file, which the server
// reads, would not hold.
func fenceFault(seen *sight, p process, i Instance, persisted []optionfile.Line) string {
	lines := seen.lines(p, i, func(text string) string { return FenceOptions(i, UnfenceOptions(i, text)) })
	s := Start{Options: append(p.starts(lines), persisted...)}
	for _, x := range []struct{ key, want string }{{"read_only", "ON"}, {"event_scheduler", "OFF"}} {
		if v, where, _ := s.Value(x.key); v != x.want {
			if where == "" {
				return "[" + i.Group("") + "] is no group that it reads"
			}
			return fmt.Sprintf("%s is read later and sets %s = %s", where, x.key, v)
		}
	}
	return ""
}

// writable is nil when a file can be replaced, where its name leads to.
func writable(path string) error {
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return err
	}
	if err := unix.Access(filepath.Dir(real), unix.W_OK|unix.X_OK); err != nil {
		return &fs.PathError{Op: "write to", Path: filepath.Dir(real), Err: err}
	}
	return nil
}
