package sources

import (
	"net"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"stowage/internal/lazy"
	"stowage/internal/optionfile"
	"stowage/inventory/claims"
)

// optionNames are the options that are claims, by their canonical names.
var optionNames = map[string]string{
	"server_id": "server_id", "gtid_domain_id": "domain", "datadir": "datadir", "innodb_buffer_pool_size": "memory", "read_only": "read_only",
}

var (
	multiGroup  = lazy.Regexp(`^mysqld(\d+)$`)
	suffixGroup = lazy.Regexp(`^(?:mysqld|server|mariadb|mariadbd)(\.[^.]+|@.+)$`)
)

// options reads one option file and what it includes. Each [mysqldN] of
// mysqld_multi and each group suffix of the units mariadb@ (.NAME) and mysqld@
// (@NAME: MySQL's packages) is a server; without them the
// file is of one. A server is known by its address: report_host, bind_address,
// or the directory that a * in the path stands for, and its port.
func (r *reader) options(file string, path string) {
	m := machine{reader: r, root: starredRoot(r.spec.Path, path, r.dir), top: path}
	list := optionfile.Source{Read: m.option, List: m.list}.Lines([]string{path})
	for i := range list {
		list[i].File, _ = m.find(list[i].File)
	}
	suffixes := []string{}
	for _, l := range list {
		for _, re := range []*regexp.Regexp{multiGroup(), suffixGroup()} {
			if m := re.FindStringSubmatch(l.Group); m != nil && !slices.Contains(suffixes, m[1]) {
				suffixes = append(suffixes, m[1])
			}
		}
	}
	slices.Sort(suffixes)
	if len(suffixes) == 0 {
		suffixes = []string{""}
	}
	for _, suffix := range suffixes {
		r.server(file, path, list, suffix)
	}
}

// machine finds the files of one machine among those that were collected. An
// include of /etc/mysql/conf.d in another machine's file is not ours.
type machine struct {
	*reader
	root string // "" for this machine
	top  string // the file that is read
}

// find is where a file lies that an option file names; false where it was not collected.
func (m machine) find(name string) (string, bool) {
	if name == m.top && m.root == "" {
		return name, true
	}
	for range mostLinks {
		if !filepath.IsAbs(name) {
			name = filepath.Join(filepath.Dir(m.top), name) // a server takes it from its working directory, which nobody knows
		}
		if m.root != "" && name != m.root && !strings.HasPrefix(name, m.root+"/") {
			name = filepath.Join(m.root, name)
		}
		to, err := os.Readlink(name)
		if err != nil {
			_, err = os.Lstat(name)
			return name, err == nil
		}
		if !filepath.IsAbs(to) {
			to = filepath.Join(filepath.Dir(name), to)
		}
		name = to
	}
	return name, false
}

// mostLinks is as many as Linux follows.
const mostLinks = 40

func (m machine) list(dir string) []string {
	at, ok := m.find(dir)
	if !ok {
		m.fault(claims.Place{Where: m.shown(m.top)}, "it includes the directory %s, which is not there%s", dir, m.hint())
	}
	return directory(at)
}

func (m machine) hint() string {
	if m.root == "" {
		return ""
	}
	return ": collect it below " + m.shown(m.root)
}

// option is the text of an option file. A group that is not closed is a fault:
// servers refuse to start with it.
func (m machine) option(name string) (string, bool) {
	r := m.reader
	at, ok := m.find(name)
	if !ok {
		r.fault(claims.Place{Where: r.shown(m.top)}, "it includes %s, which is not there%s", name, m.hint())
		return "", false
	}
	name = at
	src, err := r.text(name)
	if err != nil {
		r.fault(claims.Place{Where: r.shown(name)}, "%s", err)
		return "", false
	}
	for i, line := range strings.Split(string(src), "\n") {
		if line = strings.TrimSpace(line); strings.HasPrefix(line, "[") && !strings.Contains(line, "]") {
			r.fault(claims.Place{Where: r.shown(name), Line: i + 1}, "the group %q is not closed", line)
		}
	}
	return string(src), true
}

