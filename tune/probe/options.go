package probe

import (
	"path"
	"slices"
	"strings"

	"stowage/internal/lazy"
	"stowage/internal/optionfile"
	"stowage/tune"
)

// defaultFiles are where both vendors' packages look, in their order.
var defaultFiles = []string{"/etc/my.cnf", "/etc/mysql/my.cnf"}

// optionLine is one option with the group it stands in.
type optionLine struct {
	group string
	tune.Option
}

// optionFiles reads files and what they include, in the order of the server.
func (p *prober) optionFiles(names []string) []optionLine {
	var out []optionLine
	files := 0
	for _, n := range names {
		out = append(out, p.optionFile(n, nil, &files)...)
	}
	return out
}

// mostFiles is more than any server reads. Files that include each other twice
// would be without an end otherwise.
const mostFiles = 1000

// optionFile reads a file that was included by others; files is how many were read
// so far. One that includes itself is not read again.
func (p *prober) optionFile(name string, by []string, files *int) []optionLine {
	if slices.Contains(by, name) || *files >= mostFiles {
		return nil
	}
	*files++
	text, ok := p.read(name)
	if !ok {
		return nil
	}
	by = append(slices.Clone(by), name)
	var out []optionLine
	group := ""
	for n, l := range strings.Split(text, "\n") {
		l = strings.TrimSpace(l)
		switch {
		case strings.HasPrefix(l, "!includedir "):
			dir := strings.TrimSpace(strings.TrimPrefix(l, "!includedir "))
			for _, file := range p.list(dir) {
				if strings.HasSuffix(file, ".cnf") {
					out = append(out, p.optionFile(path.Join(dir, file), by, files)...)
				}
			}
			continue
		case strings.HasPrefix(l, "!include "):
			out = append(out, p.optionFile(path.Clean(strings.TrimSpace(strings.TrimPrefix(l, "!include "))), by, files)...)
			continue
		}
		if g, ok := optionfile.Group(l); ok {
			group = g
			continue
		}
		if key, value, ok := optionfile.Option(l); ok {
			out = append(out, optionLine{group, option(name, n+1, key, value, strings.Contains(l, "="))})
		}
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
	files, suffix := defaultFiles, ""
	var given []tune.Option
	for _, arg := range argv[min(1, len(argv)):] {
		key, value, valued := strings.Cut(strings.TrimPrefix(arg, "--"), "=")
		switch key = optionfile.Canonical(key); {
		case !strings.HasPrefix(arg, "--"):
		case key == "defaults_file":
			files = []string{value}
		case key == "no_defaults":
			files = nil
		case key == "defaults_extra_file":
			files = append(slices.Clone(files), value)
		case key == "defaults_group_suffix":
			suffix = strings.TrimLeft(value, ".@")
		default:
			given = append(given, option("command line", 1, key, value, valued))
		}
	}
	return append(inGroups(p.optionFiles(files), suffix), given...)
}

// OptionFile are the options of one file's server groups, with what it
// includes.
func OptionFile(name string) []tune.Option {
	p := &prober{Tree: Machine()}
	return inGroups(p.optionFiles([]string{name}), "")
}
