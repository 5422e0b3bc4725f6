package host

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"stowage/internal/optionfile"
)

func TestRewriteOptions(t *testing.T) {
	for _, test := range []struct {
		name, text string
		values     map[string]string
		want       string
	}{
		{"changes in place", "[mysqld]\nport = 1\n# end\n", map[string]string{"port": "2"}, "[mysqld]\nport = 2\n# end\n"},
		{"dash and underscore are one", "[mysqld]\nserver-id=1\n", map[string]string{"server_id": "2"}, "[mysqld]\nserver_id = 2\n"},
		{"the other way round", "[mysqld]\nserver_id=1\n", map[string]string{"server-id": "2"}, "[mysqld]\nserver_id = 2\n"},
		{"adds at the end of the group", "[mysqld]\na=1\n[client]\nb=1\n", map[string]string{"z": "1", "c": "2"}, "[mysqld]\na=1\nc = 2\nz = 1\n[client]\nb=1\n"},
		{"adds the group", "[client]\nb=1\n", map[string]string{"c": "2"}, "[client]\nb=1\n[mysqld]\nc = 2\n"},
		{"empty removes", "[mysqld]\na=1\nread-only\nb=1\n", map[string]string{"read_only": ""}, "[mysqld]\na=1\nb=1\n"},
		{"empty removes what is not there", "[mysqld]\na=1\n", map[string]string{"b": ""}, "[mysqld]\na=1\n"},
		{"every one of several", "[mysqld]\nport=1\n[client]\n[mysqld]\nport=2\n", map[string]string{"port": "3"}, "[mysqld]\nport = 3\n[client]\n[mysqld]\nport = 3\n"},
		{"same key in another group stays", "[client]\nport=1\n[mysqld]\nport=1\n", map[string]string{"port": "2"}, "[client]\nport=1\n[mysqld]\nport = 2\n"},
		{"a comment behind the group", "[mysqld] # ours\nport=1\n", map[string]string{"port": "2"}, "[mysqld] # ours\nport = 2\n"},
		{"a key in a comment stays", "[mysqld]\n#port=1\n;port=1\n", map[string]string{"port": "2"}, "[mysqld]\n#port=1\n;port=1\nport = 2\n"},
		{"an include stays", "[mysqld]\n!includedir /etc/x\nport=1\n", map[string]string{"port": "2"}, "[mysqld]\n!includedir /etc/x\nport = 2\n"},
		{"a longer key is another key", "[mysqld]\nport-open-timeout=1\n", map[string]string{"port": "2"}, "[mysqld]\nport-open-timeout=1\nport = 2\n"},
		{"a value that would be a comment", "[mysqld]\n", map[string]string{"datadir": "/a#b"}, "[mysqld]\ndatadir = \"/a#b\"\n"},
		{"twice is once", "[mysqld]\nport = 2\n", map[string]string{"port": "2"}, "[mysqld]\nport = 2\n"},
	} {
		if got := RewriteOptions(test.text, "mysqld", test.values); got != test.want {
			t.Errorf("%s: got\n%swant\n%s", test.name, got, test.want)
		}
	}
}

func TestOption(t *testing.T) {
	text := "[client]\nport=1\n[mysqld] # x\nport = 2 # comment\nport=3\nskip-name-resolve\ndatadir=\"/a b\"\ntmp = '/x#y' # z\n!include /x\n"
	for _, test := range []struct {
		group, key, want string
		ok               bool
	}{
		{"mysqld", "port", "3", true}, {"client", "port", "1", true}, {"mysqld", "skip_name_resolve", "", true},
		{"mysqld", "datadir", "/a b", true}, {"mysqld", "tmp", "/x#y", true}, {"mysqld", "socket", "", false}, {"none", "port", "", false},
	} {
		if got, ok := Option(text, test.group, test.key); got != test.want || ok != test.ok {
			t.Errorf("[%s] %s is %q, %v; want %q, %v", test.group, test.key, got, ok, test.want, test.ok)
		}
	}
}

func TestServerGroup(t *testing.T) {
	for _, test := range []struct{ text, want string }{
		{"[mysqld]\ndatadir=/a\n", "mysqld"},
		{"[mariadbd]\ndatadir=/a\n[mysqld]\nport=1\n", "mariadbd"},
		{"[mariadb]\ndatadir=/a\n", "mariadb"},
		{"[server]\ndatadir=/a\n", "server"},
		{"[client]\nport=1\n", "mysqld"},
		{"", "mysqld"},
	} {
		if got := ServerGroup(test.text); got != test.want {
			t.Errorf("%q: group %s, want %s", test.text, got, test.want)
		}
	}
}

var (
	groups = rapid.SampledFrom([]string{"mysqld", "client", "mariadbd"})
	keys   = rapid.SampledFrom([]string{"port", "server-id", "server_id", "data-dir", "tmp_dir", "socket"})
	values = rapid.StringMatching(`[acdsx0-3/#"'\\ ;=.é]{1,8}`)
)

