package agent

import (
	"fmt"
	"path"
	"strings"

	"stowage/farm"
	"stowage/host"
	"stowage/vault"
)

// optionDirs are where packages put option files of servers that were there
// before Stowage: such files are fenced, and read to make new ones.
var optionDirs = []string{"/etc/mysql", "/etc/my.cnf.d"}

// mayTouch refuses calls that would make, empty, remove or write what is no
// instance's, or what the host's own list does not have. The controller has
// looked at the plan; a host does not rely on it, and whoever has the
// controller's key is no exception.
func mayTouch(q request, listed directories) error {
	if err := plausible(q); err != nil {
		return fmt.Errorf("%w: a host's agent does not touch this: %w", farm.ErrRefused, err)
	}
	switch q.Call {
	case callClaim, callClaimable, callWipe, callRemove, callFound, callSetUp, callPrepare, callRollbackPrepared, callStart, callNoteStart, callStartAgain, callStop, callRetire, callRunning:
		return listed.allow(q.Instance.Datadir, q.Instance.Config)
	case callOffer, callFetch, callVault, callBinlogs:
		return listed.allow(placesOf(q)...)
	case callWriteFile:
		return listed.allow(q.Path)
	case callReadFile:
		if isPackaged(q.Path) {
			return nil
		}
		return listed.allow(q.Path)
	}
	return nil
}

// plausible is what is asked of a path whatever the list says.
func plausible(q request) (err error) {
	switch q.Call {
	case callClaim, callClaimable, callWipe, callRemove, callFound, callSetUp, callPrepare, callRollbackPrepared:
		err = mayMake(q.Instance)
	case callFetch:
		if !isKept(q) {
			err = mayMake(q.Target.Instance)
		}
	case callBinlogs:
		if b := binlogOp(q); b.Op == opUnpull {
			err = mayMake(b.Instance)
		}
	case callRetire:
		if !path.IsAbs(q.Instance.Datadir) {
			err = fmt.Errorf("%s is not an absolute path", q.Instance.Datadir)
		}
	case callReadFile, callWriteFile:
		err = mayOpen(q.Path)
	case callOptions:
		err = mayOpen(q.Instance.Config)
	}
	return err
}

// mayMake: an instance may be made there, and removed.
func mayMake(i host.Instance) error {
	err := farm.CheckPlace("", i.Datadir, i.Config)
	if err == nil && !path.IsAbs(i.Datadir) {
		err = fmt.Errorf("%s is not an absolute path", i.Datadir)
	}
	return err
}

// placesOf are the paths of both ends of a copy, as far as they are here, and those of a vault.
func placesOf(q request) (all []string) {
	logs := binlogOp(q)
	if logs.Into != "" {
		all = append(all, logs.Into)
	}
	for _, i := range []host.Instance{q.Origin.Instance, q.Target.Instance, logs.Instance} {
		if i.Datadir != "" {
			all = append(all, i.Datadir, i.Config)
		}
	}
	for _, p := range []vault.Place{q.Origin.Stored.Place, q.Target.Stored.Place, vaultOp(q).Place, logs.Place} {
		for _, path := range []string{p.Dir, p.PasswordFile, p.EnvFile} {
			if path != "" {
				all = append(all, path)
			}
		}
		if path.IsAbs(p.Restic) {
			all = append(all, p.Restic)
		}
	}
	return all
}

// isPackaged: an option file where packages put them.
func isPackaged(p string) bool {
	for _, dir := range optionDirs {
		if farm.IsBelow(dir, p) && p == path.Clean(p) && strings.HasSuffix(p, ".cnf") {
			return true
		}
	}
	return p == "/etc/my.cnf"
}

// mayOpen allows files of instances, and option files where packages put them.
func mayOpen(p string) error {
	if isPackaged(p) {
		return nil
	}
	if !path.IsAbs(p) {
		return fmt.Errorf("%s is not an absolute path", p)
	}
	return farm.CheckPath(p)
}
