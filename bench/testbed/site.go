package testbed

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"stowage/bench/disk"
	"stowage/farm"
	"stowage/internal/lasting"
)

// Options are what a site is made of.
type Options struct {
	// Loops files of Size bytes become loop devices; none where Disks are used.
	Loops int
	Size  int64
	// Disks are devices whose data may go. Overwrite: also where something known is on them.
	Disks     []disk.Disk
	Overwrite bool

	Tell func(string)
	// Border is told every act, before ("testbed attach") and after ("testbed attached"); tests kill the process there. Nil in production.
	Border func(string) error
}

// Site is a directory in which testbeds are made, one at a time.
type Site struct {
	dir     string // DIR/.stowage-stand
	journal *journal
	options Options
	machine disk.Machine
	ground  int // acts of the site itself; those behind them are of the testbed
}

// Open makes a site in a directory, after it has undone what a killed process left there. Errors: farm.ErrInput where nothing can be made,
// farm.ErrRefused where another matrix is at work or things lie that are not ours.
func Open(dir string, o Options) (*Site, error) {
	if o.Tell == nil {
		o.Tell = func(string) {}
	}
	if os.Geteuid() != 0 {
		return nil, &farm.Error{Op: "prepare", Subject: dir, Err: fmt.Errorf("%w: this account is not root", farm.ErrInput), Hint: "loop devices, file systems and mounts are made by root: sudo stowage bench matrix"}
	}
	s, err := openSite(dir, true)
	if err != nil {
		return nil, err
	}
	s.options = o
	if n := len(s.journal.acts); n > 0 {
		o.Tell(fmt.Sprintf("a killed run left %d things; undoing them", n))
	}
	if err := s.undoTo(0); err != nil {
		s.journal.close()
		return nil, err
	}
	if err := s.prepare(); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// openSite takes the directory of a site; create says whether one that is missing is made. Without it, nil is returned where there is none.
func openSite(dir string, create bool) (*Site, error) {
	dir, err := resolved(dir)
	if err != nil {
		return nil, err
	}
	s := &Site{dir: filepath.Join(dir, siteName), machine: disk.Machine{Root: "/"}}
	info, err := os.Lstat(s.dir)
	switch {
	case isMissing(err) && !create:
		return nil, nil
	case isMissing(err):
		if err := os.Mkdir(s.dir, 0o700); err != nil {
			return nil, &farm.Error{Op: "prepare", Subject: dir, Err: fmt.Errorf("%w: no directory can be made there: %w", farm.ErrInput, cause(err)), Hint: "name a directory in which root may write"}
		}
		if err := lasting.SyncDir(dir); err != nil {
			return nil, &farm.Error{Op: "prepare", Subject: dir, Err: err}
		}
	case err != nil || !info.IsDir():
		return nil, refuse(s.dir, "look at it, and move it elsewhere if it is not needed there", "it is not a directory of ours")
	case !isPrivate(info):
		// In a directory where everybody may write somebody may have put a journal that undoes what is not ours.
		return nil, refuse(s.dir, "look at it, and move it elsewhere if it is not needed there", "it belongs to another account, or others may write in it")
	}
	if err := s.refuseForeign(); err != nil {
		return nil, err
	}
	if s.journal, err = openJournal(s.dir); err != nil {
		return nil, err
	}
	return s, nil
}

// isPrivate says whether a directory is ours alone.
func isPrivate(info fs.FileInfo) bool {
	st, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(st.Uid) == os.Geteuid() && info.Mode().Perm()&0o022 == 0
}

// resolved is a directory with all links resolved: the kernel speaks of mounts by that name.
func resolved(dir string) (string, error) {
	wrong := func(err error) error {
		return &farm.Error{Op: "prepare", Subject: dir, Err: fmt.Errorf("%w: %w", farm.ErrInput, cause(err)), Hint: "name a directory that is there, on a disk with room for the files"}
	}
	abs, err := filepath.Abs(dir)
	if err == nil {
		abs, err = filepath.EvalSymlinks(abs)
	}
	if err != nil {
		return "", wrong(err)
	}
	if info, err := os.Stat(abs); err != nil || !info.IsDir() {
		return "", wrong(errors.New("it is not a directory"))
	}
	return abs, nil
}

// cause is what the system said, without the path.
func cause(err error) error {
	var at *fs.PathError
	if errors.As(err, &at) {
		return at.Err
	}
	return err
}

// refuseForeign looks for what is not ours before anything is touched.
func (s *Site) refuseForeign() error {
	entries, err := os.ReadDir(s.dir)
	if err != nil {
		return &farm.Error{Op: "look into", Subject: s.dir, Err: err}
	}
	for _, e := range entries {
		isOurs := e.Name() == fileJournal && e.Type().IsRegular() || e.Name() == dirMount && e.IsDir() || strings.HasPrefix(e.Name(), loopPrefix) && e.Type().IsRegular()
		if !isOurs {
			return refuse(s.dir, "look at it, and move it elsewhere", "it holds %s, which is not ours", e.Name())
		}
	}
	if len(entries) > 0 {
		if _, err := os.Lstat(filepath.Join(s.dir, fileJournal)); err != nil {
			return refuse(s.dir, "look at it, and move it elsewhere if it is not needed there", "there is no journal of ours in it")
		}
	}
	return nil
}

// prepare makes the files that serve as devices, or looks whether devices may be used.
func (s *Site) prepare() error {
	if err := s.journal.begin(); err != nil {
		return &farm.Error{Op: "write journal", Subject: s.dir, Err: fmt.Errorf("%w: %w", farm.ErrInput, cause(err)), Hint: "free some space, or name a directory that may be written"}
	}
	if err := os.Mkdir(s.mount(), 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return &farm.Error{Op: "prepare", Subject: s.dir, Err: err}
	}
	if err := s.checkSpace(); err != nil {
		return err
	}
	for i := range s.options.Loops {
		name := fmt.Sprintf("%s%d", loopPrefix, i)
		if err := s.do(act{Act: "file", Path: name}, func() error { return s.fill(name) }); err != nil {
			return err
		}
	}
	s.ground = len(s.journal.acts)
	for _, d := range s.options.Disks {
		claim, err := s.machine.Take(d, func(string, *os.File) bool { return s.options.Overwrite })
		if err != nil {
			return err
		}
		if err := claim.Close(); err != nil {
			return &farm.Error{Op: "let go of", Subject: d.Given, Err: err}
		}
	}
	return nil
}

// checkSpace: a tenth of what is free stays free.
func (s *Site) checkSpace() error {
	var at unix.Statfs_t
	if err := unix.Statfs(s.dir, &at); err != nil {
		return &farm.Error{Op: "look at", Subject: s.dir, Err: err}
	}
	free, need := int64(at.Bavail)*at.Bsize, int64(s.options.Loops)*s.options.Size
	if need > free/10*9 {
		return &farm.Error{Op: "prepare", Subject: filepath.Dir(s.dir), Err: fmt.Errorf("%w: loops of %d MiB would not leave a tenth of the %d MiB that are free", farm.ErrInput, need>>20, free>>20),
			Hint: "free some space, or use fewer or smaller loops"}
	}
	return nil
}

func (s *Site) mount() string { return filepath.Join(s.dir, dirMount) }

// do writes an act into the journal and carries it out, with a border before and behind it.
func (s *Site) do(a act, work func() error) error {
	if err := s.journal.write(a); err != nil {
		return err
	}
	if err := s.border("testbed " + a.Act); err != nil {
		return err
	}
	if err := work(); err != nil {
		return err
	}
	return s.border("testbed " + a.Act + " done")
}

func (s *Site) border(point string) error {
	if s.options.Border == nil {
		return nil
	}
	return s.options.Border(point)
}

// Close undoes everything and removes the site. With an error the journal stays, and Clean goes on from there.
func (s *Site) Close() error {
	err := s.undoTo(0)
	if err == nil {
		err = s.remove()
	}
	s.journal.close()
	return err
}

// remove takes the directory of the site away, the journal last.
func (s *Site) remove() error {
	for _, path := range []string{s.mount(), filepath.Join(s.dir, fileJournal), s.dir} {
		if err := os.Remove(path); err != nil && !isMissing(err) {
			return &farm.Error{Op: "remove", Subject: path, Err: cause(err), Hint: "look at what is in it, and remove it by hand"}
		}
	}
	return nil
}

// Clean undoes what a killed process left in a directory, and says what. Nothing there is no error.
func Clean(dir string, tell func(string)) (undone []string, err error) {
	s, err := openSite(dir, false)
	if err != nil || s == nil {
		return nil, err
	}
	s.options.Tell = func(text string) {
		undone = append(undone, text)
		tell(text)
	}
	return undone, s.Close()
}
