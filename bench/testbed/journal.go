package testbed

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"stowage/farm"
	"stowage/internal/lasting"
	"stowage/internal/nested"
)

// Where everything of a site lies.
const (
	siteName    = ".stowage-stand"
	fileJournal = "journal"
	dirMount    = "mnt"
	loopPrefix  = "loop-"
)

// act is one thing that was done, or was about to be.
type act struct {
	Act string `json:"act"` // file, attach, queue, array, format, mount

	Path    string            `json:"path,omitempty"`    // file: its name in the site; mount: its kind of file system
	Device  string            `json:"device,omitempty"`  // of this boot: loop3
	Number  string            `json:"number,omitempty"`  // 7:3
	Given   string            `json:"given,omitempty"`   // the name that stays, of a device that is not ours
	File    uint64            `json:"file,omitempty"`    // inode of the file behind a loop device
	On      uint64            `json:"on,omitempty"`      // and the number of the file system it is on
	From    map[string]string `json:"from,omitempty"`    // queue: all settings before
	To      map[string]string `json:"to,omitempty"`      // queue: what was set
	UUID    string            `json:"uuid,omitempty"`    // format
	Members []string          `json:"members,omitempty"` // array, format: devices
}

// head is the first line of a journal, for whoever finds it.
type head struct {
	MadeBy string    `json:"made_by"`
	Note   string    `json:"note"`
	PID    int       `json:"pid"`
	Boot   string    `json:"boot"`
	Began  time.Time `json:"began"`
}

const madeBy = "stowage bench matrix"

// journal is the file of acts, locked for as long as the process lives.
type journal struct {
	dir  string // the site
	file *os.File
	boot string // that it was written on
	acts []act
	// ends are how long the file is behind each act, and, at 0, behind the head.
	ends []int64
}

func bootID() string {
	raw, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return ""
	}
	return string(bytes.TrimSpace(raw))
}

func refuse(dir, hint, format string, args ...any) error {
	return &farm.Error{Op: "clear", Subject: dir, Err: fmt.Errorf("%w: "+format, append([]any{farm.ErrRefused}, args...)...), Hint: hint}
}

// openJournal takes the journal of a site, made if it is missing. Acts in it are those of a process that is gone.
func openJournal(dir string) (*journal, error) {
	path := filepath.Join(dir, fileJournal)
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return nil, refuse(dir, "look at it, and move it elsewhere if it is not needed there", "there is no journal of ours in it (%v)", err)
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		_ = f.Close() // nothing was written
		return nil, &farm.Error{Op: "use", Subject: filepath.Dir(dir), Err: fmt.Errorf("%w: another bench matrix is running there", farm.ErrRefused), Hint: "wait until it has ended"}
	}
	j := &journal{dir: dir, file: f}
	raw, err := os.ReadFile(path)
	if err == nil {
		err = j.read(raw)
	}
	if err != nil {
		_ = f.Close() // nothing was written
		return nil, err
	}
	return j, nil
}

// read takes up what is in the journal. A last line without its end was cut short: its act was never begun.
func (j *journal) read(raw []byte) error {
	lines := bytes.SplitAfter(raw, []byte("\n"))
	var at int64
	for n, line := range lines {
		if len(line) == 0 || line[len(line)-1] != '\n' {
			break
		}
		at += int64(len(line))
		if n == 0 {
			var h head
			if nested.Unmarshal(line, &h) != nil || h.MadeBy != madeBy {
				return refuse(j.dir, "look at it, and move it elsewhere if it is not needed there", "%s in it was not written by us", fileJournal)
			}
			j.boot = h.Boot
		} else {
			var a act
			if err := nested.Unmarshal(line, &a); err != nil {
				return refuse(j.dir, "undo by hand what the lines of the journal say, last first, and remove the directory", "line %d of its journal cannot be read: %v", n+1, err)
			}
			j.acts = append(j.acts, a)
		}
		j.ends = append(j.ends, at)
	}
	return nil
}

// begin writes the first line.
func (j *journal) begin() error {
	h := head{MadeBy: madeBy, Note: "what a matrix of stowage bench has made; 'stowage bench clean' with the directory above undoes it", PID: os.Getpid(), Boot: bootID(), Began: time.Now().UTC()}
	line, err := json.Marshal(h)
	if err != nil {
		return err
	}
	if err := j.file.Truncate(0); err != nil {
		return err
	}
	j.acts, j.ends, j.boot = nil, []int64{0}, h.Boot
	return j.append(line)
}

// write adds an act; when it returns, the act survives a power cut.
func (j *journal) write(a act) error {
	line, err := json.Marshal(a)
	if err == nil {
		err = j.append(line)
	}
	if err != nil {
		return &farm.Error{Op: "write journal", Subject: j.dir, Err: err, Hint: "nothing is made that the journal does not know"}
	}
	j.acts = append(j.acts, a)
	return nil
}

func (j *journal) append(line []byte) error {
	at := j.ends[len(j.ends)-1]
	line = append(line, '\n')
	if _, err := j.file.WriteAt(line, at); err != nil {
		return err
	}
	if err := j.file.Sync(); err != nil {
		return err
	}
	if at == 0 { // the head: it takes the place of the zero
		j.ends = []int64{int64(len(line))}
		return lasting.SyncDir(j.dir)
	}
	j.ends = append(j.ends, at+int64(len(line)))
	return nil
}

// forget takes the last act out, which has been undone.
func (j *journal) forget() error {
	n := len(j.acts) - 1
	if err := j.file.Truncate(j.ends[n]); err != nil {
		return err
	}
	j.acts, j.ends = j.acts[:n], j.ends[:n+1]
	return j.file.Sync()
}

func (j *journal) close() { _ = j.file.Close() } // every write was synced

// isMissing: what is not there need not be undone.
func isMissing(err error) bool { return errors.Is(err, fs.ErrNotExist) }
