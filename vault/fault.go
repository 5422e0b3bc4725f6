package vault

import (
	"errors"
	"fmt"
	"io/fs"
	"syscall"

	"stowage/farm"
)

// damaged is an error that names a thing of a set and wraps ErrDamaged.
func damaged(subject, format string, args ...any) error {
	return &farm.Error{Op: "read", Subject: subject, Err: fmt.Errorf("%w: %w", ErrDamaged, fmt.Errorf(format, args...)),
		Hint: "restore from another backup; keep this one until the disk was examined"}
}

// none is an error that names a set, or a part of one, that is not there.
func none(subject, why string) error {
	return &farm.Error{Op: "find", Subject: subject, Err: fmt.Errorf("%w: %s", ErrNone, why)}
}

// refused is an error for what would lose something.
func refused(op, subject, why, hint string) error {
	return &farm.Error{Op: op, Subject: subject, Err: fmt.Errorf("%w: %s", farm.ErrRefused, why), Hint: hint}
}

// failed names what was done with what, and the remedy that goes with the cause.
func failed(op, subject, place string, err error) error {
	if err == nil {
		return nil
	}
	hint := farm.Hint(err)
	switch {
	case hint != "":
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		hint = "remove old backups or other files below " + place + ", or give it more room; then do it again"
	case errors.Is(err, fs.ErrPermission):
		hint = "let the account that Stowage runs under write below " + place
	case errors.Is(err, syscall.EROFS):
		hint = place + " is read-only: see dmesg for the reason, and mount it for writing"
	case errors.Is(err, syscall.EIO), errors.Is(err, syscall.ESTALE), errors.Is(err, syscall.ENOTCONN):
		hint = "see dmesg: the disk, or the server that " + place + " comes from, has a fault"
	}
	return &farm.Error{Op: op, Subject: subject, Err: err, Hint: hint}
}
