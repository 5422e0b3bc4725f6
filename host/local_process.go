package host

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"stowage/farm"
	"stowage/internal/lazy"
	"stowage/internal/safefile"
)

// PidFile and ErrorLog are names inside an instance's directory; the option
// files that Stowage writes use them.
const (
	PidFile  = "mysqld.pid"
	ErrorLog = "error.log"
)

// Running implements Host. The pid file is believed only when that process
// was started with this instance's option file. A server writes it late in
// its start; until then it is found by the option file alone, or a program
// that took over from a killed one would start a second server beside it.
func (l *Local) Running(_ context.Context, i Instance) (int, error) {
	if i.GroupSuffix != "" { // others start with its option file, too
		return l.others(i), nil
	}
	pid, err := l.serving(i)
	if pid != 0 || err != nil {
		return pid, err
	}
	if pid = l.starting(i); pid != 0 {
		return pid, nil
	}
	return l.others(i), nil
}

// others is a server of this instance that Start did not start, but mysqld_multi
// or a unit of the distribution. It is known by the directory that it works in,
// which is its data directory.
func (l *Local) others(i Instance) int {
	datadir, err := filepath.EvalSymlinks(i.Datadir)
	if err != nil {
		return 0
	}
	for _, pid := range servers() {
		if works, err := os.Readlink(fmt.Sprintf("/proc/%d/cwd", pid)); err != nil || works != datadir || !seesOurFiles(pid) {
			continue
		}
		line := commandLine(pid)
		if !slices.ContainsFunc(noServer, func(o string) bool { return bytes.Contains(line, []byte("\x00"+o)) }) {
			return pid
		}
	}
	return 0
}

// noServer are options of a program that works on the data of an instance and
// takes no connections.
var noServer = []string{"--bootstrap", "--initialize", "--skip-networking\x00--skip-log-bin", "--tc-heuristic-recover"}

// serving is the process the pid file names: it listens.
func (l *Local) serving(i Instance) (int, error) {
	raw, err := safefile.ReadFile(filepath.Join(i.Dir(), PidFile), 100)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, safefile.ErrLink) { // what a link says is not believed
		return 0, nil
	}
	if err != nil {
		return 0, &farm.Error{Op: "read pid file", Subject: string(i.Name), Err: err}
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(raw)))
	if err != nil || !bytes.Contains(commandLine(pid), []byte("--defaults-file="+i.Config+"\x00")) || !seesOurFiles(pid) {
		return 0, nil // being written, torn, old, or of a container: no process we could name
	}
	return pid, nil
}

// starting is a server of this instance that has no pid file, or 0. Only a
// command line as Start makes it counts: other programs read the file too.
func (l *Local) starting(i Instance) int {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return 0
	}
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		if l.isStart(commandLine(pid), i) && seesOurFiles(pid) {
			return pid
		}
	}
	return 0
}

// whereOptions are options that say where a server's own files are; a wrapper
// around a server that is not installed in its usual place adds them.
var whereOptions = []string{"--basedir=", "--plugin-dir=", "--lc-messages-dir=", "--character-sets-dir="}

// isStart reports whether a command line is one that Start makes: the server,
// perhaps run by a loader that comes before it, the option file, and nothing
// behind it but where the server's files are.
func (l *Local) isStart(line []byte, i Instance) bool {
	args := strings.Split(strings.TrimSuffix(string(line), "\x00"), "\x00")
	at := slices.Index(args, "--defaults-file="+i.Config)
	if at < 1 || filepath.Base(args[at-1]) != filepath.Base(l.server) {
		return false
	}
	for _, a := range args[at+1:] {
		if !slices.ContainsFunc(whereOptions, func(o string) bool { return strings.HasPrefix(a, o) }) {
			return false
		}
	}
	return true
}

// commandLine is program and arguments of a process, each ended by a zero
// byte; empty for one that is gone.
func commandLine(pid int) []byte {
	line, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	return line
}

// Start implements Host.
func (l *Local) Start(ctx context.Context, i Instance, budget time.Duration) error {
	pid, err := l.Running(ctx, i)
	if err != nil {
		return err
	}
	died := make(chan error, 1)
	logFile := filepath.Join(i.Dir(), ErrorLog)
	before := size(logFile)
	if pid == 0 && l.systemctl != "" {
		if err := l.startUnit(ctx, i, budget); err != nil {
			return l.explain(i, before, err)
		}
	} else if pid == 0 {
		cmd := l.command(context.Background(), l.server, "--defaults-file="+i.Config)
		// What is wrong with the option file a server says before it opens its
		// log. A file, not a pipe: it must not depend on us.
		out, err := l.openLog(logFile)
		if err == nil {
			cmd.Stdout, cmd.Stderr = out, out
			err = errors.Join(cmd.Start(), out.Close())
		}
		if err != nil {
			return &farm.Error{Op: "start instance", Subject: string(i.Name), Err: err}
		}
		go func() { died <- l.explain(i, before, cmd.Wait()) }()
	} else { // somebody else's child, perhaps of a program that was killed
		watch, cancel := context.WithCancel(ctx)
		defer cancel()
		go func() {
			if l.awaitGone(watch, i) == nil {
				died <- l.explain(i, before, errors.New("while it was starting"))
			}
		}()
	}
	return l.awaitListening(ctx, i, budget, died)
}

