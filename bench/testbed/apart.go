package testbed

import (
	"errors"
	"fmt"
	"runtime"

	"golang.org/x/sys/unix"

	"stowage/farm"
)

// Apart runs f in a mount namespace of its own, in a thread of its own, with which both end. What is mounted in it nobody else sees, so that
// nobody else can keep it: a process that makes a namespace while a file system of ours is mounted would hold a copy of the mount, and its loop
// device, for as long as it lives. After a kill -9 the kernel unmounts by itself.
//
// f must not look at what it mounts from other goroutines: they see the machine as it was.
func Apart(f func() error) error {
	done := make(chan error)
	go func() {
		runtime.LockOSThread() // never unlocked: the thread ends with the goroutine, and is used for nothing else
		if err := leave(); err != nil {
			done <- err
			return
		}
		done <- f()
	}()
	return <-done
}

func leave() error {
	err := unix.Unshare(unix.CLONE_FS | unix.CLONE_NEWNS)
	if err == nil {
		err = unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, "")
	}
	if errors.Is(err, unix.EPERM) {
		return &farm.Error{Op: "mount", Err: fmt.Errorf("%w: this account may not make a mount namespace", farm.ErrInput), Hint: "mounts are made by root; in a container: let it have CAP_SYS_ADMIN"}
	}
	if err != nil {
		return &farm.Error{Op: "make a mount namespace", Err: err}
	}
	return nil
}
