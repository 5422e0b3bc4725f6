package host

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"stowage/farm"
)

// orphanWait is how long a killed process may take to be gone: it may wait for
// a disk.
const orphanWait = 30 * time.Second

// endOrphans ends what a program that was killed has left at work in an
// instance's data directory: a copy whose log is being applied, which takes
// minutes where it is large, or a server that rolls back what was prepared.
// Both make files by name at their end, and these would be in the next copy.
func (l *Local) endOrphans(ctx context.Context, i Instance) error {
	ctx, cancel := context.WithTimeout(ctx, orphanWait)
	defer cancel()
	for {
		pids := l.atWork(i)
		if len(pids) == 0 {
			return nil
		}
		for _, pid := range pids {
			l.log.Warn("stopping what a killed program left running", "instance", i.Name, "pid", pid)
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
		select {
		case <-ctx.Done():
			return &farm.Error{Op: "stop what was left running", Subject: i.Datadir, Err: fmt.Errorf("%w: processes %v are not gone after %v", farm.ErrRefused, pids, orphanWait)}
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// atWork are the processes that work on an instance's data and are no server
// that Running would tell of.
func (l *Local) atWork(i Instance) (pids []int) {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil
	}
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil || pid == os.Getpid() {
			continue
		}
		if line := commandLine(pid); l.isPrepare(line, i) || l.isRollback(line, i) {
			pids = append(pids, pid)
		}
	}
	return pids
}

// isPrepare reports whether a command line is one that Prepare makes.
func (l *Local) isPrepare(line []byte, i Instance) bool {
	return l.backup != "" && hasArgs(line, l.backup, "--prepare", "--target-dir="+i.Datadir)
}

// isRollback reports whether a command line is one that RollbackPrepared makes.
func (l *Local) isRollback(line []byte, i Instance) bool {
	return hasArgs(line, l.server, "--defaults-file="+i.Config, rollBack)
}

// hasArgs reports whether a command line names a program, perhaps behind a
// loader that comes before it, and has all of some arguments.
func hasArgs(line []byte, program string, want ...string) bool {
	first, _, _ := bytes.Cut(line, []byte("\x00--"))
	args := strings.Split(string(first), "\x00")
	if filepath.Base(args[len(args)-1]) != filepath.Base(program) {
		return false
	}
	for _, a := range want {
		if !bytes.Contains(append(line, 0), []byte("\x00"+a+"\x00")) {
			return false
		}
	}
	return true
}
