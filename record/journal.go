package record

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"stowage/digest"
	"stowage/farm"
	"stowage/internal/nested"
	"stowage/mysql/traffic"
	"stowage/workspace"
)

// Journal is what has to be known to put a server back as it was. It is
// written before anything is changed and removed when everything is back.
type Journal struct {
	FormatVersion int                      `json:"format_version"`
	Instance      farm.InstanceName        `json:"instance"`
	Address       string                   `json:"address"` // of the server whose settings were changed
	Begun         time.Time                `json:"begun"`
	Uptime        time.Duration            `json:"uptime_ns"`       // of the server, then
	Prefix        string                   `json:"prefix"`          // of the files of the log: prefix, a point, six digits
	Settings      []traffic.SlowLogSetting `json:"settings"`        // in the order in which they are changed
	Thread        uint64                   `json:"thread"`          // our session, which is left out
	Save          string                   `json:"save,omitempty"`  // where the digest was to be kept; empty: whoever recorded sees to it
	Counts        digest.Options           `json:"counts,omitzero"` // how events become classes
}

const journalVersion = 1

// piece is the n-th file of the log, from 1.
func (j Journal) piece(n int) string { return fmt.Sprintf("%s.%06d", j.Prefix, n) }

// isOurs reports whether a value is one that the recording set.
func (j Journal) isOurs(s traffic.SlowLogSetting, now string) bool {
	if s.Name == fileSetting {
		return strings.HasPrefix(now, j.Prefix+".")
	}
	return traffic.SameSetting(now, s.Ours)
}

func journalPath(dir string, n farm.InstanceName) string {
	return filepath.Join(dir, string(n)+".json")
}

// write puts the journal on the disk, whole, so that it survives a power cut.
func (j Journal) write(dir string) error {
	data, err := json.MarshalIndent(j, "", " ")
	if err != nil {
		return err
	}
	if err := workspace.WriteFileAtomic(journalPath(dir, j.Instance), append(data, '\n'), 0o600); err != nil {
		return &farm.Error{Op: "write journal of", Subject: string(j.Instance), Err: err, Hint: "nothing has been changed on the server"}
	}
	return nil
}

func (j Journal) forget(dir string) error {
	if err := os.Remove(journalPath(dir, j.Instance)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return &farm.Error{Op: "remove journal of", Subject: string(j.Instance), Err: err}
	}
	return nil
}

// readJournal reads the journal of one instance; fs.ErrNotExist without one.
func readJournal(dir string, n farm.InstanceName) (Journal, error) {
	var j Journal
	raw, err := os.ReadFile(journalPath(dir, n))
	if err != nil {
		return j, err
	}
	err = nested.Unmarshal(raw, &j)
	switch {
	case err != nil:
	case j.FormatVersion != journalVersion:
		err = fmt.Errorf("its version is %d, this program knows %d", j.FormatVersion, journalVersion)
	case j.Instance != n || j.Prefix == "" || j.Address == "":
		err = errors.New("it is not complete")
	}
	if err != nil {
		return j, &farm.Error{Op: "read journal of", Subject: string(n), Err: fmt.Errorf("%w: %s: %w", farm.ErrInput, journalPath(dir, n), err),
			Hint: "it holds what the slow log's settings were; put them back by hand, then remove the file"}
	}
	return j, nil
}

// Left are the instances with a journal that no living process works on: a
// recording was killed, or could not put everything back.
func Left(dir string) ([]farm.InstanceName, error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var out []farm.InstanceName
	for _, e := range entries {
		name, is := strings.CutSuffix(e.Name(), ".json")
		if !is || strings.HasPrefix(name, ".") {
			continue
		}
		release, err := lock(dir, farm.InstanceName(name))
		if err != nil {
			continue // at work, or not ours to look at
		}
		release()
		out = append(out, farm.InstanceName(name))
	}
	return out, nil
}

// lock takes an instance for one recording of this workspace. It goes with
// the process.
func lock(dir string, n farm.InstanceName) (release func(), err error) {
	fail := func(err error) error {
		return &farm.Error{Op: "record", Subject: string(n), Err: err}
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fail(err)
	}
	file, err := os.OpenFile(filepath.Join(dir, string(n)+".lock"), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fail(err)
	}
	for try := 0; ; try++ {
		err = unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if !errors.Is(err, unix.EWOULDBLOCK) || try == 10 {
			break
		}
		time.Sleep(10 * time.Millisecond) // Left holds it for a moment
	}
	if errors.Is(err, unix.EWOULDBLOCK) {
		err = &farm.Error{Op: "record", Subject: string(n), Err: fmt.Errorf("%w: another recording of it is under way", farm.ErrRefused), Hint: "wait for it to end"}
	} else if err != nil {
		err = fail(err)
	}
	if err != nil {
		_ = file.Close() // nothing was written
		return nil, err
	}
	return func() { _ = file.Close() }, nil
}