// explain turns the end of a server that should be starting into an error.
func (l *Local) explain(i Instance, logFrom int64, err error) error {
	logFile := filepath.Join(i.Dir(), ErrorLog)
	raw, _ := safefile.From(logFile, logFrom, mostLog)
	if bytes.Contains(raw, []byte("prepared transactions!")) {
		return &farm.Error{Op: "start instance", Subject: string(i.Name), Err: ErrPrepared}
	}
	err = fmt.Errorf("the server ended (%v); its log says:\n  %s", err, tail(logFile, 5))
	if badOption().Match(raw) { // it would end the same way the next time
		err = fmt.Errorf("%w: %w", farm.ErrRefused, err)
	}
	return &farm.Error{Op: "start instance", Subject: string(i.Name),
		Err:  err,
		Hint: "read " + logFile}
}

// badOption is what servers say of an option file that they cannot use: MariaDB
// 10.11 and MySQL 9.7 in my_getopt.c and my_default.c.
var badOption = lazy.Regexp(`(?i)unknown (variable|option|suffix)|ambiguous option|Error while setting value|Unknown/unsupported storage engine|Found option without preceding group|requires an argument`)

func (l *Local) openLog(path string) (*os.File, error) {
	f, err := safefile.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o640)
	if err != nil {
		return nil, err
	}
	if err := l.Own(f); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// mostLog is how much of a log is looked at for what a start has said.
const mostLog = 16 << 20

func size(path string) int64 {
	st, err := os.Lstat(path)
	if err != nil {
		return 0
	}
	return st.Size()
}

func (l *Local) awaitListening(ctx context.Context, i Instance, budget time.Duration, died <-chan error) error {
	return l.awaitAnswer(ctx, i, budget, died, func() bool {
		pid, _ := l.serving(i)
		return pid != 0
	})
}

// awaitAnswer waits until somebody answers, and it is ours.
func (l *Local) awaitAnswer(ctx context.Context, i Instance, budget time.Duration, died <-chan error, isOurs func() bool) error {
	deadline := time.Now().Add(budget)
	for {
		// Somebody answers; it is ours only when our process runs.
		if answers(i) && isOurs() {
			return nil
		}
		select {
		case err := <-died:
			return err
		case <-ctx.Done():
			return &farm.Error{Op: "start instance", Subject: string(i.Name), Err: ctx.Err()}
		case <-time.After(10 * time.Millisecond):
		}
		if time.Now().After(deadline) {
			return &farm.Error{Op: "start instance", Subject: string(i.Name),
				Err: fmt.Errorf("takes no connection at %s after %v", i.Dial(), budget), Hint: "read " + filepath.Join(i.Dir(), ErrorLog)}
		}
	}
}

// answers reports whether a server greets at the instance's address. That the
// port can be dialled is not enough: it listens long before it is up, and a
// server that gets a SIGTERM in between can hang for ever (MariaDB 10.11.19,
// in init_slave).
func answers(i Instance) bool {
	conn, err := net.DialTimeout("tcp", i.Dial(), time.Second)
	if err != nil {
		return false
	}
	defer conn.Close()
	_ = conn.SetReadDeadline(time.Now().Add(time.Second))
	_, err = io.ReadFull(conn, make([]byte, 5)) // length, number, and protocol version or error
	return err == nil
}

