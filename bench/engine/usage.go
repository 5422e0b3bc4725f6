package engine

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"stowage/bench"
	"stowage/bench/engine/sheet"
)

// usage is what servers have used since they started, and the device since it was plugged in.
type usage struct {
	cpu           time.Duration // user and system
	read, written int64         // /proc/PID/io
	syncs         int64         // as the servers count them
	device        bench.Counts
	own           time.Duration // processor time of ours
}

func (b *bencher) usage(ctx context.Context, servers []*server) (usage, error) {
	var u usage
	for _, s := range servers {
		syncs, err := s.syncs(ctx)
		if err != nil {
			return u, err
		}
		cpu, err := s.cpu()
		if err != nil {
			return u, err
		}
		read, written, err := s.io()
		if err != nil {
			return u, err
		}
		u.cpu, u.read, u.written, u.syncs = u.cpu+cpu, u.read+read, u.written+written, u.syncs+syncs
	}
	u.device = b.ground.Counts()
	var r syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &r); err == nil {
		u.own = time.Duration(r.Utime.Nano() + r.Stime.Nano())
	}
	return u, nil
}

// moved is what went by between two usages. Where the device is ours alone its counts are taken, because they have what the file system writes
// for itself; otherwise the processes'.
func (b *bencher) moved(from, to usage) sheet.Moved {
	m := sheet.Moved{
		Written: to.written - from.written, Read: to.read - from.read, Flushes: to.syncs - from.syncs,
		DeviceWritten: to.device.Written - from.device.Written, ProcessWritten: to.written - from.written,
	}
	if b.ground.Own {
		m.Written, m.Read, m.Flushes = m.DeviceWritten, to.device.Read-from.device.Read, to.device.Flushes-from.device.Flushes
		m.Operations = to.device.Operations - from.device.Operations
	}
	return m
}

// tick is the unit of /proc/PID/stat: USER_HZ is 100 wherever Linux runs Go.
const tick = 10 * time.Millisecond

// cpu is user and system time of the whole process.
func (s *server) cpu() (time.Duration, error) {
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", s.pid()))
	if err != nil {
		return 0, s.fail("read processor time of", err)
	}
	_, rest, _ := strings.Cut(string(raw), ") ") // the name before it may hold anything
	f := strings.Fields(rest)
	if len(f) < 13 {
		return 0, s.fail("read processor time of", fmt.Errorf("/proc has %q", raw))
	}
	user, err1 := strconv.ParseInt(f[11], 10, 64)
	system, err2 := strconv.ParseInt(f[12], 10, 64)
	if err1 != nil || err2 != nil {
		return 0, s.fail("read processor time of", fmt.Errorf("/proc has %q", raw))
	}
	return time.Duration(user+system) * tick, nil
}

// io is what the process had read from and written to storage. Pages that were written to a file and taken back are not counted.
func (s *server) io() (read, written int64, err error) {
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/io", s.pid()))
	if err != nil {
		return 0, 0, s.fail("read bytes of", err)
	}
	v := fields(string(raw))
	return v["read_bytes"], v["write_bytes"] - v["cancelled_write_bytes"], nil
}

// rss is the memory that the process has.
func (s *server) rss() int64 {
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", s.pid()))
	if err != nil {
		return 0
	}
	return fields(string(raw))["VmRSS"] << 10
}

// fields are the numbers of lines like "name: 12 kB".
func fields(text string) map[string]int64 {
	out := map[string]int64{}
	for line := range strings.Lines(text) {
		name, value, ok := strings.Cut(line, ":")
		if f := strings.Fields(value); ok && len(f) > 0 {
			if n, err := strconv.ParseInt(f[0], 10, 64); err == nil {
				out[name] = n
			}
		}
	}
	return out
}

// syncs is how often the server asked for data to be on storage, by its own counts: of InnoDB's files, of MyRocks' log, of Aria's log, and
// of the binary log where that is synced.
func (s *server) syncs(ctx context.Context) (int64, error) {
	st, err := s.pairs(ctx, "SHOW GLOBAL STATUS WHERE variable_name IN ('Innodb_data_fsyncs', 'Rocksdb_wal_synced', 'Aria_transaction_log_syncs', 'Binlog_group_commits')")
	if err != nil {
		return 0, err
	}
	if s.cell.Durability != sheet.Durable {
		delete(st, "Binlog_group_commits")
	}
	var n int64
	for _, text := range st {
		v, _ := strconv.ParseInt(text, 10, 64) // the server writes numbers
		n += v
	}
	return n, nil
}

// logs are files that come and go whatever the data is.
func isLog(name string) bool {
	for _, prefix := range []string{"#ib_", "ib_logfile", "bl.", "aria_log", "relay", "ib_buffer_pool", "ibtmp", "LOG", "MANIFEST", "OPTIONS"} {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	return strings.HasSuffix(name, ".log")
}

// size is what the data takes on disk: files of the tables, of the dictionary's tablespace and undo, without logs and the server's own tables.
func (s *server) size() int64 {
	var bytes int64
	_ = filepath.WalkDir(s.datadir(), func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return nil // gone meanwhile
		}
		if e.IsDir() {
			if n := e.Name(); n == "mysql" || n == "sys" || n == "performance_schema" || strings.HasPrefix(n, "#innodb_") {
				return filepath.SkipDir
			}
			return nil
		}
		info, err := e.Info()
		if err == nil && info.Mode().IsRegular() && !isLog(e.Name()) {
			if sys, ok := info.Sys().(*syscall.Stat_t); ok {
				bytes += sys.Blocks * 512
			}
		}
		return nil
	})
	return bytes
}
