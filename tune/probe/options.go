package probe

import (
	"slices"
	"strings"

	"stowage/internal/lazy"
	"stowage/internal/optionfile"
	"stowage/tune"
)

// defaultFiles are where servers look that are not told where.
var defaultFiles = optionfile.PackagedFiles

// optionLine is one option with the group it is in.
type optionLine struct {
	group string
	tune.Option
}

// optionFiles reads files and what they include, in the order of the server.
func (p *prober) optionFiles(names []string) []optionLine {
	var out []optionLine
	for _, l := range (optionfile.Source{Read: p.read, List: p.list}).Lines(names) {
		out = append(out, optionLine{l.Group, option(l.File, l.Number, l.Key, l.Value, l.IsValued)})
	}
	return out
}

// option makes one of its parts. A switch without a value is ON, skip_ turns
// one off, loose_ makes an unknown one harmless.
func option(file string, line int, key, value string, valued bool) tune.Option {
	o := tune.Option{File: file, Number: line, Key: strings.ToLower(key), Value: value}
	if rest, ok := strings.CutPrefix(o.Key, "loose_"); ok {
		o.Key, o.Loose = rest, true
	}
	if valued {
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

// serverGroup are groups that every server reads; with a version
// ([mysqld-8.0]) only some do, and a person is better served by seeing both.
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
func inGroups(lines []optionLine, instance string) []tune.Option {
	var out []tune.Option
	for _, l := range lines {
		if serverGroup().MatchString(l.group) || instance != "" && instanceGroup(l.group) == instance {
			out = append(out, l.Option)
		}
	}
	return out
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
		given = append(given, option(o.File, o.Number, o.Key, o.Value, o.IsValued))
	}
	return append(inGroups(p.optionFiles(a.Files(defaultFiles, "")), strings.TrimLeft(a.Suffix, ".@")), given...)
}

// OptionFile are the options of one file's server groups, with what it
// includes; suffix is that of the groups that one server alone reads, or "".
func OptionFile(name, suffix string) []tune.Option {
	p := &prober{Tree: Machine()}
	return inGroups(p.optionFiles([]string{name}), strings.TrimLeft(suffix, ".@"))
}
