package farm

import (
	"errors"
	"fmt"
	"path"
	"strings"
	"unicode"
	"unicode/utf8"
)

// notForData are directories of the system, where no instance is made, and what
// may be in them all the same.
var notForData = []struct {
	dir    string
	except []string
}{
	{"/bin", nil}, {"/boot", nil}, {"/dev", []string{"/dev/shm"}}, {"/etc", nil}, {"/lib", nil}, {"/lib32", nil}, {"/lib64", nil}, {"/proc", nil},
	{"/root", nil}, {"/run", nil}, {"/sbin", nil}, {"/sys", nil}, {"/usr", []string{"/usr/local"}}, {"/var/spool", nil}, {"/var/run", nil},
	{"/var/lib/dpkg", nil}, {"/var/lib/systemd", nil}, {"/var/cache", nil},
}

// CheckPath says what is wrong with a path of an instance: it goes into option
// files and commands, and root makes, empties and gives away what it names. It
// may be relative to the workspace.
func CheckPath(p string) error {
	switch {
	case p == "":
		return errors.New("it is empty")
	case !utf8.ValidString(p) || strings.ContainsFunc(p, unicode.IsControl):
		return fmt.Errorf("%q has a line end or another control character in it", p)
	case p != path.Clean(p):
		return fmt.Errorf("%s is not in its plain form, which is %s", p, path.Clean(p))
	case p == ".." || strings.HasPrefix(p, "../"):
		return fmt.Errorf("%s leads out of the workspace", p)
	case path.IsAbs(p) && strings.Count(p, "/") < 2:
		return fmt.Errorf("%s is a directory of the system", p)
	}
	for _, d := range notForData {
		if IsBelow(d.dir, p) && !anyAbove(d.except, p) {
			return fmt.Errorf("%s is in %s, a directory of the system", p, d.dir)
		}
	}
	return nil
}

// IsBelow reports whether p is dir or something in it. Both are in their plain form.
func IsBelow(dir, p string) bool {
	return p == dir || strings.HasPrefix(p, strings.TrimSuffix(dir, "/")+"/")
}

func anyAbove(dirs []string, p string) bool {
	for _, d := range dirs {
		if IsBelow(d, p) && p != d {
			return true
		}
	}
	return false
}

// CheckPlace is CheckPath for an instance that is to be made: its data directory
// and its option file lie in one directory, which is below dir, if that is said.
func CheckPlace(dir, datadir, config string) error {
	if config == "" {
		config = path.Join(path.Dir(datadir), "my.cnf")
	}
	for _, p := range []string{datadir, config} {
		if err := CheckPath(p); err != nil {
			return err
		}
	}
	own := path.Dir(datadir)
	switch {
	case path.Dir(config) != own || !strings.HasSuffix(config, ".cnf"):
		return fmt.Errorf("option file %s is not a .cnf file in %s, beside the data directory", config, own)
	case dir != "" && (!IsBelow(path.Clean(dir), own) || own == path.Clean(dir)):
		return fmt.Errorf("%s is not in a directory below %s, the dir of that host", datadir, dir)
	case own == "." || path.Base(datadir) == path.Base(config):
		return fmt.Errorf("%s is not in a directory of its own", datadir)
	}
	return nil
}
