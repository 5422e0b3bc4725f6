// Package lasting makes what was done to files survive a power cut.
//
// It answers: "is the name of this file as safe as its content?" A file that
// was synced and renamed, made or removed can still be there under its old name,
// or not at all, after a power cut: names belong to the directory.
//
// How a file is replaced is left to who replaces it: they differ in what the new
// one is called until then, and in who clears it away.
package lasting

import (
	"errors"
	"os"
)

// SyncDir makes what was renamed, made or removed in dir last. By then it is
// done: a failure is reported and nothing is taken back.
func SyncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