// awaitGone returns nil when the instance has no process any more.
func (l *Local) awaitGone(ctx context.Context, i Instance) error {
	for {
		if pid, err := l.Running(ctx, i); err != nil || pid == 0 {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// rollBack is the option with which a server rolls back and ends.
const rollBack = "--tc-heuristic-recover=ROLLBACK"

// RollbackPrepared implements Host. The server ends by design with status 1
// once it has rolled the transactions back.
func (l *Local) RollbackPrepared(ctx context.Context, i Instance) error {
	cmd := l.command(ctx, l.server, "--defaults-file="+i.Config, rollBack)
	before := size(filepath.Join(i.Dir(), ErrorLog))
	err := cmd.Run()
	raw, readErr := safefile.From(filepath.Join(i.Dir(), ErrorLog), before, mostLog)
	if readErr == nil && bytes.Contains(raw, []byte("Please restart without --tc-heuristic-recover")) {
		return nil
	}
	return &farm.Error{Op: "roll back prepared transactions", Subject: string(i.Name),
		Err: fmt.Errorf("%v; its log says:\n  %s", err, tail(filepath.Join(i.Dir(), ErrorLog), 5))}
}

// Stop implements Host. It has an end: a server that still runs when the budget
// is used up gets a SIGKILL, as if its machine had lost power. That happens:
// MariaDB 10.11.19 can hang for ever when it is told to stop while it starts.
func (l *Local) Stop(ctx context.Context, i Instance, budget time.Duration) error {
	if l.systemctl != "" {
		if err := l.stopUnit(ctx, i, budget); err != nil {
			l.log.Warn("systemd does not stop the unit; telling the server itself", "instance", i.Name, "error", err)
		}
	}
	err := l.signal(ctx, i, syscall.SIGTERM, budget)
	if err == nil || ctx.Err() != nil || !errors.Is(err, errStillRuns) {
		return err
	}
	l.log.Warn("the server does not stop; killing it", "instance", i.Name, "after", budget)
	return l.signal(ctx, i, syscall.SIGKILL, 30*time.Second)
}

// Kill ends an instance at once, as a crash would. For the demo's clean-up,
// for servers whose data goes with them, and for tests; an act never uses it on a server of the farm.
func (l *Local) Kill(ctx context.Context, i Instance, budget time.Duration) error {
	return l.signal(ctx, i, syscall.SIGKILL, budget)
}

var errStillRuns = errors.New("it still runs")

func (l *Local) signal(ctx context.Context, i Instance, sig syscall.Signal, budget time.Duration) error {
	deadline := time.Now().Add(budget)
	// A server that is starting is better left alone until it is up; see answers.
	ripe := time.Now().Add(min(budget/2, 30*time.Second))
	safe, asked := 0, false
	for sent := false; ; {
		pid, err := l.Running(ctx, i)
		if err != nil {
			return err
		}
		// A mysqld_safe looks for the pid file of its server after that has ended: it would take the file of a server that was started meanwhile for a crash, and start another.
		if pid == 0 && (safe == 0 || !isSafe(safe)) {
			return nil
		}
		if pid == 0 {
			pid, sent = safe, true
		} else if safe == 0 {
			safe = safeAround(pid)
		}
		if !sent && sig == syscall.SIGKILL && safe != 0 { // first: it starts a server again that was killed
			_ = syscall.Kill(safe, sig)
		}
		if !sent && (sig == syscall.SIGKILL || answers(i) || time.Now().After(ripe)) {
			if sig == syscall.SIGTERM && !asked {
				asked, sent = true, l.stopOthersUnit(ctx, pid, time.Until(deadline))
				continue // it may have taken a while: look again who runs
			}
			if err := syscall.Kill(pid, sig); err != nil && !errors.Is(err, syscall.ESRCH) {
				return &farm.Error{Op: "stop instance", Subject: string(i.Name), Err: err}
			}
			sent = true
		}
		if time.Now().After(deadline) {
			return &farm.Error{Op: "stop instance", Subject: string(i.Name), Err: fmt.Errorf("%w: pid %d, after %v", errStillRuns, pid, budget),
				Hint: "not even SIGKILL ends it: its disk may not answer; look at the host"}
		}
		select {
		case <-ctx.Done():
			return &farm.Error{Op: "stop instance", Subject: string(i.Name), Err: ctx.Err()}
		case <-time.After(5 * time.Millisecond):
		}
	}
}

// InstallDB fills an empty data directory with the system tables.
func (l *Local) InstallDB(ctx context.Context, i Instance) error {
	cmd := l.command(ctx, l.installDB, "--defaults-file="+i.Config, "--datadir="+i.Datadir,
		"--auth-root-authentication-method=normal", "--skip-test-db", "--skip-name-resolve")
	out, err := cmd.CombinedOutput()
	if err != nil {
		return &farm.Error{Op: "install system tables", Subject: string(i.Name), Err: fmt.Errorf("%w:\n  %s", err, lastLines(out, 5))}
	}
	return nil
}

// CopyDatadir copies a stopped instance's data directory, as a template.
func (l *Local) CopyDatadir(ctx context.Context, from, to Instance) error {
	cmd := l.command(ctx, "/bin/cp", "-a", "--reflink=auto", from.Datadir+"/.", to.Datadir)
	if out, err := cmd.CombinedOutput(); err != nil {
		return &farm.Error{Op: "copy data directory", Subject: string(to.Name), Err: fmt.Errorf("%w: %s", err, lastLines(out, 3))}
	}
	return nil
}

// complaints are what a program of the server says of why it failed, without its clock, in one line: its last errors, or its last lines where it calls nothing an error.
func complaints(out []byte) string {
	var errors, all []string
	for _, line := range strings.Split(strings.TrimSpace(string(out)), "\n") {
		line = strings.TrimSpace(stampAhead().ReplaceAllString(line, ""))
		if line == "" || slices.Contains(all, line) {
			continue
		}
		all = append(all, line)
		if strings.Contains(strings.ToLower(line), "error") {
			errors = append(errors, line)
		}
	}
	if len(errors) == 0 {
		errors = all
	}
	return strings.Join(errors[max(0, len(errors)-6):], "; ")
}

// stampAhead begins a line of a server's program: [00] and a moment, in any order, and a thread.
var stampAhead = lazy.Regexp(`^(\[\d\d\] )?\d{4}-\d\d-\d\d[ T]+\d{1,2}:\d\d:\d\d(\.\d+Z)?( \d+)?\s*`)

func lastLines(out []byte, n int) string {
	all := strings.Split(strings.TrimSpace(string(out)), "\n")
	return strings.Join(all[max(0, len(all)-n):], "\n  ")
}
