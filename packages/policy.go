package packages

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"stowage/farm"
	"stowage/internal/lasting"
)

// The script that invoke-rc.d and deb-systemd-invoke ask before they start or stop a service, and where that of somebody else lies meanwhile.
const (
	policyFile = "/usr/sbin/policy-rc.d"
	asideFile  = "/usr/sbin/policy-rc.d.before-stowage"
	freshFile  = "/usr/sbin/policy-rc.d.stowage-new" // ours, before it is in its place
	lockFile   = "/run/stowage-packages.lock"
)

// policyMark is in our script, and in no other.
const policyMark = "# stowage: packages are being installed"

// ourPolicy forbids every action: 101 is "action forbidden by policy".
const ourPolicy = "#!/bin/sh\n" + policyMark + "; no service is started or stopped meanwhile.\n" +
	"# The earlier file is " + asideFile + ". 'stowage agent packages settle' puts it back, as the agent does when it starts.\nexit 101\n"

// hold takes the lock that whoever changes the policy has; nil: another process has it.
func hold() (free func(), err error) {
	f, err := os.OpenFile(lockFile, os.O_RDWR|os.O_CREATE|unix.O_NOFOLLOW, 0o600)
	if err != nil {
		return nil, err
	}
	if err = unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err == nil {
		return func() { _ = f.Close() }, nil
	}
	_ = f.Close()
	if errors.Is(err, unix.EWOULDBLOCK) {
		err = nil
	}
	return nil, err
}

// forbid lets maintainer scripts start and stop nothing, until restore. A policy that is there is moved aside, as the file or link that it is. Whoever calls holds the lock,
// and has restored before.
func (a *Apt) forbid() error {
	fail := func(err error) error {
		return &farm.Error{Op: "forbid starts of services", Subject: policyFile, Err: err, Hint: "nothing was installed"}
	}
	if err := os.WriteFile(freshFile, []byte(ourPolicy), 0o755); err != nil {
		return fail(err)
	}
	if _, err := os.Lstat(policyFile); err == nil {
		if err := os.Rename(policyFile, asideFile); err != nil {
			return fail(err)
		}
	}
	if err := a.at("between renames"); err != nil {
		return err
	}
	if err := errors.Join(os.Chmod(freshFile, 0o755), os.Rename(freshFile, policyFile), lasting.SyncDir(filepath.Dir(policyFile))); err != nil {
		return errors.Join(fail(err), a.restore())
	}
	return nil
}

// restore puts back what forbid has moved aside, wherever that was cut short. Whoever calls holds the lock, and no dpkg runs.
func (a *Apt) restore() error {
	fail := func(err error) error {
		return &farm.Error{Op: "put policy back", Subject: policyFile, Err: err, Hint: "services of this host are not started by package scripts meanwhile; put " + asideFile + " back by hand"}
	}
	if err := os.Remove(freshFile); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fail(err)
	}
	ours, there, err := policyIsOurs()
	if err != nil {
		return fail(err)
	}
	_, err = os.Lstat(asideFile)
	aside := err == nil
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fail(err)
	}
	switch {
	case there && !ours && aside:
		return fail(fmt.Errorf("%w: another process wrote another one while ours was there, and the one before that is in %s", farm.ErrRefused, asideFile))
	case aside:
		err = os.Rename(asideFile, policyFile)
	case ours:
		err = os.Remove(policyFile)
	default:
		return nil
	}
	if err := errors.Join(err, lasting.SyncDir(filepath.Dir(policyFile))); err != nil {
		return fail(err)
	}
	return nil
}

func policyIsOurs() (ours, there bool, err error) {
	raw, err := os.ReadFile(policyFile)
	if errors.Is(err, fs.ErrNotExist) {
		_, err = os.Lstat(policyFile) // a link to nothing is there, and not ours
		return false, err == nil, nil
	}
	return bytes.Contains(raw, []byte(policyMark)), err == nil, err
}

// Mend puts the policy back that an installation which was killed has left, once no dpkg runs any more. It waits for that until ctx ends, and does nothing where nothing is left.
func Mend(ctx context.Context) error {
	for {
		ours, _, err := policyIsOurs()
		if err != nil {
			return err
		}
		if !ours && !exists(asideFile) && !exists(freshFile) {
			return nil
		}
		done, err := mendOnce()
		if done || err != nil {
			return err
		}
		if err := pause(ctx); err != nil {
			return err
		}
	}
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

func mendOnce() (done bool, err error) {
	free, err := hold()
	if free == nil || err != nil { // an installation runs: it puts it back
		return false, err
	}
	defer free()
	by, err := lockedBy()
	if by != 0 || err != nil {
		return false, err
	}
	return true, (&Apt{}).restore()
}

// dpkgLocks are held by whoever changes packages: apt for all of its run the first, dpkg the second.
var dpkgLocks = []string{"/var/lib/dpkg/lock-frontend", "/var/lib/dpkg/lock"}

// lockedBy is the process that holds a lock of dpkg, 0: nobody does. It takes none.
func lockedBy() (pid int, err error) {
	for _, path := range dpkgLocks {
		f, err := os.OpenFile(path, os.O_RDWR, 0)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return 0, err
		}
		is := unix.Flock_t{Type: unix.F_WRLCK}
		err = unix.FcntlFlock(f.Fd(), unix.F_GETLK, &is)
		_ = f.Close()
		if err != nil {
			return 0, err
		}
		if is.Type != unix.F_UNLCK {
			return max(1, int(is.Pid)), nil
		}
	}
	return 0, nil
}

// awaitUnlocked waits until nobody holds a lock of dpkg.
func (a *Apt) awaitUnlocked(ctx context.Context) error {
	told := time.Now()
	for {
		by, err := lockedBy()
		if by == 0 || err != nil {
			return err
		}
		if time.Since(told) > 10*time.Second {
			told = time.Now()
			a.say("process %d holds the lock of dpkg", by)
		}
		if err := pause(ctx); err != nil {
			return fmt.Errorf("process %d holds the lock of dpkg: %w", by, err)
		}
	}
}
