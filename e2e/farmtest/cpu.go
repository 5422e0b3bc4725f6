package farmtest

import (
	"database/sql"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"stowage/farm"
)

// tick is the kernel's unit in /proc/PID/stat (USER_HZ), on Linux.
const tick = 10 * time.Millisecond

// cpuOf is what a process has used, by itself and in the kernel; 0 of one that is gone.
func cpuOf(pid int) time.Duration {
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0
	}
	fields := strings.Fields(string(raw[strings.LastIndexByte(string(raw), ')')+1:])) // from the third on
	if len(fields) < 13 {
		return 0
	}
	user, e1 := strconv.Atoi(fields[11])
	system, e2 := strconv.Atoi(fields[12])
	if e1 != nil || e2 != nil {
		return 0
	}
	return time.Duration(user+system) * tick
}

// CPU is what the program has used.
func (b *background) CPU() time.Duration { return cpuOf(b.cmd.Process.Pid) }

// ServersCPU is what the servers of the shard's pair have used.
func (f *FilesFarm) ServersCPU() (all time.Duration) {
	f.T.Helper()
	for name, db := range f.Sides() {
		var file string
		if err := db.QueryRowContext(f.T.Context(), "SELECT @@pid_file").Scan(&file); err != nil {
			f.T.Fatalf("%s: %v", name, err)
		}
		raw, err := os.ReadFile(file)
		if err != nil {
			f.T.Fatal(err)
		}
		pid, err := strconv.Atoi(strings.TrimSpace(string(raw)))
		if err != nil {
			f.T.Fatal(err)
		}
		all += cpuOf(pid)
		_ = db.Close()
	}
	return all
}

// Pool is Root with as many connections as are asked for.
func (f *FilesFarm) Pool(side farm.SideName) *sql.DB {
	f.T.Helper()
	db := f.Root(side)
	db.SetMaxOpenConns(64)
	db.SetMaxIdleConns(64)
	return db
}
