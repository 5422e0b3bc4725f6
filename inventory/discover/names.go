package discover

import (
	"cmp"
	"fmt"
	"net"
	"path"
	"slices"
	"strings"

	"stowage/farm"
)

// byAddress orders addresses: names before numbers, for names last longer.
func byAddress(a, b string) int {
	x, y := 0, 0
	if isIP(hostOf(a)) {
		x = 1
	}
	if isIP(hostOf(b)) {
		y = 1
	}
	return cmp.Or(cmp.Compare(x, y), farm.Natural(a, b))
}

func isIP(host string) bool { return net.ParseIP(host) != nil }

// stem is what all names share when each continues with one letter of its own:
// dbshard017a and dbshard017b, or orders-a alone. letters are in the order of
// names. A word that happens to end in a letter is none: alone, the letter must
// be an a behind a digit or a dash.
func stem(names []string) (shared string, letters string, ok bool) {
	seen := map[byte]bool{}
	for n, name := range names {
		if len(name) < 3 {
			return "", "", false
		}
		letter := strings.ToLower(name)[len(name)-1]
		rest := name[:len(name)-1]
		before := rest[len(rest)-1]
		isApart := before >= '0' && before <= '9' || before == '-' || before == '_'
		rest = strings.TrimRight(rest, "-_")
		if letter < 'a' || letter > 'z' || seen[letter] || !isApart || rest == "" || n > 0 && rest != shared || len(names) == 1 && letter != 'a' {
			return "", "", false
		}
		seen[letter], shared = true, rest
		letters += string(letter)
	}
	return shared, letters, len(names) > 0
}

// common is the beginning that names share, without what joins it to the rest.
func common(names []string) string {
	shared := names[0]
	for _, name := range names[1:] {
		for !strings.HasPrefix(name, shared) {
			shared = shared[:len(shared)-1]
		}
	}
	if len(names) > 1 {
		shared = strings.TrimRight(shared, "0123456789")
	}
	if shared = strings.TrimRight(shared, "-_."); len(shared) < 3 {
		return ""
	}
	return shared
}

// usualDirs say nothing about whose data they hold.
var usualDirs = []string{"data", "mysql", "mysqld", "mariadb", "datadir", "db", "lib", "var", "srv", "opt", "home", "mnt", "root"}

// dirName is the word in a datadir that may name its instance: the last
// directory, or the one above it: /srv/dbshard001a/data.
func dirName(datadir string) string {
	dir := path.Clean(datadir)
	for range 2 {
		word := path.Base(dir)
		if !slices.Contains(usualDirs, word) && strings.Trim(word, "0123456789") != "" {
			return word
		}
		dir = path.Dir(dir)
	}
	return ""
}

// firstUnique names each thing by the first of its words that no other thing
// has for its word at the same place. words are by thing, the best first.
func firstUnique(words [][]string, last string) []string {
	count := map[string]int{}
	key := func(level int, word string) string { return fmt.Sprintf("%d %s", level, word) }
	for _, of := range words {
		for level, word := range of {
			count[key(level, word)]++
		}
	}
	taken := map[string]bool{}
	out := make([]string, len(words))
	for n, of := range words {
		for level, word := range of {
			if farm.IsName(word) && count[key(level, word)] == 1 && !taken[word] {
				out[n] = word
				break
			}
		}
		for i := n + 1; out[n] == ""; i++ {
			if word := fmt.Sprintf("%s%03d", last, i); !taken[word] {
				out[n] = word
			}
		}
		taken[out[n]] = true
	}
	return out
}

// label is the first word of a machine's name: db001 of db001.example.com. An
// IP address has none, and localhost names nobody.
func label(host string) string {
	if isIP(host) {
		return ""
	}
	word, _, _ := strings.Cut(host, ".")
	if word == "localhost" {
		return ""
	}
	return word
}