func directory(dir string) []string {
	entries, _ := os.ReadDir(dir) // what cannot be listed includes nothing
	var out []string
	for _, e := range entries {
		out = append(out, e.Name())
	}
	return out
}

// serverGroups are read by servers of every series.
var serverGroups = []string{"mysqld", "server", "mariadb", "mariadbd", "client-server", "galera"}

// isOf reports whether a server with a suffix reads a group. Groups of a
// series, [mariadb-10.11], are read by servers of it; the file does not say
// which that is, and usually there is one.
func isOf(group, suffix string) bool {
	name := group
	if i := strings.LastIndexByte(group, '-'); i > 0 && i+1 < len(group) && group[i+1] >= '0' && group[i+1] <= '9' {
		name = group[:i]
	}
	if slices.Contains(serverGroups, group) || slices.Contains(serverGroups, name) {
		return true
	}
	if suffix == "" {
		return false
	}
	if isMulti(suffix) {
		return group == "mysqld"+suffix
	}
	base, found := strings.CutSuffix(group, suffix)
	return found && slices.Contains(serverGroups, base)
}

// isMulti says whether a suffix is a number of mysqld_multi.
func isMulti(suffix string) bool { return suffix != "" && suffix[0] >= '0' && suffix[0] <= '9' }

// server claims what one server of a file starts with. The last assignment in
// reading order holds, whatever its group; those of mysqld_multi are arguments
// and come last.
func (r *reader) server(file, path string, list []optionfile.Line, suffix string) {
	options := map[string]optionfile.Line{}
	for _, last := range []bool{false, true} {
		for _, l := range list {
			argued := isMulti(suffix) && l.Group == "mysqld"+suffix
			if argued == last && isOf(l.Group, suffix) {
				options[l.Key] = l
			}
		}
	}
	if len(options) == 0 {
		return
	}
	host := options["report_host"].Value
	if host == "" {
		if b := options["bind_address"].Value; b != "" && b != "*" && net.ParseIP(b) != nil && !net.ParseIP(b).IsUnspecified() && !net.ParseIP(b).IsLoopback() {
			host = b
		}
	}
	if host == "" {
		host = starred(r.spec.Path, r.shown(path))
	}
	if host == "" {
		r.fault(claims.Place{Where: file, Line: 1}, "nothing says on which host this is: give the source a path with a * for the host's name, such as hosts/*/my.cnf, or set report_host")
		return
	}
	port := options["port"]
	if port.Value == "" {
		port.Value = "3306"
	}
	s := claims.Subject{Kind: claims.Instance, Name: net.JoinHostPort(host, port.Value)}
	r.say(s, "", "", claims.Place{Where: file, Line: max(1, port.Number)})
	for _, key := range sortedKeys(options) {
		l := options[key]
		if attribute, ok := optionNames[key]; ok && l.Value != "" {
			r.say(s, attribute, l.Value, claims.Place{Where: r.shown(l.File), Line: l.Number})
		}
	}
}

// starred is what a directory named * in a pattern stands for.
func starred(pattern, path string) string {
	a, b := strings.Split(filepath.Clean(pattern), "/"), strings.Split(filepath.Clean(path), "/")
	for i := range min(len(a), len(b)) {
		if before, after, ok := strings.Cut(a[i], "*"); ok && strings.HasPrefix(b[i], before) && strings.HasSuffix(b[i], after) && len(b[i]) >= len(before)+len(after) {
			return b[i][len(before) : len(b[i])-len(after)]
		}
	}
	return ""
}

// starredRoot is the directory that stands for one machine: that of the first
// * in the pattern. "" without one.
func starredRoot(pattern, path, dir string) string {
	if !filepath.IsAbs(pattern) {
		pattern = filepath.Join(dir, pattern)
	}
	a, b := strings.Split(filepath.Clean(pattern), "/"), strings.Split(filepath.Clean(path), "/")
	for i := range min(len(a), len(b)) - 1 {
		if strings.Contains(a[i], "*") {
			return strings.Join(b[:i+1], "/")
		}
	}
	return ""
}
