package command

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"stowage/farm"
)

const rules = `# what may run here
/usr/bin/apt-get -y install mariadb-server=*
/usr/local/sbin/patch ...
/usr/local/sbin/firmware --disk=/dev/sd* --now
/bin/true
`

func TestRulesAllowWhatTheySay(t *testing.T) {
	all, err := ParseRules("allow", rules)
	if err != nil {
		t.Fatal(err)
	}
	for line, want := range map[string]bool{
		"/usr/bin/apt-get -y install mariadb-server=1:10.11.19": true,
		"/usr/bin/apt-get -y install mariadb-server=":           true,
		"/usr/bin/apt-get -y install mariadb-server=1 evil":     false,
		"/usr/bin/apt-get -y install evil mariadb-server=1":     false,
		"/usr/bin/apt-get -y install":                           false,
		"/usr/local/sbin/patch":                                 true,
		"/usr/local/sbin/patch a b c":                           true,
		"/usr/local/sbin/patch2 a":                              false,
		"/usr/local/sbin/firmware --disk=/dev/sda --now":        true,
		"/usr/local/sbin/firmware --disk=/dev/nvme0n1 --now":    false,
		"/bin/true":            true,
		"/bin/true x":          false,
		"/bin/sh -c /bin/true": false,
	} {
		got := false
		for _, r := range all {
			got = got || r.Allows(strings.Fields(line))
		}
		if got != want {
			t.Errorf("%s: allowed %v", line, got)
		}
	}
}

func TestListsThatCannotBeReadSayTheLine(t *testing.T) {
	for text, want := range map[string]string{
		"\n\npatch all\n":              "allow:3: ",
		"/bin/true\n/bin/../bin/false": "allow:2: ",
		"/bin/* x":                     "whole path of one program",
		"/bin/true ... x":              "only at the end",
	} {
		if _, err := ParseRules("allow", text); err == nil || !errors.Is(err, farm.ErrInput) || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

// The list is read anew for each order; without one, or with one that others can write, nothing runs.
func TestOnlyWhatTheOwnerAllowsRuns(t *testing.T) {
	dir := private(t)
	list := filepath.Join(dir, "allow")
	s := station(filepath.Join(dir, "orders"), "")
	s.Trusting = false
	o := Order{ID: "x", Argv: []string{"true"}} // found in PATH
	refused := func(want string) {
		t.Helper()
		if _, err := s.May(o.Encode()); err == nil || !errors.Is(err, farm.ErrRefused) || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
		if _, _, err := s.Run(t.Context(), o.Encode(), nil); err == nil {
			t.Error("it ran")
		}
	}
	refused("runs no commands")
	s.Allow = Allowed(list)
	refused("it is not there")
	write := func(text string, mode os.FileMode) {
		t.Helper()
		if err := os.WriteFile(list, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(list, mode); err != nil {
			t.Fatal(err)
		}
	}
	write("/bin/false\n", 0o600)
	refused("is not in the list")
	write("/bin/true\n/usr/bin/true\n", 0o666)
	refused("writ")
	write("/bin/true\n/usr/bin/true\n", 0o600)
	if _, err := s.May(o.Encode()); err != nil {
		t.Error(err)
	}
	if out := run(t, s, o); out.Code != 0 || out.Runs != 1 {
		t.Errorf("%+v", out)
	}
}

// A pattern matches by pieces what it matches by trying every split.
func FuzzMatches(f *testing.F) {
	for _, seed := range [][2]string{{"a*b*c", "aXbYbc"}, {"*", ""}, {"a*a", "a"}, {"--disk=/dev/sd*", "--disk=/dev/sda"}, {"**x*", "xx"}} {
		f.Add(seed[0], seed[1])
	}
	f.Fuzz(func(t *testing.T, pattern, text string) {
		if len(pattern) > 30 || len(text) > 30 {
			return
		}
		if got, want := matches(pattern, text), slowly(pattern, text); got != want {
			t.Errorf("%q matches %q: %v, want %v", pattern, text, got, want)
		}
	})
}

func slowly(pattern, text string) bool {
	if pattern == "" {
		return text == ""
	}
	if pattern[0] == '*' {
		return slowly(pattern[1:], text) || text != "" && slowly(pattern, text[1:])
	}
	return text != "" && text[0] == pattern[0] && slowly(pattern[1:], text[1:])
}

func FuzzParseRules(f *testing.F) {
	f.Add(rules)
	f.Add("/a ... b\n\x00")
	f.Fuzz(func(t *testing.T, text string) {
		all, err := ParseRules("allow", text)
		if err != nil && !errors.Is(err, farm.ErrInput) {
			t.Error(err)
		}
		for _, r := range all {
			if r.Allows(nil) || r.Allows([]string{"/bin/sh"}) && r.Program != "/bin/sh" {
				t.Errorf("%+v", r)
			}
		}
	})
}
