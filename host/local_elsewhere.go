package host

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"stowage/internal/safefile"
)

// A table with DATA DIRECTORY lies outside of its server's data directory. mariadb-backup puts its file into the copy's own directory like any other, with a
// link file (TABLE.isl) that still has the path on the source. On the source's host a server that starts on the copy finds both files, and opens neither.
// Without the link it opens the copy's, and crashes at the first ALTER TABLE. So the copy's file gets a place outside of its data directory, too.

// tablesDir has a directory for each database that has such tables.
const tablesDir = "tables"

const linkSuffix = ".isl"

// gatherTables puts them back to where mariadb-backup looks for what it applies a delta to.
func gatherTables(i Instance) error {
	home, err := safefile.OpenDir(i.Dir())
	if err != nil {
		return err
	}
	defer home.Close()
	outside, err := home.Sub(tablesDir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer outside.Close()
	err = eachBelow(outside, func(db string, from *safefile.Dir, names []string) error {
		to, err := safefile.OpenDir(filepath.Join(i.Datadir, db))
		if err != nil {
			return err
		}
		defer to.Close()
		for _, name := range names {
			if err := from.Rename(name, to, name); err != nil {
				return err
			}
		}
		return nil
	})
	return errors.Join(err, home.RemoveAll(tablesDir))
}

// settleTables gives them places of the copy's own.
func (l *Local) settleTables(i Instance) error {
	home, err := safefile.OpenDir(i.Dir())
	if err != nil {
		return err
	}
	defer home.Close()
	if err := home.RemoveAll(tablesDir); err != nil {
		return err
	}
	data, err := safefile.OpenDir(i.Datadir)
	if err != nil {
		return err
	}
	defer data.Close()
	return eachBelow(data, func(db string, from *safefile.Dir, names []string) error {
		for _, name := range names {
			if table, is := strings.CutSuffix(name, linkSuffix); is {
				if err := l.settleTable(home, from, db, table); err != nil {
					return err
				}
			}
		}
		return nil
	})
}

func (l *Local) settleTable(home, from *safefile.Dir, db, table string) error {
	outside, err := l.subdirectory(home, tablesDir)
	if err != nil {
		return err
	}
	defer outside.Close()
	to, err := l.subdirectory(outside, db)
	if err != nil {
		return err
	}
	defer to.Close()
	name := table + ".ibd"
	err = from.Rename(name, to, name)
	if errors.Is(err, fs.ErrNotExist) { // it was dropped while the copy was taken
		return from.RemoveAll(table + linkSuffix)
	}
	if err != nil {
		return err
	}
	return from.Replace(table+linkSuffix, []byte(filepath.Join(to.Path(), name)), 0o660, func(f *os.File) error { return l.Own(f) })
}

func (l *Local) subdirectory(of *safefile.Dir, name string) (*safefile.Dir, error) {
	dir, err := of.Mkdir(name, 0o750)
	if errors.Is(err, fs.ErrExist) {
		return of.Sub(name)
	}
	if err == nil {
		err = l.Own(dir)
	}
	return dir, err
}

// eachBelow goes through the directories of a directory.
func eachBelow(dir *safefile.Dir, do func(name string, sub *safefile.Dir, names []string) error) error {
	all, err := dir.Names()
	if err != nil {
		return err
	}
	for _, name := range all {
		info, err := os.Lstat(filepath.Join(dir.Path(), name))
		if err != nil {
			return err
		}
		if !info.IsDir() {
			continue
		}
		sub, err := dir.Sub(name)
		if err != nil {
			return err
		}
		names, err := sub.Names()
		if err == nil {
			err = do(name, sub, names)
		}
		if err := errors.Join(err, sub.Close()); err != nil {
			return err
		}
	}
	return nil
}
