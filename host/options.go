package host

import (
	"sort"
	"strings"

	"stowage/internal/optionfile"
)

// RewriteOptions changes values in the text of an option file and keeps all
// the rest: comments, order, other groups. Keys are compared as the server
// compares them, '-' and '_' alike. A key that is not there is added at the
// end of the group; an empty value removes the key.
func RewriteOptions(text, group string, values map[string]string) string {
	left := map[string]string{}
	for k, v := range values {
		left[optionfile.Canonical(k)] = v
	}
	var out []string
	inGroup, end := false, -1
	for _, line := range strings.Split(strings.TrimRight(text, "\n"), "\n") {
		trimmed := strings.TrimSpace(line)
		if name, ok := optionfile.Group(trimmed); ok {
			inGroup = name == group
		} else if key, _, ok := optionfile.Option(trimmed); ok && inGroup {
			if v, ok := lookup(values, key); ok {
				delete(left, key)
				if v == "" {
					continue
				}
				line = key + " = " + optionfile.Text(v)
			}
		}
		out = append(out, line)
		if inGroup {
			end = len(out)
		}
	}
	added := additions(left)
	if end < 0 {
		return lines(append(out, append([]string{"[" + group + "]"}, added...)...))
	}
	tail := append([]string(nil), out[end:]...)
	return lines(append(append(out[:end], added...), tail...))
}

// lines is a text that ends with one newline. A removed last option may leave
// an empty line, which a second time would not see.
func lines(all []string) string {
	return strings.TrimRight(strings.Join(all, "\n"), "\n") + "\n"
}

// Option reads one value of a group as the server would, without quotes and
// comment; ok is false when the key is absent.
func Option(text, group, key string) (value string, ok bool) {
	inGroup := false
	for _, line := range strings.Split(text, "\n") {
		trimmed := strings.TrimSpace(line)
		if name, header := optionfile.Group(trimmed); header {
			inGroup = name == group
		} else if k, v, is := optionfile.Option(trimmed); is && inGroup && k == optionfile.Canonical(key) {
			value, ok = v, true // the last one wins, as in the server
		}
	}
	return value, ok
}

func lookup(values map[string]string, key string) (string, bool) {
	for k, v := range values {
		if optionfile.Canonical(k) == key {
			return v, true
		}
	}
	return "", false
}

func additions(left map[string]string) []string {
	var out []string
	for k, v := range left {
		if v != "" {
			out = append(out, k+" = "+optionfile.Text(v))
		}
	}
	sort.Strings(out)
	return out
}

// ServerGroup is the group of an option file that holds the server's own
// options: the one with datadir, else mysqld, which every server reads.
func ServerGroup(text string) string {
	for _, g := range []string{"mariadbd", "mariadb", "mysqld", "server"} {
		if _, ok := Option(text, g, "datadir"); ok {
			return g
		}
	}
	return "mysqld"
}
