package host

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"stowage/farm"
)

// PidFile and ErrorLog are names inside an instance's directory; the option
// files that Stowage writes use them.
const (
	PidFile  = "mysqld.pid"
	ErrorLog = "error.log"
)

// Running implements Host. The pid file is believed only when that process
// was started with this instance's option file.
func (l *Local) Running(_ context.Context, i Instance) (int, error) {
	raw, err := os.ReadFile(filepath.Join(i.Dir(), PidFile))
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, &farm.Error{Op: "read pid file", Subject: string(i.Name), Err: err}
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(raw)))
	if err != nil {
		return 0, nil // being written, or torn: no process we could name
	}
	line, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	if err != nil || !bytes.Contains(line, []byte("--defaults-file="+i.Config+"\x00")) {
		return 0, nil
	}
	return pid, nil
}

// Start implements Host.
func (l *Local) Start(ctx context.Context, i Instance, budget time.Duration) error {
	pid, err := l.Running(ctx, i)
	if err != nil {
		return err
	}
	died := make(chan error, 1)
	if pid == 0 {
		logFile := filepath.Join(i.Dir(), ErrorLog)
		before := size(logFile)
		cmd := l.command(context.Background(), l.server, "--defaults-file="+i.Config)
		if err := cmd.Start(); err != nil {
			return &farm.Error{Op: "start instance", Subject: string(i.Name), Err: err}
		}
		go func() { died <- l.explain(i, before, cmd.Wait()) }()
	}
	return l.awaitListening(ctx, i, budget, died)
}

// explain turns the end of a server that should be starting into an error.
func (l *Local) explain(i Instance, logFrom int64, err error) error {
	logFile := filepath.Join(i.Dir(), ErrorLog)
	raw, _ := os.ReadFile(logFile)
	if int64(len(raw)) > logFrom && bytes.Contains(raw[logFrom:], []byte("prepared transactions!")) {
		return &farm.Error{Op: "start instance", Subject: string(i.Name), Err: ErrPrepared}
	}
	return &farm.Error{Op: "start instance", Subject: string(i.Name),
		Err:  fmt.Errorf("the server ended (%v); its log says:\n  %s", err, tail(logFile, 5)),
		Hint: "read " + logFile}
}

func size(path string) int64 {
	st, err := os.Stat(path)
	if err != nil {
		return 0
	}
	return st.Size()
}

func (l *Local) awaitListening(ctx context.Context, i Instance, budget time.Duration, died <-chan error) error {
	deadline := time.Now().Add(budget)
	for {
		conn, err := net.DialTimeout("tcp", i.Dial(), time.Second)
		if err == nil {
			conn.Close()
			// Somebody answers; it is ours only when our process runs.
			if pid, _ := l.Running(ctx, i); pid != 0 {
				return nil
			}
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

// RollbackPrepared implements Host. The server ends by design with status 1
// once it has rolled the transactions back.
func (l *Local) RollbackPrepared(ctx context.Context, i Instance) error {
	cmd := l.command(ctx, l.server, "--defaults-file="+i.Config, "--tc-heuristic-recover=ROLLBACK")
	err := cmd.Run()
	raw, readErr := os.ReadFile(filepath.Join(i.Dir(), ErrorLog))
	if readErr == nil && bytes.Contains(raw, []byte("Please restart without --tc-heuristic-recover")) {
		return nil
	}
	return &farm.Error{Op: "roll back prepared transactions", Subject: string(i.Name),
		Err: fmt.Errorf("%v; its log says:\n  %s", err, tail(filepath.Join(i.Dir(), ErrorLog), 5))}
}

// Stop implements Host.
func (l *Local) Stop(ctx context.Context, i Instance, budget time.Duration) error {
	return l.signal(ctx, i, syscall.SIGTERM, budget)
}

// Kill ends an instance at once, as a crash would. For the demo's clean-up
// and for tests; an act never uses it.
func (l *Local) Kill(ctx context.Context, i Instance, budget time.Duration) error {
	return l.signal(ctx, i, syscall.SIGKILL, budget)
}

func (l *Local) signal(ctx context.Context, i Instance, sig syscall.Signal, budget time.Duration) error {
	deadline := time.Now().Add(budget)
	for sent := false; ; {
		pid, err := l.Running(ctx, i)
		if err != nil {
			return err
		}
		if pid == 0 {
			return nil
		}
		if !sent {
			if err := syscall.Kill(pid, sig); err != nil && !errors.Is(err, syscall.ESRCH) {
				return &farm.Error{Op: "stop instance", Subject: string(i.Name), Err: err}
			}
			sent = true
		}
		if time.Now().After(deadline) {
			return &farm.Error{Op: "stop instance", Subject: string(i.Name), Err: fmt.Errorf("pid %d still runs after %v", pid, budget),
				Hint: "it may be flushing a large buffer pool; look at its log and resume"}
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
		"--auth-root-authentication-method=normal", "--skip-test-db")
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

func lastLines(out []byte, n int) string {
	all := strings.Split(strings.TrimSpace(string(out)), "\n")
	return strings.Join(all[max(0, len(all)-n):], "\n  ")
}