// optionFiles draws the lines of a file: groups, options, comments, blanks.
func optionFiles() *rapid.Generator[[]string] {
	line := rapid.Custom(func(t *rapid.T) string {
		switch rapid.IntRange(0, 7).Draw(t, "kind") {
		case 0:
			return "[" + groups.Draw(t, "group") + "]" + rapid.SampledFrom([]string{"", " ", " # x"}).Draw(t, "tail")
		case 1:
			return rapid.SampledFrom([]string{"# port = 1", "", "  ", "; server-id = 1", "skip-networking"}).Draw(t, "other")
		}
		pad := rapid.SampledFrom([]string{"", " ", "\t"})
		return pad.Draw(t, "p") + keys.Draw(t, "key") + pad.Draw(t, "q") + "=" + pad.Draw(t, "r") + values.Draw(t, "value")
	})
	return rapid.Custom(func(t *rapid.T) []string {
		return append([]string{"[mysqld]"}, rapid.SliceOfN(line, 0, 12).Draw(t, "lines")...)
	})
}

// TestRewriteAsTheServerReads: whatever the file, MariaDB's own reader finds
// the new values, and every other option of every group as before.
func TestRewriteAsTheServerReads(t *testing.T) {
	program, err := exec.LookPath("my_print_defaults")
	if err != nil {
		t.Skip("NOT TESTED: my_print_defaults is not installed, so rewritten option files were not compared with what MariaDB reads")
	}
	path := filepath.Join(t.TempDir(), "my.cnf")
	read := func(t *rapid.T, text, group string) map[string]string {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		out, err := exec.Command(program, "--defaults-file="+path, group).Output()
		if err != nil {
			t.Fatalf("%v in\n%s", err, text)
		}
		m := map[string]string{}
		for _, line := range strings.Split(strings.TrimSuffix(string(out), "\n"), "\n") {
			if k, v, _ := strings.Cut(strings.TrimPrefix(line, "--"), "="); k != "" {
				m[optionfile.Canonical(k)] = v
			}
		}
		return m
	}
	rapid.Check(t, func(t *rapid.T) {
		lines := optionFiles().Draw(t, "file")
		text := strings.Join(lines, "\n") + "\n"
		set := rapid.MapOfN(keys, values, 0, 4).Draw(t, "set")
		if _, both := set["server-id"]; both {
			delete(set, "server_id") // one name for one option
		}
		remove := rapid.Bool().Draw(t, "remove")
		if remove {
			set["socket"] = ""
		}
		got := RewriteOptions(text, "mysqld", set)
		want := read(t, text, "mysqld")
		for k, v := range set {
			want[optionfile.Canonical(k)] = v
			if v == "" {
				delete(want, optionfile.Canonical(k))
			}
		}
		if is := read(t, got, "mysqld"); fmt.Sprint(is) != fmt.Sprint(want) {
			t.Fatalf("set %q in\n%s\nbecame\n%s\nread as %q\nwant    %q", set, text, got, is, want)
		}
		for _, other := range []string{"client", "mariadbd"} {
			if was, is := read(t, text, other), read(t, got, other); fmt.Sprint(was) != fmt.Sprint(is) {
				t.Fatalf("[%s] was %q and is %q after\n%s", other, was, is, got)
			}
		}
		for k, v := range want {
			if read, ok := Option(got, "mysqld", k); k != "" && (!ok || read != v) {
				t.Fatalf("Option %s is %q, the server reads %q in\n%s", k, read, v, got)
			}
		}
		if again := RewriteOptions(got, "mysqld", set); again != got {
			t.Fatalf("a second time changed\n%s\nto\n%s", got, again)
		}
	})
}

// TestRemovingTheLastOptionTwice: the empty line before it must not be counted
// once and not the second time.
func TestRemovingTheLastOptionTwice(t *testing.T) {
	remove := map[string]string{"socket": ""}
	once := RewriteOptions("[mysqld]\n\nsocket = x\n", "mysqld", remove)
	if again := RewriteOptions(once, "mysqld", remove); again != once {
		t.Errorf("%q became %q", once, again)
	}
}

// TestRewriteKeepsOtherLines: byte for byte, in order.
func TestRewriteKeepsOtherLines(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		lines := optionFiles().Draw(t, "file")
		set := map[string]string{"port": "7", "tmp-dir": "/x", "socket": ""}
		var kept []string
		in := ""
		for _, l := range lines {
			if g, ok := optionfile.Group(strings.TrimSpace(l)); ok {
				in = g
			}
			if k, _, ok := optionfile.Option(strings.TrimSpace(l)); ok && in == "mysqld" && slices.Contains([]string{"port", "tmp_dir", "socket"}, k) {
				continue
			}
			kept = append(kept, l)
		}
		got := strings.Split(RewriteOptions(strings.Join(lines, "\n"), "mysqld", set), "\n")
		got = slices.DeleteFunc(got, func(l string) bool { return l == "port = 7" || l == "tmp_dir = /x" })
		if strings.TrimRight(strings.Join(got, "\n"), "\n") != strings.TrimRight(strings.Join(kept, "\n"), "\n") {
			t.Fatalf("kept\n%q\nwant\n%q", got, kept)
		}
	})
}
