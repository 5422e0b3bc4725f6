package keeper

import (
	"errors"
	"os"
	"os/exec"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// niceness is that of programs in the background.
const niceness = 10

// Lower lowers the priority of a process that was just started in a session of its own, and of all threads that it will have.
//
// The kernel compares niceness within a session only, where it groups processes by session (sched_autogroup_enabled, the default of
// Debian): beside a server in another session, a process with niceness 10 has the priority of one with 0. The session has a niceness, too.
// Nothing is said where that cannot be set: a kernel without such groups has no file for it.
func Lower(pid int) {
	_ = unix.Setpriority(unix.PRIO_PROCESS, pid, niceness)
	setSession(pid, niceness)
}

// Restore takes back what Lower has done to its session: others wait for the process now.
func Restore(pid int) { setSession(pid, 0) }

// setSession gives the session of a process a niceness. Of an account without rights the kernel takes one such wish in a tenth of a second,
// of all accounts together.
func setSession(pid, niceness int) {
	path := "/proc/" + strconv.Itoa(pid) + "/autogroup"
	for range 5 {
		err := writeTo(path, strconv.Itoa(niceness))
		if !errors.Is(err, syscall.EAGAIN) {
			return
		}
		time.Sleep(110 * time.Millisecond)
	}
}

// apart has a command begin a session of its own, so that its priority can be lowered.
func apart(cmd *exec.Cmd) {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Setsid = true
}

func writeTo(path, text string) error {
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	return errors.Join(err, f.Close())
}
