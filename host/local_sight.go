package host

import (
	"errors"
	"io/fs"
	"os"
	"runtime"
	"slices"
	"syscall"

	"golang.org/x/sys/unix"

	"stowage/internal/optionfile"
	"stowage/internal/safefile"
)

// sight is what a server sees of the option files that it starts with. Each is
// looked at once: what is asked of one sight is asked of one state of the files.
type sight struct {
	account        *syscall.Credential // of the server; nil: ours
	texts          map[string]string   // of the files that it reads, by name
	passed         map[string]bool     // files that are not read
	files, skipped []string
}

func lookAs(account *syscall.Credential) *sight {
	return &sight{account: account, texts: map[string]string{}, passed: map[string]bool{}}
}

// read is the text of a file, and false for one that the server passes over.
func (s *sight) read(name string) (string, bool) {
	if text, known := s.texts[name]; known || s.passed[name] {
		return text, known
	}
	why := passesOver(s.account, name)
	var raw []byte
	if why == "" {
		var err error
		if raw, err = safefile.ReadFile(name, smallFile); err == nil { // no link of another user's, whatever the server does
			s.texts[name], s.files = string(raw), append(s.files, name)
			return s.texts[name], true
		}
		s.skipped = append(s.skipped, err.Error())
	} else if why != notThere {
		s.skipped = append(s.skipped, name+" ("+why+")")
	}
	s.passed[name] = true
	return "", false
}

func namesIn(dir string) (names []string) {
	entries, _ := os.ReadDir(dir) // by name
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

// lines are the options that a server reads, in its order, with the file of i as
// change makes it; nil: as it is.
func (s *sight) lines(p process, i Instance, change func(string) string) (lines []optionfile.Line) {
	read := func(name string) (string, bool) {
		text, ok := s.read(name)
		if ok && change != nil && isSameFile(name, i.Config) {
			text = change(text)
		}
		return text, ok
	}
	groups := optionfile.ServerGroups(p.series.number, p.series.mariaDB, p.suffix)
	for _, o := range (optionfile.Source{Read: read, List: namesIn}).Lines(p.files) {
		if slices.Contains(groups, o.Group) {
			lines = append(lines, o)
		}
	}
	return lines
}

const notThere = "it is not there"

// passesOver is why a server does not read a file, "" when it does. Servers say
// nothing of it, or no more than a line in a log.
func passesOver(account *syscall.Credential, name string) string {
	info, err := os.Stat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return notThere
	case err != nil:
		return err.Error()
	case !info.Mode().IsRegular():
		return "it is not a regular file"
	case info.Mode().Perm()&0o002 != 0:
		return "everybody may write to it"
	case !mayRead(account, name):
		return "account " + nameOf(account) + ", which reads it, may not"
	}
	return ""
}

// mayRead opens the file under the account, on a thread that takes on the
// account's rights and ends with that: a process for each file of each server
// would take longer than all that is asked of them. nil is our own account.
func mayRead(account *syscall.Credential, name string) bool {
	if account == nil {
		return unix.Access(name, unix.R_OK) == nil
	}
	may := make(chan bool)
	go func() {
		runtime.LockOSThread()            // and not unlocked: the thread ends with this function
		if unix.Gettid() == os.Getpid() { // the first thread does not end, and is another's face: take the next
			defer runtime.UnlockOSThread()
			may <- mayRead(account, name)
			return
		}
		may <- become(account) == nil && isOpened(name)
	}()
	return <-may
}

// become gives this thread, and no other of the process, the rights of an account
// on files.
func become(account *syscall.Credential) error {
	groups := make([]int, len(account.Groups))
	for i, g := range account.Groups {
		groups[i] = int(g)
	}
	if err := unix.Setgroups(groups); err != nil { // of this thread, unlike syscall.Setgroups
		return err
	}
	if _, _, e := unix.RawSyscall(unix.SYS_SETRESGID, ^uintptr(0), uintptr(account.Gid), ^uintptr(0)); e != 0 {
		return e
	}
	if _, _, e := unix.RawSyscall(unix.SYS_SETRESUID, ^uintptr(0), uintptr(account.Uid), ^uintptr(0)); e != 0 {
		return e
	}
	return nil
}

func isOpened(name string) bool {
	fd, err := unix.Open(name, unix.O_RDONLY|unix.O_NONBLOCK|unix.O_CLOEXEC|unix.O_NOCTTY, 0)
	if err != nil {
		return false
	}
	return unix.Close(fd) == nil
}
