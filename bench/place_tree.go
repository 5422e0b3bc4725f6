package bench

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"time"
)

// removeTree ends the servers whose files lie below a directory of ours, and removes it. The kernel ends servers with the program that
// started them; one that was being made by a script of its own may outlive it by a moment. bytes is what the files took.
func removeTree(dir string) (bytes int64, err error) {
	if err := endServers(dir); err != nil {
		return 0, err
	}
	_ = filepath.WalkDir(dir, func(_ string, e fs.DirEntry, err error) error {
		if err != nil {
			return nil // what cannot be read cannot be counted
		}
		if info, err := e.Info(); err == nil && e.Type().IsRegular() {
			bytes += info.Size()
		}
		return nil
	})
	return bytes, os.RemoveAll(dir)
}

// endServers kills processes that were given a directory below dir to work in, and waits until they are gone. Only the bench that
// holds the lock on the marker beside it, or sweeps after one that is over, comes here.
func endServers(dir string) error {
	for end := time.Now().Add(10 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		pids := serversBelow(dir)
		if len(pids) == 0 {
			return nil
		}
		for _, pid := range pids {
			if err := syscall.Kill(pid, syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) {
				return err
			}
		}
		if time.Now().After(end) {
			return errors.New("a server that Stowage started does not stop; its disk may not respond")
		}
	}
}

// serversBelow are the processes whose command line says that their data or their option file is below dir.
func serversBelow(dir string) (pids []int) {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil
	}
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil || pid == os.Getpid() {
			continue
		}
		line, _ := os.ReadFile(filepath.Join("/proc", e.Name(), "cmdline")) // it may be gone
		for _, arg := range bytes.Split(line, []byte{0}) {
			for _, option := range []string{"--datadir=", "--defaults-file="} {
				if bytes.HasPrefix(arg, []byte(option+dir+"/")) {
					pids = append(pids, pid)
				}
			}
		}
	}
	return pids
}
