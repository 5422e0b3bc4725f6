package optionfile

import (
	"path"
	"slices"
	"strings"
)

// Line is an option, and where it stands.
type Line struct {
	File       string
	Number     int // from 1
	Group      string
	Key, Value string // as Option reads them
	IsValued   bool   // "skip-networking" is not
}

// Source is where option files are.
type Source struct {
	// Read is a file's text, and false for one that is passed over.
	Read func(name string) (text string, ok bool)
	// List are the names in a directory, in byte order.
	List func(dir string) []string
}

// mostFiles is more than any server reads. Files that include each other twice
// would be without an end otherwise.
const mostFiles = 1000

// Lines are the options of files and of what they include, in the order in
// which a server reads them: an include is read where it stands, and of a
// directory *.cnf by name. A file that includes itself is not read again.
func (s Source) Lines(files []string) []Line {
	var out []Line
	count := 0
	for _, f := range files {
		out = append(out, s.file(f, nil, &count)...)
	}
	return out
}

func (s Source) file(name string, by []string, count *int) []Line {
	if slices.Contains(by, name) || *count >= mostFiles {
		return nil
	}
	*count++
	text, ok := s.Read(name)
	if !ok {
		return nil
	}
	by = append(slices.Clone(by), name)
	var out []Line
	group := ""
	for n, l := range strings.Split(text, "\n") {
		l = strings.TrimSpace(l)
		if included, ok := s.included(l); ok {
			for _, file := range included {
				out = append(out, s.file(file, by, count)...)
			}
		} else if g, ok := Group(l); ok {
			group = g
		} else if key, value, ok := Option(l); ok {
			out = append(out, Line{name, n + 1, group, key, value, strings.Contains(l, "=")})
		}
	}
	return out
}

// included are the files that a line names, if it is an include.
func (s Source) included(line string) (files []string, ok bool) {
	if dir, ok := strings.CutPrefix(line, "!includedir "); ok {
		dir = strings.TrimSpace(dir)
		for _, name := range s.List(dir) {
			if strings.HasSuffix(name, ".cnf") {
				files = append(files, path.Join(dir, name))
			}
		}
		return files, true
	}
	if file, ok := strings.CutPrefix(line, "!include "); ok {
		return []string{path.Clean(strings.TrimSpace(file))}, true
	}
	return nil, false
}

// ServerGroups are the groups that a server of a series ("10.11") reads,
// without and with a suffix.
func ServerGroups(series string, mariaDB bool, suffix string) []string {
	names := []string{"mysqld", "server", "mysqld-" + series}
	if mariaDB {
		names = append(names, "mariadb", "mariadb-"+series, "mariadbd", "mariadbd-"+series, "client-server", "galera")
	}
	if suffix != "" {
		for _, n := range slices.Clone(names) {
			names = append(names, n+suffix)
		}
	}
	return names
}

// Arguments is a server's command line, taken apart: which files it reads with
// which suffix, and the options in it.
type Arguments struct {
	File, Extra string // --defaults-file, --defaults-extra-file
	None        bool   // --no-defaults
	Suffix      string
	Options     []Line // File is "command line"
}

// CommandLine is the File of options of a command line.
const CommandLine = "command line"

// ParseArguments reads the arguments of a server, without its name.
func ParseArguments(args []string) Arguments {
	var out Arguments
	for _, arg := range args {
		if !strings.HasPrefix(arg, "--") {
			continue
		}
		key, value, valued := strings.Cut(arg[2:], "=")
		switch key = Canonical(key); key {
		case "defaults_file":
			out.File = value
		case "defaults_extra_file":
			out.Extra = value
		case "no_defaults":
			out.None = true
		case "defaults_group_suffix":
			out.Suffix = value
		default:
			out.Options = append(out.Options, Line{CommandLine, 1, "", key, value, valued})
		}
	}
	return out
}

// Files are the option files that a server reads, in its order. own is what
// stands for it besides: where packages look, and the user's own file last.
func (a Arguments) Files(packaged []string, own string) []string {
	switch {
	case a.None:
		return nil
	case a.File != "":
		return []string{a.File}
	}
	out := slices.Clone(packaged)
	if a.Extra != "" {
		out = append(out, a.Extra)
	}
	if own != "" {
		out = append(out, own)
	}
	return out
}

// PackagedFiles are where the packages of both vendors look, in their order.
var PackagedFiles = []string{"/etc/my.cnf", "/etc/mysql/my.cnf"}
