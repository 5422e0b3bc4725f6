package host

import (
	"strings"
	"testing"
)

func TestFenceOptions(t *testing.T) {
	for _, text := range []string{
		"[mysqld]\ndatadir = /d\nread_only = OFF\n",
		"[mariadb]\ndatadir=/d\nevent-scheduler=ON\n# read_only = ON\n[client]\nuser = x\n",
		"!includedir /etc/mysql/conf.d\n[server]\ndatadir=/d\n",
	} {
		fenced := FenceOptions(text)
		group := ServerGroup(text)
		for key, want := range map[string]string{"read_only": "ON", "event_scheduler": "OFF"} {
			if got, _ := Option(fenced, group, key); got != want {
				t.Errorf("%q fenced: %s is %q, want %q", text, key, got, want)
			}
		}
		if !IsFenced(fenced) || IsFenced(text) || FenceOptions(fenced) != fenced {
			t.Errorf("%q: it does not know what is fenced, or fences twice", text)
		}
		if got := UnfenceOptions(fenced); got != text {
			t.Errorf("taken out again:\n%q\nwas\n%q", got, text)
		}
		// The file's owner may add to it meanwhile.
		if got := UnfenceOptions(fenced + "[mysqld]\nport = 1\n"); got != text+"[mysqld]\nport = 1\n" {
			t.Errorf("what was added is gone: %q", got)
		}
	}
}

func TestLinkOptions(t *testing.T) {
	for _, text := range []string{"[mariadb]\ndatadir=/d\n", "[mysqld]\ndatadir = /d\n[client]\nuser = x"} {
		one := LinkOptions(text, []string{"x.replicate_do_db = a", "x.replicate_do_table = a.t"})
		if got, _ := Option(one, ServerGroup(text), "x.replicate_do_db"); got != "a" {
			t.Errorf("%q: the filter is %q", one, got)
		}
		two := LinkOptions(one, []string{"x.replicate_do_db = b"})
		if got, _ := Option(two, ServerGroup(text), "x.replicate_do_db"); got != "b" || strings.Contains(two, "a.t") {
			t.Errorf("other filters in their place: %q", two)
		}
		if got := LinkOptions(FenceOptions(two), nil); strings.TrimSuffix(UnfenceOptions(got), "\n") != strings.TrimSuffix(text, "\n") {
			t.Errorf("taken out again:\n%q\nwas\n%q", got, text)
		}
	}
}
