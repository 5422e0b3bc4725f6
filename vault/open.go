package vault

import (
	"fmt"
	"path/filepath"

	"stowage/farm"
)

// Open gives the vault at a place. Nothing is made and nobody is asked: that a directory or a repository is gone is told by the first
// method that needs it. A place that cannot be one wraps farm.ErrInput.
func Open(p Place) (Vault, error) {
	fail := func(format string, args ...any) (Vault, error) {
		return nil, &farm.Error{Op: "open vault", Subject: p.Subject(), Err: fmt.Errorf("%w: %w", farm.ErrInput, fmt.Errorf(format, args...))}
	}
	switch {
	case (p.Dir == "") == (p.Restic == ""):
		return fail("it needs a directory (dir) or a repository (restic), one of both")
	case p.Dir != "" && (p.PasswordFile != "" || p.EnvFile != ""):
		return fail("password_file and env_file are for restic only: files in a directory are not encrypted")
	case p.Dir != "" && (!filepath.IsAbs(p.Dir) || filepath.Clean(p.Dir) != p.Dir):
		return fail("%q is not the absolute path of a directory, without .. and without / at its end", p.Dir)
	case p.Restic != "" && p.Level != 0:
		return fail("level is for directories only: restic chooses its own")
	case p.Level < 0 || p.Level > 19:
		return fail("level %d: zstd has 1 to 19", p.Level)
	case p.Dir != "":
		return &directory{path: p.Dir, level: max(1, p.Level)}, nil
	}
	return openRestic(p)
}

// Subject names the place in messages, without the password that an address may hold.
func (p Place) Subject() string {
	if p.Dir != "" {
		return p.Dir
	}
	return withoutPassword(p.Restic)
}
