package sources

import (
	"net"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"stowage/internal/optionfile"
	"stowage/inventory/claims"
)

// optionNames are the options that are claims, by their canonical names.
var optionNames = map[string]string{
	"server_id": "server_id", "gtid_domain_id": "domain", "datadir": "datadir", "innodb_buffer_pool_size": "memory", "read_only": "read_only",
}

var (
	multiGroup  = regexp.MustCompile(`^mysqld(\d+)$`)
	suffixGroup = regexp.MustCompile(`^(?:mysqld|server|mariadb|mariadbd)(\.[^.]+)$`)
)

// options reads one option file and what it includes. Each [mysqldN] of
// mysqld_multi and each group suffix of mariadb@ is a server; without them the
// file is of one. A server is known by its address: report_host, bind_address,
// or the directory that a * in the path stands for, and its port.
func (r *reader) options(file string, path string) {
	list := optionfile.Source{Read: r.option, List: directory}.Lines([]string{path})
	suffixes := []string{}
	for _, l := range list {
		for _, re := range []*regexp.Regexp{multiGroup, suffixGroup} {
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

// option is the text of an option file. A group that is not closed is a fault:
// servers refuse to start with it.
func (r *reader) option(name string) (string, bool) {
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
	name, _, _ := strings.Cut(group, "-1")
	if slices.Contains(serverGroups, group) || slices.Contains(serverGroups, name) {
		return true
	}
	if suffix == "" {
		return false
	}
	if suffix[0] != '.' {
		return group == "mysqld"+suffix
	}
	base, found := strings.CutSuffix(group, suffix)
	return found && slices.Contains(serverGroups, base)
}

// server claims what one server of a file starts with. The last assignment in
// reading order holds, whatever its group; those of mysqld_multi are arguments
// and come last.
func (r *reader) server(file, path string, list []optionfile.Line, suffix string) {
	options := map[string]optionfile.Line{}
	for _, last := range []bool{false, true} {
		for _, l := range list {
			isMulti := suffix != "" && suffix[0] != '.' && l.Group == "mysqld"+suffix
			if isMulti == last && isOf(l.Group, suffix) {
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
