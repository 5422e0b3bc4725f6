package agent

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"stowage/farm"
)

const (
	// revokedFile lists the certificates that are not accepted any more. It is
	// read by the programs that move the farm, and by the engine.
	revokedFile = "revoked"
	// issuedFile lists every certificate that was made, in the same form.
	issuedFile = "issued"
	lockFile   = "lock"
)

// RevokedPath is the list of the authority, for a program that wants a file.
func (a *Authority) RevokedPath() string { return filepath.Join(a.dir, revokedFile) }

// Revoked are the certificates that are not accepted any more.
func (a *Authority) Revoked() ([]Revocation, error) { return readSerials(a.RevokedPath()) }

// IsRevoked reports whether the newest certificate of a host is not accepted.
func (a *Authority) IsRevoked(name farm.HostName) (bool, error) {
	cert, err := readCertificate(filepath.Join(a.hostDir(name), ownFile))
	if errors.Is(err, fs.ErrNotExist) {
		return true, nil // the host has revoked ones only, or none
	}
	if err != nil {
		return false, err
	}
	i, err := a.standing(Issued{}, cert, time.Now())
	return i.Revoked, err
}

// Revoke ends every certificate that was ever made for a host. It gives all
// that are revoked of it, and how many of them are so from now on. From before
// there was a list of those issued, only the newest is known.
func (a *Authority) Revoke(name farm.HostName, reason string, now time.Time) (of []Revocation, added int, err error) {
	err = a.alone(func() error {
		serials, err := a.serialsOf(name)
		if err != nil {
			return err
		}
		revoked, err := a.Revoked()
		if err != nil {
			return err
		}
		for _, s := range serials {
			if !slices.ContainsFunc(revoked, func(x Revocation) bool { return x.Serial == s }) {
				revoked = append(revoked, Revocation{Serial: s, Host: name, Date: day(now), Reason: oneLine(reason)})
				added++
			}
		}
		for _, x := range revoked {
			if x.Host == name {
				of = append(of, x)
			}
		}
		if len(serials) == 0 && len(of) == 0 {
			return &farm.Error{Op: "revoke", Subject: string(name), Err: fmt.Errorf("%w: no certificate was ever made for this host", farm.ErrInput),
				Hint: "stowage agent certs shows the hosts that have one"}
		}
		if added == 0 {
			return nil
		}
		return writeFile(a.RevokedPath(), formatSerials(revoked))
	})
	return of, added, err
}

// serialsOf are the certificates that were made for a host, as far as known.
func (a *Authority) serialsOf(name farm.HostName) ([]string, error) {
	issued, err := readSerials(filepath.Join(a.dir, issuedFile))
	if err != nil {
		return nil, err
	}
	var out []string
	for _, x := range issued {
		if x.Host == name && x.Reason == RoleHost {
			out = append(out, x.Serial)
		}
	}
	path := filepath.Join(a.hostDir(name), ownFile)
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return out, nil
	}
	cert, err := readCertificate(path)
	if err != nil {
		return nil, err
	}
	its := cert.Subject.CommonName == string(name) && role(cert) == RoleHost
	if s := serialOf(cert); its && !slices.Contains(out, s) {
		out = append(out, s)
	}
	return out, nil
}

// remember notes a serial number before its certificate is there to be used.
// The one that it replaces may be from before there was such a list.
func (a *Authority) remember(name, role, serial, replaced string, now time.Time) error {
	return a.alone(func() error {
		path := filepath.Join(a.dir, issuedFile)
		all, err := readSerials(path)
		if err != nil {
			return err
		}
		for _, s := range []string{replaced, serial} {
			if s != "" && !slices.ContainsFunc(all, func(x Revocation) bool { return x.Serial == s }) {
				all = append(all, Revocation{Serial: s, Host: farm.HostName(name), Date: day(now), Reason: role})
			}
		}
		return writeFile(path, formatSerials(all))
	})
}

// alone keeps two programs from writing the same list at once.
func (a *Authority) alone(f func() error) error {
	path := filepath.Join(a.dir, lockFile)
	fd, err := unix.Open(path, unix.O_CREAT|unix.O_RDWR|unix.O_CLOEXEC|unix.O_NOFOLLOW, 0o600)
	if err != nil {
		return &farm.Error{Op: "lock", Subject: path, Err: err}
	}
	defer unix.Close(fd)
	if err := unix.Flock(fd, unix.LOCK_EX); err != nil {
		return &farm.Error{Op: "lock", Subject: path, Err: err}
	}
	return f()
}

func readSerials(path string) ([]Revocation, error) {
	raw, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var out []Revocation
	if err == nil {
		out, err = parseSerials(raw)
	}
	if err != nil {
		return nil, &farm.Error{Op: "read", Subject: path, Err: fmt.Errorf("%w: %w", farm.ErrRefused, err), Hint: "bring the file back from a copy"}
	}
	return out, nil
}
