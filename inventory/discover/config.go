package discover

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"

	"stowage/farm"
	"stowage/mysql"
)

// packaged are directories of option files, with the file that packages begin
// with and that includes them: what is at its end is read last.
var packaged = []struct{ dir, file string }{{"/etc/mysql", "/etc/mysql/my.cnf"}, {"/etc/my.cnf.d", "/etc/my.cnf"}, {"/etc/my.cnf", "/etc/my.cnf"}}

// starts finds out with which option file a server starts: from the process
// list, where it is on this machine, else from what it says itself. Neither is
// there for all.
func (s *Server) starts(ctx context.Context, db *mysql.Server, process func(context.Context, Server) (config, suffix string, ok bool)) {
	if process != nil {
		var ok bool
		if s.Config, s.GroupSuffix, ok = process(ctx, *s); ok {
			return
		}
	}
	files, argued, err := db.OptionFiles(ctx)
	if err != nil {
		return // the draft says what to fill in
	}
	s.OptionFiles, s.IsArgued = files, argued
	s.Config = configOf(files)
}

// configOf is the file that a server begins with, of those that set something.
func configOf(files []string) string {
	for _, p := range packaged {
		if len(files) > 0 && !slices.ContainsFunc(files, func(f string) bool { return !farm.IsBelow(p.dir, path.Clean(f)) }) {
			return p.file
		}
	}
	if len(files) == 1 {
		return files[0]
	}
	return ""
}

// asksConfig is what a person has to write about the option file of a side, ""
// when it is known. sharers are others of its host that start with the same file.
func (s Server) asksConfig(side farm.SideName, sharers []string) string {
	switch {
	case s.Config == "" && len(s.OptionFiles) > 0:
		return fmt.Sprintf("%s: config of side %s, the option file that its server reads last; its options come from %s", FillIn, side, strings.Join(s.OptionFiles, ", "))
	case s.Config == "":
		return fmt.Sprintf("%s: config of side %s, the option file that its server starts with; the server does not report it", FillIn, side)
	case s.GroupSuffix == "" && len(sharers) > 0:
		return fmt.Sprintf("%s: group_suffix of side %s; %s starts with the same file. It is 1 for [mysqld1] of mysqld_multi, .s1 for mariadb@s1, \"@s1\" for mysqld@s1", FillIn, side, few(sharers))
	case s.GroupSuffix == "" && s.IsArgued && len(s.OptionFiles) > 0:
		return fmt.Sprintf("side %s has options on its command line: group_suffix, if mysqld_multi, mariadb@ or mysqld@ starts it (1 for [mysqld1], .s1 for mariadb@s1, \"@s1\" for mysqld@s1)", side)
	}
	return ""
}

// sharers are other servers of the host that start with the file of server n.
func (f Found) sharers(h farm.HostName, n int) (out []string) {
	for _, p := range f.Pairs {
		for _, s := range p.Sides {
			if s.Host == h && s.server != n && f.Servers[n].Config != "" && f.Servers[s.server].Config == f.Servers[n].Config {
				out = append(out, s.Address)
			}
		}
	}
	return out
}

// dirOf is where new instances could be made on a host that has servers, for the
// way back: beside their data directories, never in one.
func (f Found) dirOf(h farm.HostName) string {
	above := ""
	for _, p := range f.Pairs {
		for _, s := range p.Sides {
			if s.Host != h || !path.IsAbs(s.Datadir) {
				continue
			}
			dir := path.Dir(path.Clean(s.Datadir))
			if base := path.Base(s.Datadir); base == "data" && strings.Count(dir, "/") > 1 {
				dir = path.Dir(dir) // NAME/data
			}
			if above == "" {
				above = dir
			}
			for !farm.IsBelow(above, dir) {
				above = path.Dir(above)
			}
		}
	}
	if above == "" {
		return ""
	}
	dir := path.Join(above, "stowage")
	if farm.CheckPath(path.Join(dir, "x")) != nil {
		return ""
	}
	return dir
}
