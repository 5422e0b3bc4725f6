package host

import (
	"fmt"
	"slices"
	"strings"

	"stowage/farm"
	"stowage/internal/optionfile"
)

// Start is what a server is started with, now and the next time: the option
// files that it reads, in its order, and what they say to it. What Stowage wrote
// for this instance, and will take out again, is left out.
type Start struct {
	PID    int    `json:"pid,omitempty"` // of the server that runs; 0: none
	Reader string `json:"reader"`        // the account that reads the files
	// Files are the files that are read, includes among them. Suffix is the
	// server's --defaults-group-suffix; it runs with that, or farm.yaml says so.
	Files  []string `json:"files"`
	Suffix string   `json:"suffix,omitempty"`
	// Options are in reading order: the last of a key wins.
	Options []optionfile.Line `json:"options"`
	// Argued are those of them that are on its command line and in no file.
	Argued int `json:"argued,omitempty"`
	// Persisted are those of them that SET PERSIST has said to a MySQL server.
	Persisted int `json:"persisted,omitempty"`
	// Groups are the groups it reads that are there.
	Groups []string `json:"groups,omitempty"`
	// Skipped are files that it passes over without a word, each with why.
	Skipped []string `json:"skipped,omitempty"`
	// Sharers are other servers here that read the same group of the same file.
	Sharers []string `json:"sharers,omitempty"`
	// Fence is what keeps a fence at the end of the option file from holding.
	Fence string `json:"fence,omitempty"`
	// Contained is the server of the instance where it runs in a container, with
	// other names for its files: it is not PID then; 0: none.
	Contained int `json:"contained,omitempty"`
	// Writable is nil, or what keeps the option file from being changed.
	Unwritable string `json:"unwritable,omitempty"`
}

// Reads reports whether the server reads this file.
func (s Start) Reads(file string) bool { return slices.Contains(s.Files, file) }

// Value is what an option says in the end, and where; ok is false when nothing
// sets it. A switch without a value is ON; skip_ and disable_ turn it off.
func (s Start) Value(key string) (value, where string, ok bool) {
	for _, o := range slices.Backward(s.Options) {
		name, off := strings.TrimPrefix(o.Key, "loose_"), false
		for _, prefix := range []string{"skip_", "disable_"} {
			if rest, cut := strings.CutPrefix(name, prefix); cut && rest == key {
				name, off = rest, true
			}
		}
		name = strings.TrimPrefix(name, "enable_")
		if name != key {
			continue
		}
		switch {
		case off:
			value = "OFF"
		case o.IsValued:
			value = o.Value
		default:
			value = "ON"
		}
		return value, place(o), true
	}
	return "", "", false
}

func place(o optionfile.Line) string {
	if o.File == optionfile.CommandLine {
		return "its command line"
	}
	if o.Number == 0 {
		return o.File
	}
	return fmt.Sprintf("%s:%d", o.File, o.Number)
}

// repeated are options of which each counts, not only the last.
var repeated = []string{"replicate_", "binlog_do_db", "binlog_ignore_db", "plugin_load_add", "ignore_db_dir"}

// isRepeated reports whether a later option of this key adds to an earlier one.
func isRepeated(key string) bool {
	key = strings.TrimPrefix(key, "loose_")
	if _, after, ok := strings.Cut(key, "."); ok { // of a connection: x.replicate_do_db
		key = after
	}
	return slices.ContainsFunc(repeated, func(p string) bool { return strings.HasPrefix(key, p) })
}

// Text is an option file with which another server starts as this one does.
// Where all that this server reads is one group of one file of its own, it is that
// file's text, of which own is the content; else all it reads in one group, each with
// where it comes from: an option is changed in one group only.
func (s Start) Text(i Instance, own string) string {
	if len(s.Files) == 1 && s.Files[0] == i.Config && s.Suffix == "" && s.Argued == 0 && s.Persisted == 0 && s.isOneGroup() {
		return own
	}
	return s.inOneGroup(i.Name)
}

// OneGroup is the text of an option file with all that a server reads in one group; these are the groups that it reads.
func OneGroup(text string, name farm.InstanceName, groups []string) string {
	alone := optionfile.Source{Read: func(name string) (string, bool) { return text, name == "" }, List: func(string) []string { return nil }}
	s := Start{Options: slices.DeleteFunc(alone.Lines([]string{""}), func(o optionfile.Line) bool { return !slices.Contains(groups, o.Group) })}
	if s.isOneGroup() {
		return text
	}
	return s.inOneGroup(name)
}

func (s Start) isOneGroup() bool {
	return !slices.ContainsFunc(s.Options, func(o optionfile.Line) bool { return o.Group != s.Options[0].Group })
}

func (s Start) inOneGroup(name farm.InstanceName) string {
	last := map[string]int{}
	for n, o := range s.Options {
		last[o.Key] = n
	}
	var b strings.Builder
	fmt.Fprintf(&b, "# What %s starts with, of all files that it reads.\n[mysqld]\n", name)
	from := ""
	for n, o := range s.Options {
		if last[o.Key] != n && !isRepeated(o.Key) {
			continue
		}
		if at := o.File + " [" + o.Group + "]"; at != from {
			from = at
			fmt.Fprintf(&b, "# %s\n", strings.TrimSpace(strings.TrimSuffix(at, " []")))
		}
		b.WriteString(o.Key)
		if o.IsValued {
			b.WriteString(" = " + optionfile.Text(o.Value))
		}
		b.WriteString("\n")
	}
	return b.String()
}
