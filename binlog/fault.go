package binlog

import (
	"errors"
	"fmt"
)

// ErrRefused: the file is none that this package reads.
var ErrRefused = errors.New("not a binary log that can be read")

// ErrDamaged is what every Fault is, for who is told of it by another machine.
var ErrDamaged = errors.New("the binary log is damaged")

// Fault is the first place of a file that is damaged, or where it is cut off.
type Fault struct {
	// At is the offset of the event that is wrong, Whole the end of the last transaction, or of another event of the log itself, that is
	// not, both in bytes.
	At, Whole int64
	// Cut: what is there is right, and more is to come. A file that a server writes just now often looks like that.
	Cut bool
	Why string
}

func (f *Fault) Error() string {
	if f.Cut {
		return fmt.Sprintf("the binary log is cut off: %s at offset %d; the last whole transaction ends at %d", f.Why, f.At, f.Whole)
	}
	return fmt.Sprintf("%v: %s at offset %d; the last whole transaction ends at %d", ErrDamaged, f.Why, f.At, f.Whole)
}

// Is lets errors.Is find ErrDamaged.
func (f *Fault) Is(target error) bool { return target == ErrDamaged }

// IsCut reports whether a scan ended because the rest is not there.
func IsCut(err error) bool {
	var f *Fault
	return errors.As(err, &f) && f.Cut
}
