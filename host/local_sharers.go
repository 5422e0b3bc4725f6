package host

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// sharers are other servers on this machine that would start with what is
// written into this instance's option file.
func (l *Local) sharers(ctx context.Context, i Instance, own int) (out []string) {
	config, err := os.Stat(i.Config)
	if err != nil {
		return nil
	}
	for _, r := range l.allReaders.list(ctx, l.readers) {
		if r.pid == own || i.GroupSuffix != "" && r.suffix != i.GroupSuffix ||
			!slices.ContainsFunc(r.files, func(f readFile) bool { return os.SameFile(f.was, config) && isSameFile(f.path, i.Config) }) {
			continue
		}
		text := fmt.Sprintf("pid %d with datadir %s", r.pid, r.datadir)
		if r.suffix != "" {
			text += " and group suffix " + r.suffix
		}
		out = append(out, text)
	}
	return out
}

// reader is a server that runs on this machine, and the option files it reads.
type reader struct {
	pid             int
	suffix, datadir string
	files           []readFile
}

// readFile is a file as it was when its reader was looked at. A file that was replaced since gives its number free, and the next
// file that is written may get it: that two were the same has to be true now as well.
type readFile struct {
	path string
	was  fs.FileInfo
}

// readers looks at every server of this machine.
func (l *Local) readers(ctx context.Context) (all []reader) {
	for _, pid := range servers() {
		if !seesOurFiles(pid) {
			continue
		}
		p, err := l.process(ctx, pid, false)
		if err != nil {
			continue
		}
		r := reader{pid: pid, suffix: p.suffix, datadir: p.datadir}
		its := lookAs(nil)
		its.lines(p, Instance{}, nil)
		for _, f := range its.files {
			if info, err := os.Stat(f); err == nil {
				r.files = append(r.files, readFile{f, info})
			}
		}
		all = append(all, r)
	}
	return all
}

// lookLasts is how long one look at all servers answers for: a farm asks for
// each of its sides at once, and on dense hosts each look reads a hundred files.
const lookLasts = 2 * time.Second

type readersSeen struct {
	mu    sync.Mutex
	since time.Time
	all   []reader
}

func (s *readersSeen) list(ctx context.Context, look func(context.Context) []reader) []reader {
	s.mu.Lock()
	defer s.mu.Unlock()
	if began := time.Now(); s.since.IsZero() || began.Sub(s.since) > lookLasts {
		s.all, s.since = look(ctx), began
	}
	return s.all
}

func isServerName(path string) bool {
	name := filepath.Base(path)
	return name == "mariadbd" || name == "mysqld"
}

// servers are the processes on this machine that are database servers.
func servers() (pids []int) {
	entries, _ := os.ReadDir("/proc")
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		comm, _ := os.ReadFile("/proc/" + e.Name() + "/comm")
		name := strings.TrimSpace(string(comm))
		if isServerName(name) || strings.HasPrefix(name, "ld-linux") && isLoaded(pid) {
			pids = append(pids, pid)
		}
	}
	return pids
}

// isLoaded: the loader that a wrapper has started runs a server, under its own name.
func isLoaded(pid int) bool {
	return slices.ContainsFunc(strings.Split(string(commandLine(pid)), "\x00"), isServerName)
}

// seesOurFiles: a server in a container has files of its own by the same names, for
// its root is another. That its mounts are others says nothing: systemd gives a
// service that it protects (ProtectSystem, as Debian's mariadb@) mounts of its own,
// with the same files.
func seesOurFiles(pid int) bool {
	root := "/proc/" + strconv.Itoa(pid) + "/root"
	_, err := os.Stat(root)
	return err != nil || isSameFile(root, "/")
}

// contained is a server that works in the instance's data directory and sees
// other files than we by the names that it uses: one in a container. 0: none.
func contained(i Instance) int {
	for _, pid := range servers() {
		if !seesOurFiles(pid) && isSameFile("/proc/"+strconv.Itoa(pid)+"/cwd", i.Datadir) {
			return pid
		}
	}
	return 0
}
