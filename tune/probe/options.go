package probe

import (
	"fmt"
	"slices"
	"strings"

	"stowage/internal/lazy"
	"stowage/internal/optionfile"
	"stowage/tune"
)

// defaultFiles are where servers look that are not told where.
var defaultFiles = optionfile.PackagedFiles

// optionFiles reads files and what they include, in the order of the server.
func (p *prober) optionFiles(names []string) []tune.Option {
	var out []tune.Option
	for _, l := range (optionfile.Source{Read: p.read, List: p.list}).Lines(names) {
		out = append(out, option(l))
	}
	return out
}

// option makes one of a line. A switch without a value is ON, skip_ turns
// one off, loose_ makes an unknown one harmless.
func option(l optionfile.Line) tune.Option {
	o := tune.Option{File: l.File, Number: l.Number, Group: l.Group, Key: strings.ToLower(l.Key), Value: l.Value}
	if rest, ok := strings.CutPrefix(o.Key, "loose_"); ok {
		o.Key, o.Loose = rest, true
	}
	if l.IsValued {
		return o
	}
	o.Value = "ON"
	for _, off := range []string{"skip_", "disable_"} {
		if rest, ok := strings.CutPrefix(o.Key, off); ok && strings.HasPrefix(rest, "innodb_") {
			o.Key, o.Value = rest, "OFF"
		}
	}
	return o
}

// serverGroup are groups that every server reads; with a version ([mysqld-8.0])
// only servers of that series do, see readBy.
var serverGroup = lazy.Regexp(`^(mysqld|server|mariadb|mariadbd|galera)(-\d+(\.\d+)*)?$`)

// ownGroup are groups of one instance: [mysqld1] of mysqld_multi,
// [mariadbd.shard7] of mariadb@shard7.
var ownGroup = lazy.Regexp(`^(?:mysqld|mariadb|mariadbd|server)(\d+|\.[\w.-]+|@[\w.-]+)$`)

func instanceGroup(group string) string {
	if m := ownGroup().FindStringSubmatch(group); m != nil {
		return strings.TrimLeft(m[1], ".@")
	}
	return ""
}

// inGroups are the options of the shared groups and of one instance's own.
func inGroups(lines []tune.Option, instance string) []tune.Option {
	var out []tune.Option
	for _, l := range lines {
		if serverGroup().MatchString(l.Group) || instance != "" && instanceGroup(l.Group) == instance {
			out = append(out, l)
		}
	}
	return out
}

// readBy leaves the options that a server of this version and vendor reads: a file
// may have [mysqld-5.7] for another one. Of an unknown version all stay.
func readBy(i tune.Instance) []tune.Option {
	if !i.Version.Known() {
		return i.Options
	}
	groups := optionfile.ServerGroups(fmt.Sprintf("%d.%d", i.Version.Major, i.Version.Minor), i.MariaDB, "")
	return slices.DeleteFunc(slices.Clone(i.Options), func(o tune.Option) bool {
		group := o.Group
		if m := ownGroup().FindStringSubmatch(group); m != nil {
			group = strings.TrimSuffix(group, m[1])
		}
		return o.File != optionfile.CommandLine && !slices.Contains(groups, group)
	})
}

func lastOption(options []tune.Option, key string) string {
	for _, o := range slices.Backward(options) {
		if o.Key == key {
			return o.Value
		}
	}
	return ""
}

// optionsOf are the options of a running server: its files by its own command
// line, then the command line itself.
func (p *prober) optionsOf(argv []string) []tune.Option {
	a := optionfile.ParseArguments(argv[min(1, len(argv)):])
	var given []tune.Option
	for _, o := range a.Options {
		given = append(given, option(o))
	}
	return append(inGroups(p.optionFiles(a.Files(defaultFiles, "")), strings.TrimLeft(a.Suffix, ".@")), given...)
}

// OptionFile are the options of one file's server groups, with what it
// includes; suffix is that of the groups that one server alone reads, or "".
func OptionFile(name, suffix string) []tune.Option {
	p := &prober{Tree: Machine()}
	return inGroups(p.optionFiles([]string{name}), strings.TrimLeft(suffix, ".@"))
}
